/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the CUDA runtime's allocation functions (cudart.def). Each passes its arguments on
 * unchanged and returns what the real function returned, the memory limit aside.
 */
#include "libgradprof/hooks/cudart_exports.h"

#include <string.h>

#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/ledger.h"
#include "libgradprof/hooks/pools.h"
#include "libgradprof/limit.h"

#define CALLER __builtin_return_address(0) /* in the wrapper itself: never from a helper */

#define ARRAY_LAYERED 1u /* cudaArrayLayered: the depth counts layers */
#define ARRAY_CUBEMAP 4u /* cudaArrayCubemap: the depth counts faces */

#define LOCATION_DEVICE 1                  /* cudaMemLocationTypeDevice */
#define IMPOSSIBLE_BYTES ((size_t)1 << 62) /* no device has it */

/* --- devices, as the runtime knows them -------------------------------------------------------------------- */

static int current_device(const struct gp_call *call)
{
    int device = -1;

    return call->runtime->cudaGetDevice(&device) == GP_CUDA_SUCCESS ? device : -1;
}

static enum gp_runtime describe_device(const struct gp_call *call, int device, char *ret_name,
                                       size_t name_bytes, uint64_t *ret_total_bytes)
{
    union {
        struct gp_cuda_device_prop prop;
        char bytes[GP_CUDA_DEVICE_PROP_BYTES];
    } properties;
    size_t length;

    memset(&properties, 0, sizeof(properties));
    if (call->runtime->cudaGetDeviceProperties(&properties.prop, device) == GP_CUDA_SUCCESS) {
        length = strnlen(properties.prop.name, sizeof(properties.prop.name));
        length = length < name_bytes ? length : name_bytes - 1;
        memcpy(ret_name, properties.prop.name, length);
        ret_name[length] = 0;
        *ret_total_bytes = properties.prop.total_bytes;
    }
    return call->runtime->kind;
}

/* NVIDIA's runtime would keep an error for the program to find: its driver is asked instead. */
static bool device_memory(const struct gp_call *call, size_t *ret_free_bytes,
                          size_t *ret_total_bytes)
{
    if (call->runtime->kind != GP_RUNTIME_HOSTCUDA)
        return gp_driver_devices.memory(call, ret_free_bytes, ret_total_bytes);
    return call->runtime->cudaMemGetInfo(ret_free_bytes, ret_total_bytes) == GP_CUDA_SUCCESS;
}

/* For cudaGetLastError: the runtime is asked for the impossible. */
static void remember_refusal(const struct gp_call *call)
{
    void *address = NULL;

    if (call->runtime->cudaMalloc(&address, IMPOSSIBLE_BYTES) == GP_CUDA_SUCCESS)
        call->runtime->cudaFree(address);
}

static const struct gp_devices devices = {.current = current_device,
                                          .describe = describe_device,
                                          .memory = device_memory,
                                          .remember_refusal = remember_refusal};

static void begin(struct gp_call *call, const char *api, const void *caller)
{
    gp_call_begin(call, api, &devices);
    call->runtime = gp_resolve(caller);
}

/* --- linear memory ------------------------------------------------------------------------------------- */

gp_cuda_error cudaMalloc(void **ret_address, size_t size_bytes)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMalloc", CALLER);
    gp_allocation_begin(&call, GP_KIND_DEVICE, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMalloc(ret_address, size_bytes);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, NULL);
}

gp_cuda_error cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width_bytes,
                              size_t height)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocPitch", CALLER);
    gp_allocation_begin(&call, GP_KIND_DEVICE, width_bytes * height, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocPitch(ret_address, ret_pitch, width_bytes, height);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address,
                             error ? 0 : *ret_pitch * height, NULL);
}

gp_cuda_error cudaMalloc3D(struct gp_cuda_pitched *ret_pitched, struct gp_cuda_extent extent)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMalloc3D", CALLER);
    gp_allocation_begin(&call, GP_KIND_DEVICE, extent.width * extent.height * extent.depth,
                        GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMalloc3D(ret_pitched, extent);
    return gp_allocation_end(&call, error, error ? NULL : ret_pitched->ptr,
                             error ? 0 : ret_pitched->pitch * extent.height * extent.depth, NULL);
}

