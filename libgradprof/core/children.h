/* SPDX-License-Identifier: MIT */
/*
 * Who was forked: a page shared by a process and all its descendants, in which each forked child
 * enters itself (the parent's fork handler does not learn the child's id). Costs a forking program one
 * store; a process reads only the entries that name it as parent.
 */
#ifndef GP_CORE_CHILDREN_H
#define GP_CORE_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

void gp_children_init(void);             /* at load */
void gp_children_enter(void);            /* in the child */
bool gp_children_next(pid_t *ret_child); /* of this process, not returned before; any thread */
void gp_children_forked(void);           /* forget the parent's reading position */

#endif
