/* SPDX-License-Identifier: MIT */
/* A hash table from three numbers to a row of counts. Rows stay where they are in order of arrival;
 * pointers to them last until the next new row. */
#ifndef GV_TALLY_H
#define GV_TALLY_H

#include <stdint.h>

struct gv_tally_row {
    uint32_t key[3];
    uint32_t value; /* the user's own; 0 in a new row */
    uint64_t count, bytes;
};

struct gv_tally {
    struct gv_tally_row *rows;
    uint32_t count, capacity;
    uint32_t *slots;     /* row + 1, 0: empty */
    uint32_t slot_count; /* a power of two, more than twice the rows */
};

/* The row of that key, made when it is new. NULL: no memory. */
struct gv_tally_row *gv_tally_row(struct gv_tally *tally, uint32_t a, uint32_t b, uint32_t c);

/* gv_tally_row, then count += 1 and bytes += bytes. 0 or -ENOMEM. */
int gv_tally_add(struct gv_tally *tally, uint32_t a, uint32_t b, uint32_t c, uint64_t bytes);

/* Puts the rows in order: most bytes first, then highest count, then by key. No look-ups after. */
void gv_tally_sort(struct gv_tally *tally);
void gv_tally_free(struct gv_tally *tally);

#endif
