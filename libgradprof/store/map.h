/* SPDX-License-Identifier: MIT */
/* A hash map from 64-bit keys to non-zero 64-bit values: open addressing, no tombstones. */
#ifndef GP_STORE_MAP_H
#define GP_STORE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gp_map_entry {
    uint64_t key;
    uint64_t value; /* 0: the entry is free */
};

struct gp_map { /* zeroed = empty */
    struct gp_map_entry *entries;
    size_t capacity;     /* 0 or a power of two */
    size_t count;        /* at most half of capacity */
    unsigned hash_shift; /* 64 - log2(capacity) */
};

void gp_map_finish(struct gp_map *map);

uint64_t gp_map_get(const struct gp_map *map, uint64_t key); /* 0: not there */
/* Adds or replaces; `value` is not 0. 0 or -ENOMEM. */
int gp_map_put(struct gp_map *map, uint64_t key, uint64_t value);
uint64_t gp_map_remove(struct gp_map *map, uint64_t key); /* the old value, 0: was not there */

static inline void *gp_map_get_pointer(const struct gp_map *map, uint64_t key)
{
    return (void *)(uintptr_t)gp_map_get(map, key);
}

static inline int gp_map_put_pointer(struct gp_map *map, uint64_t key, void *pointer)
{
    return gp_map_put(map, key, (uintptr_t)pointer);
}

#endif
