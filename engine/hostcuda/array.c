/* SPDX-License-Identifier: MIT */
/* Arrays: opaque handles whose bytes count. The handle is the address of the memory behind it. */
#include <stdbool.h>
#include <stdint.h>

#include "engine/hostcuda/config.h"
#include "engine/hostcuda/memory.h"

static bool component_valid(int bits)
{
    return bits == 0 || bits == 8 || bits == 16 || bits == 32;
}

/* Bytes of one element; 0: no valid channel description. */
static size_t element_bytes(const struct cudaChannelFormatDesc *desc)
{
    if (!component_valid(desc->x) || !component_valid(desc->y) || !component_valid(desc->z) ||
        !component_valid(desc->w))
        return 0;
    return (size_t)(desc->x + desc->y + desc->z + desc->w) / 8;
}

/* A zero height or depth means an array of fewer dimensions. false: more than SIZE_MAX. */
static bool extent_bytes(struct cudaExtent extent, size_t element, size_t *ret_bytes)
{
    size_t height = extent.height ? extent.height : 1;
    size_t depth = extent.depth ? extent.depth : 1;
    size_t bytes;

    if (__builtin_mul_overflow(extent.width, height, &bytes) ||
        __builtin_mul_overflow(bytes, depth, &bytes) ||
        __builtin_mul_overflow(bytes, element, ret_bytes))
        return false;
    return true;
}

static size_t halved(size_t length)
{
    return length > 1 ? length / 2 : length;
}

static cudaError_t allocate_array(void **ret_handle, const struct cudaChannelFormatDesc *desc,
                                  struct cudaExtent extent, unsigned int levels, enum hc_kind kind)
{
    size_t total_bytes = 0;

    if (!desc || extent.width == 0 || levels == 0)
        return cudaErrorInvalidValue;
    size_t element = element_bytes(desc);
    if (element == 0)
        return cudaErrorInvalidChannelDescriptor;
    for (unsigned int i = 0; i < levels; i++) {
        size_t level_bytes;
        if (!extent_bytes(extent, element, &level_bytes) ||
            __builtin_add_overflow(total_bytes, level_bytes, &total_bytes))
            return cudaErrorMemoryAllocation;
        if (extent.width == 1 && extent.height <= 1 && extent.depth <= 1)
            break; /* the smallest level there can be */
        extent.width = halved(extent.width);
        extent.height = halved(extent.height);
        extent.depth = halved(extent.depth);
    }
    return hc_memory_allocate(ret_handle, total_bytes, kind, NULL);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                            size_t width, size_t height, unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);
    struct cudaExtent extent = {width, height, 0};

    (void)flags;
    return hc_return(status ? status
                            : allocate_array((void **)array, desc, extent, 1, HC_KIND_ARRAY));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                              struct cudaExtent extent, unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);

    (void)flags;
    return hc_return(status ? status
                            : allocate_array((void **)array, desc, extent, 1, HC_KIND_ARRAY));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_free(array, HC_KIND_ARRAY));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmapped,
                                     const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int levels,
                                     unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);

    (void)flags;
    return hc_return(
        status ? status
               : allocate_array((void **)mipmapped, desc, extent, levels, HC_KIND_MIPMAPPED));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmapped)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_free(mipmapped, HC_KIND_MIPMAPPED));
}
