/* SPDX-License-Identifier: MIT */
/* Wrappers of the driver's arrays, and of memory that belongs to others. */
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/driver_exports.h"

/* --- sizes: what the elements need; the driver's padding is not known ------------------------------------ */

static unsigned bits_of(gp_cu_enum format)
{
    switch (format) {
    case 0x01: /* CU_AD_FORMAT_UNSIGNED_INT8 */
    case 0x08: /* signed */
        return 8;
    case 0x02: /* ..._INT16 */
    case 0x09:
    case 0x10: /* CU_AD_FORMAT_HALF */
        return 16;
    case 0x03: /* ..._INT32 */
    case 0x0a:
    case 0x20: /* CU_AD_FORMAT_FLOAT */
        return 32;
    default: /* 0xc0 to 0xcb: normalised integers, three of 8 and three of 16 bits, twice. The rest are
                planar and compressed formats: about a byte an element. */
        return format >= 0xc0 && format <= 0xcb && (format - 0xc0) % 6 >= 3 ? 16 : 8;
    }
}

static uint64_t or_one(uint64_t count)
{
    return count == 0 ? 1 : count;
}

static uint64_t level_bytes(const struct gp_cu_array3d_desc *desc)
{
    return (uint64_t)bits_of(desc->format) / 8 * or_one(desc->channels) * desc->width *
           or_one(desc->height) * or_one(desc->depth);
}

static uint64_t mipmap_bytes(struct gp_cu_array3d_desc desc, unsigned int levels)
{
    bool layered = desc.flags & (GP_CU_ARRAY_LAYERED | GP_CU_ARRAY_CUBEMAP);
    uint64_t bytes = 0;

    for (unsigned level = 0; level < levels && level < 64; level++) {
        bytes += level_bytes(&desc);
        desc.width = desc.width > 1 ? desc.width / 2 : desc.width;
        desc.height = desc.height > 1 ? desc.height / 2 : desc.height;
        if (!layered && desc.depth > 1)
            desc.depth /= 2;
    }
    return bytes;
}

/* Sparse and deferred arrays get their memory by being mapped. */
static bool has_memory(const struct gp_cu_array3d_desc *desc)
{
    return (desc->flags & (GP_CU_ARRAY_SPARSE | GP_CU_ARRAY_DEFERRED)) == 0;
}

/* --- arrays -------------------------------------------------------------------------------------------------- */

gp_cu_result cuArrayCreate_v2(gp_cu_array *ret_array, const struct gp_cu_array_desc *desc)
{
    struct gp_call call;
    gp_cu_result result;
    uint64_t bytes = desc == NULL ? 0
                                  : (uint64_t)bits_of(desc->format) / 8 * or_one(desc->channels) *
                                        desc->width * or_one(desc->height);

    gp_call_begin(&call, "cuArrayCreate", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuArrayCreate_v2()(ret_array, desc);
    return gp_allocation_end(&call, result, result ? NULL : *ret_array, bytes, NULL);
}

gp_cu_result cuArray3DCreate_v2(gp_cu_array *ret_array, const struct gp_cu_array3d_desc *desc)
{
    struct gp_call call;
    gp_cu_result result;
    uint64_t bytes = desc != NULL && has_memory(desc) ? level_bytes(desc) : 0;

    gp_call_begin(&call, "cuArray3DCreate", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuArray3DCreate_v2()(ret_array, desc);
    return gp_allocation_end(&call, result, result ? NULL : *ret_array, bytes, NULL);
}

gp_cu_result cuMipmappedArrayCreate(gp_cu_mipmap *ret_mipmap, const struct gp_cu_array3d_desc *desc,
                                    unsigned int levels)
{
    struct gp_call call;
    gp_cu_result result;
    uint64_t bytes = desc != NULL && has_memory(desc) ? mipmap_bytes(*desc, levels) : 0;

    gp_call_begin(&call, "cuMipmappedArrayCreate", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_ARRAY, bytes, GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    result = gp_real_cuMipmappedArrayCreate()(ret_mipmap, desc, levels);
    return gp_allocation_end(&call, result, result ? NULL : *ret_mipmap, bytes, NULL);
}

gp_cu_result cuArrayDestroy(gp_cu_array array)
{
    struct gp_call call;

    gp_call_begin(&call, "cuArrayDestroy", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_ARRAY, array, NULL);
    return gp_release_end(&call, gp_real_cuArrayDestroy()(array));
}

gp_cu_result cuMipmappedArrayDestroy(gp_cu_mipmap mipmap)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMipmappedArrayDestroy", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_ARRAY, mipmap, NULL);
    return gp_release_end(&call, gp_real_cuMipmappedArrayDestroy()(mipmap));
}

/* --- memory of others: it costs this process nothing, so it counts zero bytes ------------------------------ */

static gp_cu_result end_import(struct gp_call *call, gp_cu_result result,
                               const gp_cu_pointer *address)
{
    const void *start = result ? NULL : (const void *)(uintptr_t)*address;

    return gp_allocation_end(call, result, start, 0, NULL);
}

gp_cu_result cuIpcOpenMemHandle_v2(gp_cu_pointer *ret_address, struct gp_cu_ipc_handle handle,
                                   unsigned int flags)
{
    struct gp_call call;

    gp_call_begin(&call, "cuIpcOpenMemHandle", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    return end_import(&call, gp_real_cuIpcOpenMemHandle_v2()(ret_address, handle, flags),
                      ret_address);
}

gp_cu_result cuIpcCloseMemHandle(gp_cu_pointer address)
{
    struct gp_call call;

    gp_call_begin(&call, "cuIpcCloseMemHandle", &gp_driver_devices);
    gp_release_begin(&call, GP_KIND_IMPORTED, (const void *)(uintptr_t)address, NULL);
    return gp_release_end(&call, gp_real_cuIpcCloseMemHandle()(address));
}

gp_cu_result cuExternalMemoryGetMappedBuffer(gp_cu_pointer *ret_address, gp_cu_external memory,
                                             const struct gp_cu_external_buffer *desc)
{
    struct gp_call call;

    gp_call_begin(&call, "cuExternalMemoryGetMappedBuffer", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    return end_import(&call, gp_real_cuExternalMemoryGetMappedBuffer()(ret_address, memory, desc),
                      ret_address);
}

gp_cu_result cuExternalMemoryGetMappedMipmappedArray(gp_cu_mipmap *ret_mipmap,
                                                     gp_cu_external memory,
                                                     const struct gp_cu_external_mipmap *desc)
{
    struct gp_call call;
    gp_cu_result result;

    gp_call_begin(&call, "cuExternalMemoryGetMappedMipmappedArray", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    result = gp_real_cuExternalMemoryGetMappedMipmappedArray()(ret_mipmap, memory, desc);
    return gp_allocation_end(&call, result, result ? NULL : *ret_mipmap, 0, NULL);
}

gp_cu_result cuMemPoolImportPointer(gp_cu_pointer *ret_address, gp_cu_pool pool,
                                    struct gp_cu_pool_pointer *data)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemPoolImportPointer", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    return end_import(&call, gp_real_cuMemPoolImportPointer()(ret_address, pool, data),
                      ret_address);
}
