/* SPDX-License-Identifier: MIT */
/* Numbers as a reader wants them: 1 KB = 1024 bytes, 1 MB = 1024 KB, 1 GB = 1024 MB throughout. */
#ifndef GV_UNITS_H
#define GV_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define GV_NUMBER_MAX 40 /* bytes that hold any text made here, with its NUL */

struct gv_number {
    char text[GV_NUMBER_MAX];
};

/* "8GiB", "8 GB", "1.5 MiB", "512": 0, or -EINVAL. K, M, G and T are powers of 1024. */
int gv_size_parse(const char *text, uint64_t *ret_size_bytes);

/* "7.06 GB", "0.81 GB" (from half a GB on), "233.08 MB", "40.41 KB", "17 B". */
struct gv_number gv_size(uint64_t size_bytes);
/* Like gv_size but never below `unit_of_bytes`' own unit, so that two numbers compare at sight:
 * gv_size_like(0.13 GB, 8 GB) is "0.13 GB", not "138.01 MB". */
struct gv_number gv_size_like(uint64_t size_bytes, uint64_t unit_of_bytes);
/* "7,584,251,904"; a sign only when negative. */
struct gv_number gv_count(int64_t count);
/* "12.3 s", "450 ms", "2 min 5 s". */
struct gv_number gv_duration(uint64_t duration_ns);
/* "89.8 %" of `whole`; "" when whole is 0. */
struct gv_number gv_share(uint64_t part, uint64_t whole);
/* "89.75": 100 * part / whole with two decimals, rounded down so that 100.00 means all of it. */
double gv_percent(uint64_t part, uint64_t whole);

#endif
