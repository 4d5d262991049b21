/* SPDX-License-Identifier: MIT */
/* A temporary copy of a database, for a folder that cannot be written. */
#ifndef GP_STORE_COPY_H
#define GP_STORE_COPY_H

#include <stddef.h>

/* Copies `path`, where it exists, and its write-ahead log into a new folder under $TMPDIR or /tmp.
 * 0 or a negative errno with one line in `error`; then nothing is left behind. */
int gp_copy_create(const char *path, char *ret_path, size_t ret_path_size, char *error,
                   size_t error_size);
/* Removes a copy and its folder; one that is still open stays readable until it is closed. */
void gp_copy_remove(const char *copy_path);

#endif
