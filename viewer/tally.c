/* SPDX-License-Identifier: MIT */
#include "viewer/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/memory.h"

static uint32_t slot_of(const struct gv_tally *tally, const uint32_t key[3])
{
    /* multiplicative hashing with odd constants of high entropy (xxHash's primes) */
    uint64_t h = key[0] * UINT64_C(0x9e3779b185ebca87);
    h = (h ^ h >> 29) + key[1] * UINT64_C(0xc2b2ae3d27d4eb4f);
    h = (h ^ h >> 31) + key[2] * UINT64_C(0x165667b19e3779f9);
    h *= UINT64_C(0x9e3779b185ebca87);
    uint32_t slot = (uint32_t)(h >> 32) & (tally->slot_count - 1);
    while (tally->slots[slot] &&
           memcmp(tally->rows[tally->slots[slot] - 1].key, key, sizeof(uint32_t[3])) != 0)
        slot = (slot + 1) & (tally->slot_count - 1);
    return slot;
}

static int grow(struct gv_tally *tally)
{
    uint32_t slot_count = tally->slot_count ? tally->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(tally->slots);
    tally->slots = slots;
    tally->slot_count = slot_count;
    for (uint32_t i = 0; i < tally->count; i++)
        tally->slots[slot_of(tally, tally->rows[i].key)] = i + 1;
    return 0;
}

struct gv_tally_row *gv_tally_row(struct gv_tally *tally, uint32_t a, uint32_t b, uint32_t c)
{
    if (tally->count >= tally->slot_count / 2 && grow(tally) < 0)
        return NULL;
    const uint32_t key[3] = {a, b, c};
    uint32_t slot = slot_of(tally, key);
    if (tally->slots[slot])
        return &tally->rows[tally->slots[slot] - 1];
    if (gv_reserve(&tally->rows, &tally->capacity, tally->count, sizeof(*tally->rows)) < 0)
        return NULL;
    tally->rows[tally->count] = (struct gv_tally_row){.key = {a, b, c}};
    tally->slots[slot] = tally->count + 1;
    return &tally->rows[tally->count++];
}

int gv_tally_add(struct gv_tally *tally, uint32_t a, uint32_t b, uint32_t c, uint64_t bytes)
{
    struct gv_tally_row *row = gv_tally_row(tally, a, b, c);
    if (!row)
        return -ENOMEM;
    row->count++;
    row->bytes += bytes;
    return 0;
}

static int by_bytes(const void *left, const void *right)
{
    const struct gv_tally_row *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    for (int i = 0; i < 3; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

void gv_tally_sort(struct gv_tally *tally)
{
    if (tally->count > 1)
        qsort(tally->rows, tally->count, sizeof(*tally->rows), by_bytes);
    free(tally->slots);
    tally->slots = NULL;
    tally->slot_count = 0;
}

void gv_tally_free(struct gv_tally *tally)
{
    free(tally->rows);
    free(tally->slots);
    memset(tally, 0, sizeof(*tally));
}
