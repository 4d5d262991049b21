/* SPDX-License-Identifier: MIT */
/* Lines for the user on stderr. One write(2) a line, no allocation; never from a hot path. */
#ifndef GP_CORE_MESSAGE_H
#define GP_CORE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

/* Prints "gradprof: ..." and a newline. */
__attribute__((format(printf, 1, 2))) void gp_message(const char *format, ...);

/* "7.29 GiB", for people. Returns `text`. */
const char *gp_format_bytes(char *text, size_t size, uint64_t bytes);

#endif
