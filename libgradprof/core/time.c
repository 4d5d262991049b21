/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/time.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Long enough for 1e-5 at the 100 ns that reading two clocks may be apart. */
#define CALIBRATION_MIN_NS UINT64_C(10000000)
#define SCALES 64 /* readers may still hold an older one; never reused */

static const struct gp_time_scale system_scale;
_Atomic(const struct gp_time_scale *) gp_time_scale = &system_scale;

static struct gp_time_scale scales[SCALES];
static unsigned scale_count;
static uint64_t first_tsc, first_ns;
static bool trusted;

uint64_t gp_time_system_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool kernel_trusts_tsc(void)
{
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t length = read(fd, name, sizeof(name) - 1);
    close(fd);
    return length >= 3 && strncmp(name, "tsc", 3) == 0;
}

/* Both clocks at one instant: of a few readings, the one taken quickest. */
static void read_both(uint64_t *ret_tsc, uint64_t *ret_ns)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        uint64_t ns = gp_time_system_ns();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < best) {
            best = after - before;
            *ret_tsc = before + best / 2;
            *ret_ns = ns;
        }
    }
}

void gp_time_init(void)
{
    read_both(&first_tsc, &first_ns);
}

void gp_time_calibrate(void)
{
    uint64_t tsc, ns;

    if (scale_count == 0)
        trusted = kernel_trusts_tsc();
    if (!trusted || scale_count == SCALES)
        return;
    read_both(&tsc, &ns);
    if (ns - first_ns < CALIBRATION_MIN_NS || tsc <= first_tsc)
        return;
    struct gp_time_scale *scale = &scales[scale_count++];
    scale->tsc = tsc;
    scale->ns = ns;
    scale->multiplier = (uint64_t)(((unsigned __int128)(ns - first_ns) << 32) / (tsc - first_tsc));
    atomic_store_explicit(&gp_time_scale, scale, memory_order_release);
}
