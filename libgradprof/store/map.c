/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SHIFT 58 /* 64 entries */

/* Fibonacci hashing: addresses share their low bits, the product's top bits depend on all others. */
static size_t home(const struct gp_map *map, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> map->hash_shift);
}

/* The entry that holds `key`, or the free one where it would go. */
static size_t locate(const struct gp_map *map, uint64_t key)
{
    size_t i = home(map, key);
    while (map->entries[i].value && map->entries[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return i;
}

static int grow(struct gp_map *map)
{
    unsigned shift = map->capacity ? map->hash_shift - 1 : FIRST_SHIFT;
    struct gp_map bigger = {
        .capacity = (size_t)1 << (64 - shift), .count = map->count, .hash_shift = shift};
    bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
    if (!bigger.entries)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].value)
            bigger.entries[locate(&bigger, map->entries[i].key)] = map->entries[i];
    }
    free(map->entries);
    *map = bigger;
    return 0;
}

void gp_map_finish(struct gp_map *map)
{
    free(map->entries);
    *map = (struct gp_map){0};
}

uint64_t gp_map_get(const struct gp_map *map, uint64_t key)
{
    return map->capacity ? map->entries[locate(map, key)].value : 0;
}

int gp_map_put(struct gp_map *map, uint64_t key, uint64_t value)
{
    if (map->count * 2 >= map->capacity) {
        int status = grow(map);
        if (status < 0)
            return status;
    }
    struct gp_map_entry *entry = &map->entries[locate(map, key)];
    map->count += entry->value == 0;
    *entry = (struct gp_map_entry){.key = key, .value = value};
    return 0;
}

/* Closes the gap at `hole`: an entry moves back when its home does not lie behind the hole. */
static void shift_back(struct gp_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
        size_t from_home = (i - home(map, map->entries[i].key)) & mask;
        if (from_home >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole].value = 0;
}

uint64_t gp_map_remove(struct gp_map *map, uint64_t key)
{
    if (!map->capacity)
        return 0;
    size_t i = locate(map, key);
    uint64_t value = map->entries[i].value;
    if (value) {
        shift_back(map, i);
        map->count--;
    }
    return value;
}
