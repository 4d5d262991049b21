/* SPDX-License-Identifier: MIT */
#include "libgradprof/stack/intern.h"

#include <string.h>

#define LANES 4 /* independent multiplications, which the processor overlaps: a stack is long */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t count)
{
    uint64_t lane[LANES] = {count, 1, 2, 3}, word;

    for (; count >= 8 * LANES; bytes += 8 * LANES, count -= 8 * LANES)
        for (int i = 0; i < LANES; i++) {
            memcpy(&word, bytes + 8 * i, 8);
            lane[i] = mix(lane[i], word);
        }
    for (; count >= 8; bytes += 8, count -= 8) {
        memcpy(&word, bytes, 8);
        lane[0] = mix(lane[0], word);
    }
    word = 0;
    memcpy(&word, bytes, count);
    return mix(mix(mix(lane[0], word) + lane[1], lane[2]), lane[3]);
}

static struct gp_entry *find(const struct gp_intern_slots *slots, uint64_t hash,
                             const void *content, uint32_t content_bytes)
{
    for (size_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
        struct gp_entry *entry = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (entry == NULL)
            return NULL;
        if (entry->hash == hash && entry->content_bytes == content_bytes &&
            memcmp(entry->content, content, content_bytes) == 0)
            return entry;
    }
}

static void put(struct gp_intern_slots *slots, struct gp_entry *entry)
{
    size_t i = entry->hash & slots->mask;

    while (atomic_load_explicit(&slots->slot[i], memory_order_relaxed) != NULL)
        i = (i + 1) & slots->mask;
    atomic_store_explicit(&slots->slot[i], entry, memory_order_release);
}

/* The old array stays mapped: readers may be in it. All old ones together are smaller than the new. */
static struct gp_intern_slots *grow(struct gp_intern *table, struct gp_intern_slots *old)
{
    size_t count = old == NULL ? table->first_slots : (old->mask + 1) * 2;
    struct gp_intern_slots *slots = gp_pages_map(sizeof(*slots) + count * sizeof(slots->slot[0]));

    if (slots == NULL)
        return old;
    slots->mask = count - 1;
    for (size_t i = 0; old != NULL && i <= old->mask; i++) {
        struct gp_entry *entry = atomic_load_explicit(&old->slot[i], memory_order_relaxed);
        if (entry != NULL)
            put(slots, entry);
    }
    atomic_store_explicit(&table->slots, slots, memory_order_release);
    return slots;
}

static struct gp_entry *insert(struct gp_intern *table, uint64_t hash, const void *content,
                               uint32_t content_bytes)
{
    struct gp_intern_slots *slots = atomic_load_explicit(&table->slots, memory_order_relaxed);
    struct gp_entry *entry = slots == NULL ? NULL : find(slots, hash, content, content_bytes);

    if (entry != NULL)
        return entry;
    if (slots == NULL || table->count >= (slots->mask + 1) / 2)
        slots = grow(table, slots);
    if (slots == NULL || table->count >= slots->mask) /* find() relies on an empty slot */
        return NULL;
    entry = gp_arena_alloc(&table->arena, sizeof(*entry) + content_bytes);
    if (entry == NULL)
        return NULL;
    entry->hash = hash;
    entry->id = ++table->count;
    entry->content_bytes = content_bytes;
    memcpy(entry->content, content, content_bytes);
    put(slots, entry);
    return entry;
}

struct gp_entry *gp_intern(struct gp_intern *table, const void *content, uint32_t content_bytes)
{
    uint64_t hash = hash_bytes(content, content_bytes);
    const struct gp_intern_slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
    struct gp_entry *entry = slots == NULL ? NULL : find(slots, hash, content, content_bytes);

    if (__builtin_expect(entry != NULL, 1))
        return entry;
    pthread_mutex_lock(&table->lock);
    entry = insert(table, hash, content, content_bytes);
    pthread_mutex_unlock(&table->lock);
    return entry;
}

void gp_intern_forked(struct gp_intern *table)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    table->lock = fresh;
}