gp_cuda_error cudaMallocManaged(void **ret_address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocManaged", CALLER);
    gp_allocation_begin(&call, GP_KIND_MANAGED, size_bytes, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaMallocManaged(ret_address, size_bytes, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, NULL);
}

gp_cuda_error cudaFree(void *address)
{
    struct gp_call call;

    begin(&call, "cudaFree", CALLER);
    gp_release_begin(&call, GP_KIND_DEVICE, address, NULL);
    return gp_release_end(&call, call.runtime->cudaFree(address));
}

/* --- arrays -------------------------------------------------------------------------------------------- */

/* What the elements need; the driver's padding is not known. */
static uint64_t array_bytes(const struct gp_cuda_channel_desc *desc, size_t width, size_t height,
                            size_t depth)
{
    uint64_t bits;

    if (desc == NULL)
        return 0;
    bits = (uint64_t)desc->x + (uint64_t)desc->y + (uint64_t)desc->z + (uint64_t)desc->w;
    return bits * width * (height ? height : 1) * (depth ? depth : 1) / 8;
}

static uint64_t mipmap_bytes(const struct gp_cuda_channel_desc *desc, struct gp_cuda_extent extent,
                             unsigned int levels, unsigned int flags)
{
    uint64_t bytes = 0;

    for (unsigned int level = 0; level < levels && level < 64; level++) {
        bytes += array_bytes(desc, extent.width, extent.height, extent.depth);
        extent.width = extent.width > 1 ? extent.width / 2 : extent.width;
        extent.height = extent.height > 1 ? extent.height / 2 : extent.height;
        if ((flags & (ARRAY_LAYERED | ARRAY_CUBEMAP)) == 0)
            extent.depth = extent.depth > 1 ? extent.depth / 2 : extent.depth;
    }
    return bytes;
}

gp_cuda_error cudaMallocArray(gp_cuda_array *ret_array, const struct gp_cuda_channel_desc *desc,
                              size_t width, size_t height, unsigned int flags)
{
    uint64_t bytes = array_bytes(desc, width, height, 0);
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocArray", CALLER);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocArray(ret_array, desc, width, height, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_array, bytes, NULL);
}

gp_cuda_error cudaMalloc3DArray(gp_cuda_array *ret_array, const struct gp_cuda_channel_desc *desc,
                                struct gp_cuda_extent extent, unsigned int flags)
{
    uint64_t bytes = array_bytes(desc, extent.width, extent.height, extent.depth);
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMalloc3DArray", CALLER);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMalloc3DArray(ret_array, desc, extent, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_array, bytes, NULL);
}

gp_cuda_error cudaMallocMipmappedArray(gp_cuda_mipmap *ret_mipmap,
                                       const struct gp_cuda_channel_desc *desc,
                                       struct gp_cuda_extent extent, unsigned int levels,
                                       unsigned int flags)
{
    uint64_t bytes = mipmap_bytes(desc, extent, levels, flags);
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocMipmappedArray", CALLER);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocMipmappedArray(ret_mipmap, desc, extent, levels, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_mipmap, bytes, NULL);
}

gp_cuda_error cudaFreeArray(gp_cuda_array array)
{
    struct gp_call call;

    begin(&call, "cudaFreeArray", CALLER);
    gp_release_begin(&call, GP_KIND_ARRAY, array, NULL);
    return gp_release_end(&call, call.runtime->cudaFreeArray(array));
}

gp_cuda_error cudaFreeMipmappedArray(gp_cuda_mipmap mipmap)
{
    struct gp_call call;

    begin(&call, "cudaFreeMipmappedArray", CALLER);
    gp_release_begin(&call, GP_KIND_ARRAY, mipmap, NULL);
    return gp_release_end(&call, call.runtime->cudaFreeMipmappedArray(mipmap));
}

/* --- stream-ordered memory ------------------------------------------------------------------------------ */

gp_cuda_error cudaMallocAsync(void **ret_address, size_t size_bytes, gp_cuda_stream stream)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocAsync", CALLER);
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocAsync(ret_address, size_bytes, stream);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, stream);
}

gp_cuda_error cudaMallocAsync_ptsz(void **ret_address, size_t size_bytes, gp_cuda_stream stream)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocAsync", CALLER);
    call.per_thread_stream = true;
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocAsync_ptsz(ret_address, size_bytes, stream);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, stream);
}

