/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the driver's plain and stream-ordered memory. Each passes its arguments on unchanged and
 * returns what the real function returned, the memory limit aside.
 */
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/driver_exports.h"
#include "libgradprof/hooks/pools.h"
#include "libgradprof/hooks/sample.h"
#include "libgradprof/limit.h"

static const void *pointer(gp_cu_pointer address)
{
    return (const void *)(uintptr_t)address;
}

static gp_cu_result end(struct gp_call *call, gp_cu_result result, const gp_cu_pointer *address,
                        uint64_t bytes, gp_cu_stream stream)
{
    return gp_allocation_end(call, result, result ? NULL : pointer(*address), bytes, stream);
}

/* --- linear memory ------------------------------------------------------------------------------------- */

gp_cu_result cuMemAlloc_v2(gp_cu_pointer *ret_address, size_t size_bytes)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAlloc", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_DEVICE, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMemAlloc_v2()(ret_address, size_bytes);
    return end(&call, result, ret_address, size_bytes, NULL);
}

gp_cu_result cuMemAllocPitch_v2(gp_cu_pointer *ret_address, size_t *ret_pitch, size_t width_bytes,
                                size_t height, unsigned int element_bytes)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocPitch", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_DEVICE, width_bytes * height, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result =
        gp_real_cuMemAllocPitch_v2()(ret_address, ret_pitch, width_bytes, height, element_bytes);
    return end(&call, result, ret_address, result ? 0 : *ret_pitch * height, NULL);
}

gp_cu_result cuMemAllocManaged(gp_cu_pointer *ret_address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocManaged", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_MANAGED, size_bytes, GP_DEVICE_UNKNOWN);
    result = gp_real_cuMemAllocManaged()(ret_address, size_bytes, flags);
    return end(&call, result, ret_address, size_bytes, NULL);
}

gp_cu_result cuMemFree_v2(gp_cu_pointer address)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemFree", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_DEVICE, pointer(address), NULL);
    return gp_release_end(&call, gp_real_cuMemFree_v2()(address));
}

/* --- stream-ordered memory ------------------------------------------------------------------------------ */

/* While the stream is captured nothing is allocated: the graph's launches do that (driver_graph.c). */

gp_cu_result cuMemAllocAsync(gp_cu_pointer *ret_address, size_t size_bytes, gp_cu_stream stream)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocAsync", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMemAllocAsync()(ret_address, size_bytes, stream);
    return end(&call, result, ret_address, size_bytes, stream);
}

gp_cu_result cuMemAllocAsync_ptsz(gp_cu_pointer *ret_address, size_t size_bytes,
                                  gp_cu_stream stream)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocAsync", &gp_driver_devices);
    call.per_thread_stream = true;
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMemAllocAsync_ptsz()(ret_address, size_bytes, stream);
    return end(&call, result, ret_address, size_bytes, stream);
}

gp_cu_result cuMemAllocFromPoolAsync(gp_cu_pointer *ret_address, size_t size_bytes, gp_cu_pool pool,
                                     gp_cu_stream stream)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocFromPoolAsync", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, gp_pool_device(pool));
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMemAllocFromPoolAsync()(ret_address, size_bytes, pool, stream);
    return end(&call, result, ret_address, size_bytes, stream);
}

gp_cu_result cuMemAllocFromPoolAsync_ptsz(gp_cu_pointer *ret_address, size_t size_bytes,
                                          gp_cu_pool pool, gp_cu_stream stream)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocFromPoolAsync", &gp_driver_devices);
    call.per_thread_stream = true;
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, gp_pool_device(pool));
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMemAllocFromPoolAsync_ptsz()(ret_address, size_bytes, pool, stream);
    return end(&call, result, ret_address, size_bytes, stream);
}

gp_cu_result cuMemFreeAsync(gp_cu_pointer address, gp_cu_stream stream)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemFreeAsync", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_ASYNC, pointer(address), stream);
    return gp_release_end(&call, gp_real_cuMemFreeAsync()(address, stream));
}

