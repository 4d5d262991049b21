/* SPDX-License-Identifier: MIT */
/* Open addressing, linear probing, at most half full; a removal moves later records back. */
#include "libgradprof/torch/live.h"

#include <string.h>

#include "libgradprof/core/memory.h"

#define FIRST_PLACES 1024u

static size_t home(const struct gp_live *live, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & live->mask;
}

static uint64_t *place(const struct gp_live *live, uint64_t key)
{
    size_t i = home(live, key);
    uint64_t *record;

    while (record = live->records + i * live->words, record[0] != 0 && record[0] != key)
        i = (i + 1) & live->mask;
    return record;
}

uint64_t *gp_live_find(const struct gp_live *live, uint64_t key)
{
    uint64_t *record = live->records == NULL ? NULL : place(live, key);

    return record != NULL && record[0] == key ? record : NULL;
}

static size_t bytes_of(const struct gp_live *live)
{
    return (live->mask + 1) * live->words * sizeof(uint64_t);
}

static int grow(struct gp_live *live)
{
    struct gp_live larger = *live;

    larger.mask = live->records == NULL ? FIRST_PLACES - 1 : live->mask * 2 + 1;
    larger.records = gp_pages_map(bytes_of(&larger));
    if (larger.records == NULL)
        return -1;
    for (size_t i = 0; live->records != NULL && i <= live->mask; i++) {
        const uint64_t *record = gp_live_at(live, i);
        if (record != NULL)
            memcpy(place(&larger, record[0]), record, live->words * sizeof(uint64_t));
    }
    if (live->records != NULL)
        gp_pages_unmap(live->records, bytes_of(live));
    *live = larger;
    return 0;
}

uint64_t *gp_live_add(struct gp_live *live, uint64_t key)
{
    uint64_t *record = gp_live_find(live, key);

    if (record != NULL)
        return record;
    if ((live->records == NULL || live->count > live->mask / 2) && grow(live) != 0 &&
        (live->records == NULL || live->count >= live->mask))
        return NULL;
    record = place(live, key);
    record[0] = key;
    live->count++;
    return record;
}

void gp_live_remove(struct gp_live *live, uint64_t key)
{
    uint64_t *hole = gp_live_find(live, key), *next;
    size_t i;

    if (hole == NULL)
        return;
    live->count--;
    i = (size_t)(hole - live->records) / live->words;
    for (size_t j = (i + 1) & live->mask;; j = (j + 1) & live->mask) {
        next = live->records + j * live->words;
        if (next[0] == 0)
            break;
        if (((j - home(live, next[0])) & live->mask) < ((j - i) & live->mask))
            continue; /* it would end up before its home */
        memcpy(live->records + i * live->words, next, live->words * sizeof(uint64_t));
        i = j;
    }
    memset(live->records + i * live->words, 0, live->words * sizeof(uint64_t));
}

void gp_live_clear(struct gp_live *live)
{
    if (live->records != NULL)
        memset(live->records, 0, bytes_of(live));
    live->count = 0;
}
