/* SPDX-License-Identifier: MIT */
/* Building events: definitions of ids, and the record that uses them. */
#ifndef GP_CORE_EVENT_H
#define GP_CORE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libgradprof/core/session.h"
#include "libgradprof/log/format.h"
#include "libgradprof/stack/intern.h"

/* Names cut to GRADPROF_NAME_MAX; NULL for NULL and when memory ran out. */
struct gp_entry *gp_name(const char *text);
/* A scope path: `parent` (NULL: outermost) plus one step. */
struct gp_entry *gp_scope(const struct gp_entry *parent, uint32_t kind,
                          const struct gp_entry *name);

/* The id to use in an event of this run, defining it in the log first if need be. 0 for NULL. */
uint32_t gp_name_id(struct gp_thread *thread, struct gp_entry *name);
uint32_t gp_scope_id(struct gp_thread *thread, struct gp_entry *scope);
/* Captures the calling stack. No lock may be held. 0: no stack. */
uint32_t gp_stack_id(struct gp_thread *thread);
/* The stack of `count` frames at `frames`, innermost first; frames[-1] is overwritten. Addresses, or
 * what gp_python_frame_address gives. */
uint32_t gp_stack_id_of(struct gp_thread *thread, void **frames, size_t count);
/* A line of Python source as a frame of a stack. */
struct gp_entry *gp_python_frame(const char *function, const char *file, uint32_t line);
static inline void *gp_python_frame_address(struct gp_entry *frame)
{
    return (void *)((uintptr_t)frame | GP_FRAME_SOURCE);
}
/* What such an address stands for; texts cut to `size`. */
void gp_python_frame_text(const void *address, char *ret_function, char *ret_file, size_t size,
                          uint32_t *ret_line);
/* The innermost open scope of the thread. */
uint32_t gp_current_scope_id(struct gp_thread *thread);

/* Fills in thread, time; appends. */
uint64_t gp_event(struct gp_thread *thread, struct gp_record *record);
uint64_t gp_event_payload(struct gp_thread *thread, struct gp_record *record, const void *payload,
                          size_t payload_bytes);

void gp_event_forked(void); /* in a child: fresh locks */

#endif
