/* SPDX-License-Identifier: MIT */
/* Growing arrays and ids -> dense indices. Everything here returns 0 or -ENOMEM. */
#ifndef GV_MEMORY_H
#define GV_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define GV_NONE UINT32_MAX /* no such index */

/* Makes room for one more element of `element_bytes` at *array, which holds `count`. Room doubles.
 * At most GV_NONE - 1 elements (-EOVERFLOW). */
int gv_reserve(void *array_pointer, uint32_t *capacity, uint32_t count, size_t element_bytes);

/* calloc with a 32-bit count that is never 0 bytes. */
void *gv_zeroed(size_t count, size_t element_bytes);

/* Ascending ids of rows -> 0, 1, 2, ... in order of adding. Look-up is constant for the dense ids
 * that the store writes and a binary search for anything else. */
struct gv_index {
    int64_t *ids;
    uint32_t count, capacity;
    uint32_t *buckets; /* buckets[b]: first index whose (id - ids[0]) >> shift >= b */
    uint32_t bucket_count;
    unsigned shift;
};

int gv_index_add(struct gv_index *index, int64_t id); /* id > the last one; else -EINVAL */
int gv_index_finish(struct gv_index *index); /* after the last add, before the first find */
uint32_t gv_index_find(const struct gv_index *index, int64_t id); /* or GV_NONE */
void gv_index_free(struct gv_index *index);

#endif
