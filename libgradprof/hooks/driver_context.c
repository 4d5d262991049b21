/* SPDX-License-Identifier: MIT */
/* Wrappers of the driver's contexts, and the numbers of contexts. */
#include <pthread.h>

#include "libgradprof/hooks/contexts.h"
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/driver_exports.h"
#include "libgradprof/hooks/sample.h"
#include "libgradprof/limit.h"

struct context {
    gp_cu_context handle; /* NULL: destroyed */
    gp_cu_device device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held for a few loads and stores only */
static struct context contexts[GP_CONTEXTS_MAX + 1];     /* by number */
static _Atomic uint32_t made;                            /* contexts ever made by the program */

/* --- numbers ------------------------------------------------------------------------------------------- */

static uint32_t number_of(gp_cu_context handle)
{
    uint32_t last = atomic_load(&made) + GP_CONTEXT_PRIMARY, number = GP_CONTEXT_PRIMARY;

    last = last < GP_CONTEXTS_MAX ? last : GP_CONTEXTS_MAX;
    pthread_mutex_lock(&lock);
    for (uint32_t i = GP_CONTEXT_PRIMARY + 1; i <= last; i++)
        if (contexts[i].handle == handle)
            number = i;
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t gp_context_current(void)
{
    gp_cu_context handle = NULL;

    if (__builtin_expect(atomic_load_explicit(&made, memory_order_relaxed) == 0, 1))
        return 0;
    if (gp_real_cuCtxGetCurrent()(&handle) != GP_CU_SUCCESS)
        return 0;
    return number_of(handle);
}

void gp_contexts_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
}

static gp_cu_result created(struct gp_call *call, gp_cu_result result, const gp_cu_context *context,
                            gp_cu_device device)
{
    uint32_t number;

    if (result == GP_CU_SUCCESS) {
        pthread_mutex_lock(&lock);
        number = atomic_fetch_add(&made, 1) + GP_CONTEXT_PRIMARY + 1;
        if (number <= GP_CONTEXTS_MAX)
            contexts[number] = (struct context){*context, device};
        pthread_mutex_unlock(&lock);
        gp_sample(call, device, GP_SAMPLE_CONTEXT);
    }
    gp_call_end(call);
    return result;
}

/* Its number and device; 0 for one that is not ours to know. */
static uint32_t forget(gp_cu_context handle, gp_cu_device *ret_device)
{
    uint32_t number = number_of(handle);

    if (number == GP_CONTEXT_PRIMARY)
        return 0;
    pthread_mutex_lock(&lock);
    *ret_device = contexts[number].device;
    contexts[number].handle = NULL;
    pthread_mutex_unlock(&lock);
    return number;
}

/* --- contexts of the program ---------------------------------------------------------------------------- */

gp_cu_result cuCtxCreate_v2(gp_cu_context *ret_context, unsigned int flags, gp_cu_device device)
{
    struct gp_call call;

    gp_call_begin(&call, "cuCtxCreate", &gp_driver_devices);
    return created(&call, gp_real_cuCtxCreate_v2()(ret_context, flags, device), ret_context,
                   device);
}

gp_cu_result cuCtxCreate_v3(gp_cu_context *ret_context, void *affinity, int affinity_count,
                            unsigned int flags, gp_cu_device device)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuCtxCreate", &gp_driver_devices);
    result = gp_real_cuCtxCreate_v3()(ret_context, affinity, affinity_count, flags, device);
    return created(&call, result, ret_context, device);
}

gp_cu_result cuCtxCreate_v4(gp_cu_context *ret_context, void *params, unsigned int flags,
                            gp_cu_device device)
{
    struct gp_call call;

    gp_call_begin(&call, "cuCtxCreate", &gp_driver_devices);
    return created(&call, gp_real_cuCtxCreate_v4()(ret_context, params, flags, device), ret_context,
                   device);
}

gp_cu_result cuCtxDestroy_v2(gp_cu_context context)
{
    gp_cu_device device = -1;
    struct gp_call call;
    gp_cu_result result;
    uint32_t number;

    gp_call_begin(&call, "cuCtxDestroy", &gp_driver_devices);
    number = forget(context, &device);
    if (number != 0)
        gp_ledger_reset(&call, device, number);
    result = gp_real_cuCtxDestroy_v2()(context);
    gp_call_end(&call);
    return result;
}

/* --- the primary context: one for each device, counted references ------------------------------------------ */

static bool is_active(gp_cu_device device)
{
    unsigned int flags;
    int active = 1; /* when it cannot be told */

    gp_real_cuDevicePrimaryCtxGetState()(device, &flags, &active);
    return active != 0;
}

gp_cu_result cuDevicePrimaryCtxRetain(gp_cu_context *ret_context, gp_cu_device device)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuDevicePrimaryCtxRetain", &gp_driver_devices);
    result = gp_real_cuDevicePrimaryCtxRetain()(ret_context, device);
    gp_call_end(&call);
    return result;
}

/* Whether it was the last reference is known afterwards only; whoever makes the context again on another
 * thread in between loses to the order of these two events. */
gp_cu_result cuDevicePrimaryCtxRelease_v2(gp_cu_device device)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuDevicePrimaryCtxRelease", &gp_driver_devices);
    result = gp_real_cuDevicePrimaryCtxRelease_v2()(device);
    if (result == GP_CU_SUCCESS && !is_active(device))
        gp_ledger_reset(&call, device, GP_CONTEXT_PRIMARY);
    gp_call_end(&call);
    return result;
}

gp_cu_result cuDevicePrimaryCtxReset_v2(gp_cu_device device)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuDevicePrimaryCtxReset", &gp_driver_devices);
    if (call.recording) /* not below cudaDeviceReset, which has told it */
        gp_ledger_reset(&call, device, GP_CONTEXT_PRIMARY);
    result = gp_real_cuDevicePrimaryCtxReset_v2()(device);
    gp_call_end(&call);
    return result;
}
