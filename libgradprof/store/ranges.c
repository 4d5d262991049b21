/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gp_ranges_finish(struct gp_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++)
        free(ranges->blocks[i]);
    free(ranges->blocks);
    *ranges = (struct gp_ranges){0};
}

/* How many blocks begin at or before `address`. */
static size_t blocks_up_to(const struct gp_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->blocks[middle]->ranges[0].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many ranges of the block begin at or before `address`. */
static size_t ranges_up_to(const struct gp_ranges_block *block, uint64_t address)
{
    size_t low = 0, high = block->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (block->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct gp_ranges_block *add_block(struct gp_ranges *ranges, size_t at)
{
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? ranges->capacity * 2 : 16;
        void *blocks = realloc(ranges->blocks, capacity * sizeof(*ranges->blocks));
        if (!blocks)
            return NULL;
        ranges->blocks = blocks;
        ranges->capacity = capacity;
    }
    struct gp_ranges_block *block = malloc(sizeof(*block));
    if (!block)
        return NULL;
    block->count = 0;
    memmove(&ranges->blocks[at + 1], &ranges->blocks[at],
            (ranges->count - at) * sizeof(*ranges->blocks));
    ranges->blocks[at] = block;
    ranges->count++;
    return block;
}

/* Moves the upper half of a full block into a new one behind it. */
static int split(struct gp_ranges *ranges, size_t at)
{
    struct gp_ranges_block *upper = add_block(ranges, at + 1);
    if (!upper)
        return -ENOMEM;
    struct gp_ranges_block *lower = ranges->blocks[at];
    lower->count = GP_RANGES_BLOCK / 2;
    upper->count = GP_RANGES_BLOCK - lower->count;
    memcpy(upper->ranges, &lower->ranges[lower->count], upper->count * sizeof(*upper->ranges));
    return 0;
}

/* The block where a range that starts at `start` belongs, with room for it. */
static struct gp_ranges_block *block_for(struct gp_ranges *ranges, uint64_t start)
{
    if (ranges->count == 0)
        return add_block(ranges, 0);
    size_t at = blocks_up_to(ranges, start);
    at -= at > 0;
    if (ranges->blocks[at]->count == GP_RANGES_BLOCK) {
        if (split(ranges, at) < 0)
            return NULL;
        at += ranges->blocks[at + 1]->ranges[0].start <= start;
    }
    return ranges->blocks[at];
}

int gp_ranges_put(struct gp_ranges *ranges, uint64_t start, void *owner)
{
    struct gp_ranges_block *block = block_for(ranges, start);
    if (!block)
        return -ENOMEM;
    size_t i = ranges_up_to(block, start);
    if (i > 0 && block->ranges[i - 1].start == start) {
        block->ranges[i - 1].owner = owner;
        return 0;
    }
    memmove(&block->ranges[i + 1], &block->ranges[i], (block->count - i) * sizeof(*block->ranges));
    block->ranges[i] = (struct gp_range){.start = start, .owner = owner};
    block->count++;
    return 0;
}

void gp_ranges_remove(struct gp_ranges *ranges, uint64_t start)
{
    size_t at = blocks_up_to(ranges, start);
    if (at-- == 0)
        return;
    struct gp_ranges_block *block = ranges->blocks[at];
    size_t i = ranges_up_to(block, start);
    if (i-- == 0 || block->ranges[i].start != start)
        return;
    block->count--;
    memmove(&block->ranges[i], &block->ranges[i + 1], (block->count - i) * sizeof(*block->ranges));
    if (block->count > 0)
        return;
    free(block);
    ranges->count--;
    memmove(&ranges->blocks[at], &ranges->blocks[at + 1],
            (ranges->count - at) * sizeof(*ranges->blocks));
}

void *gp_ranges_floor(const struct gp_ranges *ranges, uint64_t address)
{
    size_t at = blocks_up_to(ranges, address);
    if (at-- == 0)
        return NULL;
    const struct gp_ranges_block *block = ranges->blocks[at];
    size_t i = ranges_up_to(block, address);
    return i ? block->ranges[i - 1].owner : NULL;
}