gp_cuda_error cudaMallocFromPoolAsync(void **ret_address, size_t size_bytes, gp_cuda_pool pool,
                                      gp_cuda_stream stream)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocFromPoolAsync", CALLER);
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, gp_pool_device(pool));
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocFromPoolAsync(ret_address, size_bytes, pool, stream);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, stream);
}

gp_cuda_error cudaMallocFromPoolAsync_ptsz(void **ret_address, size_t size_bytes, gp_cuda_pool pool,
                                           gp_cuda_stream stream)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocFromPoolAsync", CALLER);
    call.per_thread_stream = true;
    gp_allocation_begin(&call, GP_KIND_ASYNC, size_bytes, gp_pool_device(pool));
    if (call.refused)
        return gp_call_refused(&call);
    error = call.runtime->cudaMallocFromPoolAsync_ptsz(ret_address, size_bytes, pool, stream);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, stream);
}

gp_cuda_error cudaFreeAsync(void *address, gp_cuda_stream stream)
{
    struct gp_call call;

    begin(&call, "cudaFreeAsync", CALLER);
    gp_release_begin(&call, GP_KIND_ASYNC, address, stream);
    return gp_release_end(&call, call.runtime->cudaFreeAsync(address, stream));
}

gp_cuda_error cudaFreeAsync_ptsz(void *address, gp_cuda_stream stream)
{
    struct gp_call call;

    begin(&call, "cudaFreeAsync", CALLER);
    call.per_thread_stream = true;
    gp_release_begin(&call, GP_KIND_ASYNC, address, stream);
    return gp_release_end(&call, call.runtime->cudaFreeAsync_ptsz(address, stream));
}

gp_cuda_error cudaMemPoolCreate(gp_cuda_pool *ret_pool, const struct gp_cuda_pool_props *props)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMemPoolCreate", CALLER);
    error = call.runtime->cudaMemPoolCreate(ret_pool, props);
    if (error == GP_CUDA_SUCCESS) {
        gp_pool_created(&call, *ret_pool,
                        props->location_type == LOCATION_DEVICE ? props->location_id : -1,
                        props->max_size);
    }
    gp_call_end(&call);
    return error;
}

gp_cuda_error cudaMemPoolDestroy(gp_cuda_pool pool)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMemPoolDestroy", CALLER);
    gp_pool_destroyed(&call, pool);
    error = call.runtime->cudaMemPoolDestroy(pool);
    gp_call_end(&call);
    return error;
}

/* --- pinned host memory --------------------------------------------------------------------------------- */

gp_cuda_error cudaMallocHost(void **ret_address, size_t size_bytes)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMallocHost", CALLER);
    gp_allocation_begin(&call, GP_KIND_HOST, size_bytes, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaMallocHost(ret_address, size_bytes);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, NULL);
}

gp_cuda_error cudaHostAlloc(void **ret_address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaHostAlloc", CALLER);
    gp_allocation_begin(&call, GP_KIND_HOST, size_bytes, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaHostAlloc(ret_address, size_bytes, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, size_bytes, NULL);
}

gp_cuda_error cudaHostRegister(void *address, size_t size_bytes, unsigned int flags)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaHostRegister", CALLER);
    gp_allocation_begin(&call, GP_KIND_HOST_REGISTERED, size_bytes, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaHostRegister(address, size_bytes, flags);
    return gp_allocation_end(&call, error, address, size_bytes, NULL);
}

gp_cuda_error cudaFreeHost(void *address)
{
    struct gp_call call;

    begin(&call, "cudaFreeHost", CALLER);
    gp_release_begin(&call, GP_KIND_HOST, address, NULL);
    return gp_release_end(&call, call.runtime->cudaFreeHost(address));
}

gp_cuda_error cudaHostUnregister(void *address)
{
    struct gp_call call;

    begin(&call, "cudaHostUnregister", CALLER);
    gp_release_begin(&call, GP_KIND_HOST_REGISTERED, address, NULL);
    return gp_release_end(&call, call.runtime->cudaHostUnregister(address));
}

/* --- memory of others: it costs this process nothing, so it counts zero bytes ----------------------------- */

gp_cuda_error cudaIpcOpenMemHandle(void **ret_address, struct gp_cuda_ipc_handle handle,
                                   unsigned int flags)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaIpcOpenMemHandle", CALLER);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaIpcOpenMemHandle(ret_address, handle, flags);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, 0, NULL);
}

