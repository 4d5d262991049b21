/* SPDX-License-Identifier: MIT */
/* Reading Python's strings and line tables without the interpreter. */
#ifndef GP_PYTHON_TEXT_H
#define GP_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/python/frames.h"

#define GP_PYTHON_TEXT_MAX 1024u

/* UTF-8 of the str object, cut to fit. */
void gp_python_text(const struct gp_python_layout *layout, uintptr_t object, char *ret_text,
                    size_t size);
/* The line of the instruction at `offset_bytes`, by a co_linetable of 3.11 or later (a bytes object).
 * 0: it has none. Before the first instruction: `first_line`. */
int gp_python_line(uintptr_t table, int first_line, int offset_bytes);

#endif
