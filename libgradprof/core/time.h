/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC in ns, from the time stamp counter where the kernel itself trusts it: half the price
 * of the vDSO call, whose barrier the hot path does not need (order comes from the log position).
 *
 *   ns(tsc) = scale.ns + ((tsc - scale.tsc) * scale.multiplier >> 32)
 */
#ifndef GP_CORE_TIME_H
#define GP_CORE_TIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gp_time_scale {
    uint64_t tsc, ns;
    uint64_t multiplier; /* ns per tick, 32 fractional bits; 0: use clock_gettime */
};

extern _Atomic(const struct gp_time_scale *) gp_time_scale;

uint64_t gp_time_system_ns(void);
void gp_time_init(void); /* at load: notes the first of two points */
/* A second point, later: the longer since gp_time_init, the truer the scale. One caller at a time. */
void gp_time_calibrate(void);

static inline uint64_t gp_time_ns(void)
{
    const struct gp_time_scale *scale = atomic_load_explicit(&gp_time_scale, memory_order_acquire);

    if (scale->multiplier == 0)
        return gp_time_system_ns();
    uint64_t ticks = __builtin_ia32_rdtsc() - scale->tsc;
    return scale->ns + (uint64_t)((unsigned __int128)ticks * scale->multiplier >> 32);
}

#endif
