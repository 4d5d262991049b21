/* SPDX-License-Identifier: MIT */
#include "libgradprof/hooks/ledger.h"

#include <stdatomic.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/core/session.h"
#include "libgradprof/limit.h"
#include "libgradprof/python/frames.h"

#define IMPOSSIBLE_BYTES ((size_t)1 << 62) /* no device has it */

static _Atomic uint32_t device_epoch[GP_DEVICES_MAX]; /* run whose log describes the device */

/* --- the call ----------------------------------------------------------------------------------------- */

void gp_call_begin(struct gp_call *call, const char *api, const void *caller)
{
    memset(call, 0, sizeof(*call));
    call->thread = gp_thread_get();
    call->recording = call->thread != NULL && call->thread->guard == 0;
    if (call->thread != NULL)
        call->thread->guard++;
    call->api = api;
    call->device = GP_DEVICE_UNKNOWN;
    call->runtime = gp_resolve(caller);
}

void gp_call_end(struct gp_call *call)
{
    if (call->thread != NULL)
        call->thread->guard--;
}

int gp_call_device(struct gp_call *call)
{
    int device = -1;

    if (call->device != GP_DEVICE_UNKNOWN)
        return call->device;
    if (call->runtime->cudaGetDevice(&device) != GP_CUDA_SUCCESS)
        device = -1;
    call->device = device;
    return device;
}

static bool is_limited(enum gp_kind kind)
{
    return kind == GP_KIND_DEVICE || kind == GP_KIND_ASYNC || kind == GP_KIND_ARRAY;
}

/* --- devices ------------------------------------------------------------------------------------------ */

static void describe_device(struct gp_call *call, int device)
{
    union {
        struct gp_cuda_device_prop prop;
        char bytes[GP_CUDA_DEVICE_PROP_BYTES];
    } properties;
    struct gp_record record = {.type = GP_EV_DEVICE, .device_plus_1 = (uint8_t)(device + 1)};

    memset(&properties, 0, sizeof(properties));
    if (call->runtime->cudaGetDeviceProperties(&properties.prop, device) == GP_CUDA_SUCCESS) {
        properties.prop.name[sizeof(properties.prop.name) - 1] = 0;
        record.name_id = gp_name_id(call->thread, gp_name(properties.prop.name));
        record.a = properties.prop.total_bytes;
    }
    record.b = gp_limit_of(device);
    record.detail = call->runtime->kind;
    gp_event(call->thread, &record);
}

/* The device is told once a run, before the first event that names it. */
static uint8_t device_plus_1(struct gp_call *call)
{
    int device = gp_call_device(call);
    uint32_t epoch = atomic_load_explicit(&gp_session.epoch, memory_order_relaxed), before;

    if (device < 0 || device > 254)
        return 0;
    if (device < GP_DEVICES_MAX) {
        before = atomic_load_explicit(&device_epoch[device], memory_order_acquire);
        if (__builtin_expect(before != epoch, 0) &&
            atomic_compare_exchange_strong(&device_epoch[device], &before, epoch))
            describe_device(call, device);
    }
    return (uint8_t)(device + 1);
}

/* --- events ------------------------------------------------------------------------------------------- */

static void log_allocation(struct gp_call *call, const void *address, uint64_t bytes,
                           gp_cuda_stream stream)
{
    struct gp_record record = {
        .type = GP_EV_ALLOC, .key = (uintptr_t)address, .a = bytes, .b = (uintptr_t)stream};

    if (!gp_session_ready(call->thread, true))
        return;
    record.device_plus_1 = device_plus_1(call);
    record.stack_id = gp_python_stack_id(call->thread);
    record.scope_id = gp_current_scope_id(call->thread);
    record.detail = GP_DETAIL(call->kind, 0);
    gp_event(call->thread, &record);
}

static void log_refusal(struct gp_call *call, gp_cuda_error error)
{
    struct gp_record record = {.type = GP_EV_REFUSED, .a = call->asked_bytes};

    if (!gp_session_ready(call->thread, true))
        return;
    record.device_plus_1 = device_plus_1(call);
    record.b = is_limited(call->kind) ? gp_limit_of(gp_call_device(call)) : 0;
    record.stack_id = gp_python_stack_id(call->thread);
    record.scope_id = gp_current_scope_id(call->thread);
    record.name_id = gp_name_id(call->thread, gp_name(call->api));
    record.detail = GP_DETAIL(call->kind, error);
    gp_event(call->thread, &record);
}

