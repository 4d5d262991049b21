/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/counters.h"

_Atomic uint64_t gp_counters[GP_COUNTER_COUNT];

const char *const gp_counter_names[GP_COUNTER_COUNT] = {
#define GP_COUNTER(name) #name,
#include "libgradprof/core/counters.def"
#undef GP_COUNTER
};

void gp_counters_reset(void)
{
    for (int i = 0; i < GP_COUNTER_COUNT; i++)
        atomic_store_explicit(&gp_counters[i], 0, memory_order_relaxed);
}
