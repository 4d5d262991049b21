/* SPDX-License-Identifier: MIT */
/* A file that is there whole or not at all: written beside its place under a temporary name. */
#ifndef GV_EXPORT_FILE_H
#define GV_EXPORT_FILE_H

#include <stddef.h>
#include <stdio.h>

struct gv_file {
    FILE *out;        /* stdout for the path "-" */
    const char *path; /* of the caller */
    char *temporary;  /* NULL: stdout */
};

/* 0 or a negative errno with one line in `error`. */
int gv_file_open(const char *path, struct gv_file *ret_file, char *error, size_t error_size);

/* Puts the file in its place when `r` is 0 and everything could be written, else takes it away
 * again. Returns `r`, or a negative errno of its own with one line in `error`. */
int gv_file_close(struct gv_file *file, int r, char *error, size_t error_size);

#endif