void gp_ledger_refused_by(struct gp_thread *thread, int device, uint64_t bytes, const char *what)
{
    struct gp_record record = {.type = GP_EV_REFUSED, .a = bytes};

    if (!gp_session_ready(thread, true))
        return;
    record.device_plus_1 = device >= 0 && device < 255 ? (uint8_t)(device + 1) : 0;
    record.stack_id = gp_python_stack_id(thread);
    record.scope_id = gp_current_scope_id(thread);
    record.name_id = gp_name_id(thread, gp_name(what));
    record.detail = GP_DETAIL(GP_KIND_UNKNOWN, GP_CUDA_ERROR_OUT_OF_MEMORY);
    gp_event(thread, &record);
}

void gp_ledger_reset(struct gp_call *call)
{
    struct gp_record record = {.type = GP_EV_RESET};

    if (!call->recording || !gp_session_ready(call->thread, false))
        return;
    record.device_plus_1 = device_plus_1(call);
    if (record.device_plus_1 != 0)
        gp_event(call->thread, &record);
}

void gp_ledger_pool(struct gp_call *call, const void *pool, bool created, uint64_t max_bytes)
{
    struct gp_record record = {.type = GP_EV_POOL, .key = (uintptr_t)pool, .a = max_bytes};

    if (!call->recording || !gp_session_ready(call->thread, created))
        return;
    record.device_plus_1 = created ? device_plus_1(call) : 0;
    record.detail = created ? 1 : 2;
    gp_event(call->thread, &record);
}

/* --- allocations -------------------------------------------------------------------------------------- */

void gp_allocation_begin(struct gp_call *call, enum gp_kind kind, uint64_t bytes, int device)
{
    call->kind = kind;
    call->asked_bytes = bytes;
    call->device = device;
    if (gp_session.config.memory_limit.any && call->recording && is_limited(kind)) {
        call->refused = !gp_limit_take(gp_call_device(call), bytes);
        call->limit_bytes_held = call->refused ? 0 : bytes;
    }
}

gp_cuda_error gp_allocation_end(struct gp_call *call, gp_cuda_error error, const void *address,
                                uint64_t bytes, gp_cuda_stream stream)
{
    if (call->limit_bytes_held > 0)
        gp_limit_settle(gp_call_device(call), call->limit_bytes_held,
                        error == GP_CUDA_SUCCESS ? address : NULL, bytes);
    if (call->recording) {
        if (error == GP_CUDA_SUCCESS && address != NULL)
            log_allocation(call, address, bytes, stream);
        else if (error == GP_CUDA_ERROR_OUT_OF_MEMORY)
            log_refusal(call, error);
        else if (error != GP_CUDA_SUCCESS)
            gp_count(GP_COUNTER_failed_calls);
    }
    gp_call_end(call);
    return error;
}

/* The runtime itself must remember the error too (cudaGetLastError): ask it for the impossible. */
gp_cuda_error gp_call_refused(struct gp_call *call)
{
    void *address = NULL;

    if (call->runtime->cudaMalloc(&address, IMPOSSIBLE_BYTES) == GP_CUDA_SUCCESS)
        call->runtime->cudaFree(address);
    log_refusal(call, GP_CUDA_ERROR_OUT_OF_MEMORY);
    gp_call_end(call);
    return GP_CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- releases ----------------------------------------------------------------------------------------- */

void gp_release_begin(struct gp_call *call, enum gp_kind kind, const void *address,
                      gp_cuda_stream stream)
{
    struct gp_record record = {
        .type = GP_EV_FREE, .key = (uintptr_t)address, .b = (uintptr_t)stream};

    call->kind = kind;
    if (address == NULL || !call->recording)
        return;
    call->limit_bytes_held = gp_limit_forget(address, &call->device);
    if (!gp_session_ready(call->thread, false))
        return;
    call->address = address;
    record.detail = GP_DETAIL(kind, 0);
    gp_event(call->thread, &record);
}

gp_cuda_error gp_release_end(struct gp_call *call, gp_cuda_error error)
{
    struct gp_record record = {.type = GP_EV_FREE_RESULT, .key = (uintptr_t)call->address};

    gp_limit_give(call->device, call->limit_bytes_held);
    if (__builtin_expect(error != GP_CUDA_SUCCESS, 0) && call->address != NULL &&
        gp_session_ready(call->thread, false)) {
        record.detail = (uint32_t)error;
        gp_event(call->thread, &record);
    }
    gp_call_end(call);
    return error;
}
