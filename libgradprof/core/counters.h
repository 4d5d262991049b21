/* SPDX-License-Identifier: MIT */
/* Counts kept in memory and written to run.db's counter table by the ingest thread. */
#ifndef GP_CORE_COUNTERS_H
#define GP_CORE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

enum gp_counter {
#define GP_COUNTER(name) GP_COUNTER_##name,
#include "libgradprof/core/counters.def"
#undef GP_COUNTER
    GP_COUNTER_COUNT
};

extern _Atomic uint64_t gp_counters[GP_COUNTER_COUNT];
extern const char *const gp_counter_names[GP_COUNTER_COUNT];

static inline void gp_count(enum gp_counter counter)
{
    atomic_fetch_add_explicit(&gp_counters[counter], 1, memory_order_relaxed);
}

void gp_counters_reset(void); /* a forked child starts its own run */

#endif