gp_cu_result cuMemFreeAsync_ptsz(gp_cu_pointer address, gp_cu_stream stream)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemFreeAsync", &gp_driver_devices);
    call.per_thread_stream = true;
    gp_release_begin(&call, GP_KIND_ASYNC, pointer(address), stream);
    return gp_release_end(&call, gp_real_cuMemFreeAsync_ptsz()(address, stream));
}

gp_cu_result cuMemPoolCreate(gp_cu_pool *ret_pool, const struct gp_cu_pool_props *props)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemPoolCreate", &gp_driver_devices);
    result = gp_real_cuMemPoolCreate()(ret_pool, props);
    if (result == GP_CU_SUCCESS)
        gp_pool_created(&call, *ret_pool,
                        props->location_type == GP_CU_LOCATION_DEVICE ? props->location_id : -1,
                        props->max_size);
    gp_call_end(&call);
    return result;
}

gp_cu_result cuMemPoolDestroy(gp_cu_pool pool)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemPoolDestroy", &gp_driver_devices);
    gp_pool_destroyed(&call, pool);
    result = gp_real_cuMemPoolDestroy()(pool);
    gp_call_end(&call);
    return result;
}

gp_cu_result cuMemPoolTrimTo(gp_cu_pool pool, size_t keep_bytes)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemPoolTrimTo", &gp_driver_devices);
    result = gp_real_cuMemPoolTrimTo()(pool, keep_bytes);
    gp_sample_trim(&call, gp_pool_device(pool));
    gp_call_end(&call);
    return result;
}

/* --- pinned host memory ----------------------------------------------------------------------------------- */

gp_cu_result cuMemAllocHost_v2(void **ret_address, size_t size_bytes)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemAllocHost", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_HOST, size_bytes, GP_DEVICE_UNKNOWN);
    result = gp_real_cuMemAllocHost_v2()(ret_address, size_bytes);
    return gp_allocation_end(&call, result, result ? NULL : *ret_address, size_bytes, NULL);
}

gp_cu_result cuMemHostAlloc(void **ret_address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemHostAlloc", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_HOST, size_bytes, GP_DEVICE_UNKNOWN);
    result = gp_real_cuMemHostAlloc()(ret_address, size_bytes, flags);
    return gp_allocation_end(&call, result, result ? NULL : *ret_address, size_bytes, NULL);
}

gp_cu_result cuMemFreeHost(void *address)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemFreeHost", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_HOST, address, NULL);
    return gp_release_end(&call, gp_real_cuMemFreeHost()(address));
}

gp_cu_result cuMemHostRegister_v2(void *address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemHostRegister", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_HOST_REGISTERED, size_bytes, GP_DEVICE_UNKNOWN);
    result = gp_real_cuMemHostRegister_v2()(address, size_bytes, flags);
    return gp_allocation_end(&call, result, address, size_bytes, NULL);
}

gp_cu_result cuMemHostUnregister(void *address)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemHostUnregister", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_HOST_REGISTERED, address, NULL);
    return gp_release_end(&call, gp_real_cuMemHostUnregister()(address));
}

/* --- devices ------------------------------------------------------------------------------------------------ */

gp_cu_result cuMemGetInfo_v2(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemGetInfo", &gp_driver_devices);
    result = gp_real_cuMemGetInfo_v2()(ret_free_bytes, ret_total_bytes);
    if (result == GP_CU_SUCCESS && call.recording)
        gp_limit_show(gp_call_device(&call), ret_free_bytes, ret_total_bytes);
    gp_call_end(&call);
    return result;
}

gp_cu_result cuDeviceTotalMem_v2(size_t *ret_total_bytes, gp_cu_device device)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuDeviceTotalMem", &gp_driver_devices);
    result = gp_real_cuDeviceTotalMem_v2()(ret_total_bytes, device);
    if (result == GP_CU_SUCCESS && call.recording)
        gp_limit_show(device, NULL, ret_total_bytes);
    gp_call_end(&call);
    return result;
}
