/* SPDX-License-Identifier: MIT */
/* The only file pair that includes zlib. */
#ifndef GV_EXPORT_GZIP_H
#define GV_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* Writes `bytes` of `data` to `out` as one gzip member, without a time stamp: equal data give equal
 * files. 0 or -ENOMEM; errors of `out` stay with it. */
int gv_gzip_put(FILE *out, const void *data, size_t bytes);

#endif
