/* SPDX-License-Identifier: MIT */
/*
 * Interning: equal contents get one id (1, 2, ...), and a run's log defines each id before its first
 * use. Look-ups take no lock; insertions and definitions do (once per content and run).
 *
 * Entries outlive runs: a forked child keeps the table and defines the entries that it uses anew in
 * its own log. `epoch` of an entry is the run that last defined it.
 */
#ifndef GP_STACK_INTERN_H
#define GP_STACK_INTERN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libgradprof/core/memory.h"

struct gp_entry {
    uint64_t hash;
    uint32_t id;
    _Atomic uint32_t epoch; /* run whose log holds the definition; 0: none */
    uint32_t content_bytes;
    unsigned char content[] __attribute__((aligned(8)));
};

struct gp_intern_slots { /* open addressing; replaced by a larger one when half full */
    size_t mask;
    _Atomic(struct gp_entry *) slot[];
};

struct gp_intern {
    pthread_mutex_t lock; /* insertion and growth */
    _Atomic(struct gp_intern_slots *) slots;
    uint32_t count;
    uint32_t first_slots; /* power of two */
    struct gp_arena arena;
};

#define GP_INTERN_INITIALIZER(first)                                                               \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .first_slots = (first)                                  \
    }

/* NULL: no memory left. */
struct gp_entry *gp_intern(struct gp_intern *table, const void *content, uint32_t content_bytes);
/* In a forked child, before anything else: another thread may have held the lock. */
void gp_intern_forked(struct gp_intern *table);

#endif
