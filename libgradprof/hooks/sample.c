/* SPDX-License-Identifier: MIT */
#include "libgradprof/hooks/sample.h"

#include <stdatomic.h>
#include <string.h>

#include "libgradprof/core/event.h"
#include "libgradprof/core/session.h"
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/graphs.h"
#include "libgradprof/hooks/ledger.h"
#include "libgradprof/hooks/nvml.h"
#include "libgradprof/hooks/pools.h"

#define GROWTH_BYTES (UINT64_C(32) << 20) /* allocated by one thread since it last looked */
#define GROWTH_NS UINT64_C(100000000)     /* at most ten samples a second */

static _Atomic uint64_t last_ns;
/* Whom to ask at exit: the level of the last sample. */
static _Atomic(const struct gp_devices *) last_devices;
static _Atomic(const struct gp_cudart *) last_runtime;

/* --- parts of the account -------------------------------------------------------------------------------- */

static void add_attribute(void *pool, gp_cu_enum attribute, uint64_t *sum)
{
    uint64_t bytes = 0;

    if (gp_real_cuMemPoolGetAttribute()(pool, attribute, &bytes) == GP_CU_SUCCESS)
        *sum += bytes;
}

static void add_pool(void *pool, void *user)
{
    struct gp_device_sample *sample = user;

    add_attribute(pool, GP_CU_POOL_RESERVED, &sample->pool_reserved);
    add_attribute(pool, GP_CU_POOL_USED, &sample->pool_used);
}

static void read_pools(struct gp_device_sample *sample, int device)
{
    gp_cu_pool pool;

    if (gp_real_cuDeviceGetDefaultMemPool()(&pool, device) != GP_CU_SUCCESS)
        return;
    sample->pool_reserved = sample->pool_used = 0;
    add_pool(pool, sample);
    gp_pools_of(device, add_pool, sample);
}

static void read_graphs(struct gp_device_sample *sample, int device)
{
    uint64_t reserved = 0, used = 0;

    if (gp_real_cuDeviceGetGraphMemAttribute()(device, GP_CU_GRAPH_RESERVED, &reserved) ||
        gp_real_cuDeviceGetGraphMemAttribute()(device, GP_CU_GRAPH_USED, &used))
        return;
    sample->graph_reserved = reserved;
    sample->graph_used = used;
}

static bool read_device(const struct gp_call *call, struct gp_device_sample *sample)
{
    size_t free_bytes, total_bytes;

    memset(sample, 0xff, sizeof(*sample)); /* GP_UNKNOWN_BYTES everywhere */
    if (!call->devices->memory(call, &free_bytes, &total_bytes))
        return false;
    sample->free = free_bytes;
    sample->total = total_bytes;
    return true;
}

/* --- samples --------------------------------------------------------------------------------------------------- */

static bool is_standin(const struct gp_call *call)
{
    return call->runtime != NULL && call->runtime->kind == GP_RUNTIME_HOSTCUDA;
}

static void write_sample(struct gp_call *call, int device, enum gp_sample_reason reason)
{
    struct gp_record record = {.type = GP_EV_DEVICE_SAMPLE, .detail = (uint32_t)reason};
    struct gp_device_sample sample;

    if (!read_device(call, &sample))
        return;
    if (is_standin(call)) {
        sample.others = 0; /* its memory is this process's alone */
    } else {
        read_pools(&sample, device);
        read_graphs(&sample, device);
        if (reason != GP_SAMPLE_GROWTH &&
            reason != GP_SAMPLE_TRIM) /* it asks the kernel's driver */
            sample.others = gp_nvml_others(device);
    }
    record.device_plus_1 = (uint8_t)(device + 1);
    gp_event_payload(call->thread, &record, &sample, sizeof(sample));
    atomic_store_explicit(&last_ns, gp_time_ns(), memory_order_relaxed);
    atomic_store_explicit(&last_runtime, call->runtime, memory_order_relaxed);
    atomic_store_explicit(&last_devices, call->devices, memory_order_release);
}

void gp_sample(struct gp_call *call, int device, enum gp_sample_reason reason)
{
    /* While a stream is captured a call may be one that breaks the capture. */
    if (call->thread == NULL || device < 0 || device >= (int)GP_DEVICE_CPU || gp_any_capture() ||
        !gp_session_ready(call->thread, true) || call->devices->current(call) != device)
        return;
    gp_ledger_device(call, device);
    write_sample(call, device, reason);
}

void gp_sample_trim(struct gp_call *call, int device)
{
    if (call->recording)
        gp_sample(call, device == GP_DEVICE_UNKNOWN ? gp_call_device(call) : device,
                  GP_SAMPLE_TRIM);
}

void gp_sample_growth(struct gp_call *call, uint64_t bytes)
{
    uint64_t last = atomic_load_explicit(&last_ns, memory_order_relaxed);

    call->thread->grown_bytes += bytes;
    if (__builtin_expect(call->thread->grown_bytes < GROWTH_BYTES, 1))
        return;
    if (gp_time_ns() - last < GROWTH_NS)
        return;
    call->thread->grown_bytes = 0;
    gp_sample(call, gp_call_device(call), GP_SAMPLE_GROWTH);
}

void gp_sample_end(struct gp_thread *thread)
{
    struct gp_call call = {.thread = thread, .device = GP_DEVICE_UNKNOWN};

    call.devices = atomic_load_explicit(&last_devices, memory_order_acquire);
    if (call.devices == NULL)
        return;
    call.runtime = atomic_load_explicit(&last_runtime, memory_order_relaxed);
    gp_sample(&call, gp_call_device(&call), GP_SAMPLE_END);
}