gp_cuda_error cudaIpcCloseMemHandle(void *address)
{
    struct gp_call call;

    begin(&call, "cudaIpcCloseMemHandle", CALLER);
    gp_release_begin(&call, GP_KIND_IMPORTED, address, NULL);
    return gp_release_end(&call, call.runtime->cudaIpcCloseMemHandle(address));
}

gp_cuda_error cudaExternalMemoryGetMappedBuffer(void **ret_address, gp_cuda_external memory,
                                                const struct gp_cuda_external_buffer *desc)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaExternalMemoryGetMappedBuffer", CALLER);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaExternalMemoryGetMappedBuffer(ret_address, memory, desc);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, 0, NULL);
}

gp_cuda_error cudaExternalMemoryGetMappedMipmappedArray(gp_cuda_mipmap *ret_mipmap,
                                                        gp_cuda_external memory,
                                                        const struct gp_cuda_external_mipmap *desc)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaExternalMemoryGetMappedMipmappedArray", CALLER);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaExternalMemoryGetMappedMipmappedArray(ret_mipmap, memory, desc);
    return gp_allocation_end(&call, error, error ? NULL : *ret_mipmap, 0, NULL);
}

gp_cuda_error cudaMemPoolImportPointer(void **ret_address, gp_cuda_pool pool,
                                       struct gp_cuda_pool_pointer *data)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMemPoolImportPointer", CALLER);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    error = call.runtime->cudaMemPoolImportPointer(ret_address, pool, data);
    return gp_allocation_end(&call, error, error ? NULL : *ret_address, 0, NULL);
}

/* --- devices --------------------------------------------------------------------------------------------- */

static gp_cuda_error reset(struct gp_call *call, gp_cuda_error (*real)(void))
{
    gp_cuda_error error;

    int device = call->recording ? gp_call_device(call) : -1;

    if (device >= 0)
        gp_ledger_reset(call, device, 0);
    error = real();
    if (error == GP_CUDA_SUCCESS && device >= 0)
        gp_limit_reset(device);
    gp_call_end(call);
    return error;
}

gp_cuda_error cudaDeviceReset(void)
{
    struct gp_call call;

    begin(&call, "cudaDeviceReset", CALLER);
    return reset(&call, call.runtime->cudaDeviceReset);
}

gp_cuda_error cudaThreadExit(void)
{
    struct gp_call call;

    begin(&call, "cudaThreadExit", CALLER);
    return reset(&call, call.runtime->cudaThreadExit);
}

gp_cuda_error cudaMemGetInfo(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
    struct gp_call call;
    gp_cuda_error error;

    begin(&call, "cudaMemGetInfo", CALLER);
    error = call.runtime->cudaMemGetInfo(ret_free_bytes, ret_total_bytes);
    if (error == GP_CUDA_SUCCESS && call.recording)
        gp_limit_show(gp_call_device(&call), ret_free_bytes, ret_total_bytes);
    gp_call_end(&call);
    return error;
}

static gp_cuda_error show_properties(struct gp_call *call, gp_cuda_error error,
                                     struct gp_cuda_device_prop *prop, int device)
{
    if (error == GP_CUDA_SUCCESS && call->recording)
        gp_limit_show(device, NULL, &prop->total_bytes);
    gp_call_end(call);
    return error;
}

gp_cuda_error cudaGetDeviceProperties(struct gp_cuda_device_prop *ret_prop, int device)
{
    struct gp_call call;

    begin(&call, "cudaGetDeviceProperties", CALLER);
    return show_properties(&call, call.runtime->cudaGetDeviceProperties(ret_prop, device), ret_prop,
                           device);
}

gp_cuda_error cudaGetDeviceProperties_v2(struct gp_cuda_device_prop *ret_prop, int device)
{
    struct gp_call call;

    begin(&call, "cudaGetDeviceProperties_v2", CALLER);
    return show_properties(&call, call.runtime->cudaGetDeviceProperties_v2(ret_prop, device),
                           ret_prop, device);
}
