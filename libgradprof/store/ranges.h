/* SPDX-License-Identifier: MIT */
/*
 * Address ranges that do not overlap, ordered by their start: which one does an address lie in?
 * Sorted blocks of at most GP_RANGES_BLOCK entries; insert and remove move half a block on average.
 */
#ifndef GP_STORE_RANGES_H
#define GP_STORE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define GP_RANGES_BLOCK 256

struct gp_range {
    uint64_t start;
    void *owner;
};

struct gp_ranges_block {
    size_t count; /* >= 1 */
    struct gp_range ranges[GP_RANGES_BLOCK];
};

struct gp_ranges {                   /* zeroed = empty */
    struct gp_ranges_block **blocks; /* block i ends before block i + 1 begins */
    size_t count, capacity;
};

void gp_ranges_finish(struct gp_ranges *ranges);
/* Adds a range, or gives the one that starts there a new owner. 0 or -ENOMEM. */
int gp_ranges_put(struct gp_ranges *ranges, uint64_t start, void *owner);
void gp_ranges_remove(struct gp_ranges *ranges, uint64_t start); /* one that is not there: no-op */
/* The owner of the last range that starts at or before `address`; NULL: none does. */
void *gp_ranges_floor(const struct gp_ranges *ranges, uint64_t address);

#endif
