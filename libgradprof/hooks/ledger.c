/* SPDX-License-Identifier: MIT */
#include "libgradprof/hooks/ledger.h"

#include <stdatomic.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/core/session.h"
#include "libgradprof/hooks/contexts.h"
#include "libgradprof/hooks/graphs.h"
#include "libgradprof/hooks/sample.h"
#include "libgradprof/limit.h"
#include "libgradprof/python/frames.h"

#define NAME_BYTES 256u /* of a device */

static _Atomic uint32_t device_epoch[GP_DEVICES_MAX]; /* run whose log describes the device */

/* --- the call ----------------------------------------------------------------------------------------- */

void gp_call_begin(struct gp_call *call, const char *api, const struct gp_devices *devices)
{
    memset(call, 0, sizeof(*call));
    call->thread = gp_thread_get();
    call->recording = call->thread != NULL && call->thread->guard == 0;
    if (call->thread != NULL)
        call->thread->guard++;
    call->api = api;
    call->device = GP_DEVICE_UNKNOWN;
    call->devices = devices;
}

void gp_call_end(struct gp_call *call)
{
    if (call->thread != NULL)
        call->thread->guard--;
}

int gp_call_device(struct gp_call *call)
{
    if (call->device == GP_DEVICE_UNKNOWN)
        call->device = call->devices->current(call);
    return call->device;
}

static bool is_limited(enum gp_kind kind)
{
    return kind == GP_KIND_DEVICE || kind == GP_KIND_ASYNC || kind == GP_KIND_ARRAY ||
           kind == GP_KIND_PHYSICAL;
}

/* --- devices ------------------------------------------------------------------------------------------ */

static void describe_device(struct gp_call *call, int device)
{
    struct gp_record record = {.type = GP_EV_DEVICE, .device_plus_1 = (uint8_t)(device + 1)};
    char name[NAME_BYTES] = "";

    record.detail = call->devices->describe(call, device, name, sizeof(name), &record.a);
    if (name[0] != 0)
        record.name_id = gp_name_id(call->thread, gp_name(name));
    record.b = gp_limit_of(device);
    gp_event(call->thread, &record);
}

bool gp_ledger_device(struct gp_call *call, int device)
{
    uint32_t epoch = atomic_load_explicit(&gp_session.epoch, memory_order_relaxed), before;

    if (device < 0 || device >= GP_DEVICES_MAX)
        return false;
    before = atomic_load_explicit(&device_epoch[device], memory_order_acquire);
    if (__builtin_expect(before == epoch, 1) ||
        !atomic_compare_exchange_strong(&device_epoch[device], &before, epoch))
        return false;
    describe_device(call, device);
    return true;
}

/* The device is told once a run, before the first event that names it, and its own account is read after
 * that event. */
static uint8_t device_plus_1(struct gp_call *call)
{
    int device = gp_call_device(call);

    if (device < 0 || device > 254)
        return 0;
    call->is_first = gp_ledger_device(call, device);
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
    record.detail = GP_DETAIL(call->kind, gp_context_current());
    gp_event(call->thread, &record);
    if (__builtin_expect(call->is_first, 0))
        gp_sample(call, call->device, GP_SAMPLE_CONTEXT);
    else if (gp_kind_is_device_memory(call->kind))
        gp_sample_growth(call, bytes);
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
    gp_sample(call, gp_call_device(call), GP_SAMPLE_REFUSED);
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

/* Also below a wrapped runtime function, which does not know that it destroys a context. */
void gp_ledger_reset(struct gp_call *call, int device, uint32_t context)
{
    struct gp_record record = {.type = GP_EV_RESET, .detail = context};

    if (call->thread == NULL || atomic_load(&gp_session.exiting) ||
        !gp_session_ready(call->thread, false))
        return;
    call->device = device;
    record.device_plus_1 = device_plus_1(call);
    if (record.device_plus_1 != 0)
        gp_event(call->thread, &record);
}

void gp_ledger_map(struct gp_call *call, uint64_t address, uint64_t bytes, const void *key)
{
    struct gp_record record = {.type = GP_EV_MAP, .key = address, .a = bytes, .b = (uintptr_t)key};

    if (gp_session_ready(call->thread, true))
        gp_event(call->thread, &record);
}

void gp_ledger_unmap(struct gp_call *call, uint64_t address)
{
    struct gp_record record = {.type = GP_EV_UNMAP, .key = address};

    if (gp_session_ready(call->thread, false))
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

/* A stream-ordered call that makes a node of a CUDA graph: the launches will allocate and free. */
static bool is_captured(const struct gp_call *call, gp_cuda_stream stream)
{
    return call->kind == GP_KIND_ASYNC && gp_stream_is_captured(stream, call->per_thread_stream);
}

void gp_allocation_done(struct gp_call *call, const void *address, uint64_t bytes,
                        gp_cuda_stream stream)
{
    if (call->recording)
        log_allocation(call, address, bytes, stream);
}

gp_cuda_error gp_allocation_end(struct gp_call *call, gp_cuda_error error, const void *address,
                                uint64_t bytes, gp_cuda_stream stream)
{
    if (call->limit_bytes_held > 0)
        gp_limit_settle(gp_call_device(call), call->limit_bytes_held,
                        error == GP_CUDA_SUCCESS ? address : NULL, bytes);
    if (call->recording) {
        if (error == GP_CUDA_SUCCESS && address != NULL && !is_captured(call, stream))
            log_allocation(call, address, bytes, stream);
        else if (error == GP_CUDA_ERROR_OUT_OF_MEMORY)
            log_refusal(call, error);
        else if (error != GP_CUDA_SUCCESS)
            gp_count(GP_COUNTER_failed_calls);
    }
    gp_call_end(call);
    return error;
}

gp_cuda_error gp_call_refused(struct gp_call *call)
{
    if (call->devices->remember_refusal != NULL)
        call->devices->remember_refusal(call);
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
    if (address == NULL || !call->recording || is_captured(call, stream))
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
