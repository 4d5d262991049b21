/* SPDX-License-Identifier: MIT */
#ifndef GV_CHECK_COMMAND_H
#define GV_CHECK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/options.h"

/* The command `check`: reads policy and databases, prints, writes the files asked for. The exit
 * status; 2 with one line in `error` when there is something wrong with what was given. */
int gv_check_command(const struct gv_options *options, bool color,
                     void (*progress)(void *user, uint64_t done, uint64_t total),
                     void (*end_progress)(bool shown), bool *shown, const char *version,
                     char *error, size_t error_size);

#endif
