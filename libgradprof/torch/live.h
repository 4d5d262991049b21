/* SPDX-License-Identifier: MIT */
/* Live objects by address: a hash table of small records in pages of our own. The caller locks. */
#ifndef GP_TORCH_LIVE_H
#define GP_TORCH_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct gp_live {
    size_t words; /* of a record, its key (never 0) included */
    size_t count, mask;
    uint64_t *records; /* NULL: none yet */
};

/* A record, or NULL. Valid until the next gp_live_add or gp_live_remove. */
uint64_t *gp_live_find(const struct gp_live *live, uint64_t key);
/* The record of `key`, zeroed but for its key if it is new. NULL: no memory. */
uint64_t *gp_live_add(struct gp_live *live, uint64_t key);
void gp_live_remove(struct gp_live *live, uint64_t key);
void gp_live_clear(struct gp_live *live);

/* The i-th place, i <= mask: NULL when it is empty. */
static inline uint64_t *gp_live_at(const struct gp_live *live, size_t i)
{
    uint64_t *record = live->records + i * live->words;

    return record[0] != 0 ? record : NULL;
}

#endif
