/* SPDX-License-Identifier: MIT */
/* The command `diff`: two runs against each other, or many ranks side by side. */
#ifndef GV_DIFF_H
#define GV_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/options.h"

/* 0 or a negative errno with one line in `error`. */
int gv_diff_command(const struct gv_options *options, bool color,
                    void (*progress)(void *user, uint64_t done, uint64_t total),
                    void (*end_progress)(bool shown), bool *shown, char *error, size_t error_size);

#endif
