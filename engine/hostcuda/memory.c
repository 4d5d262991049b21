/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/memory.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/hostcuda/config.h"
#include "engine/hostcuda/device.h"
#include "engine/hostcuda/pool.h"

#define PITCH_BYTES HC_ALIGNMENT

static bool charge(int device, cudaMemPool_t pool, size_t size_bytes)
{
    if (pool && !hc_pool_charge(pool, size_bytes))
        return false;
    if (hc_device_charge(device, size_bytes))
        return true;
    if (pool)
        hc_pool_release(pool, size_bytes);
    return false;
}

static void uncharge(int device, cudaMemPool_t pool, size_t size_bytes)
{
    hc_device_release(device, size_bytes);
    if (pool)
        hc_pool_release(pool, size_bytes);
}

/* A live block that is charged by its owner, or NULL. */
static struct hc_block *new_block(size_t size_bytes, enum hc_kind kind, int device,
                                  cudaMemPool_t pool)
{
    struct hc_block *block = hc_heap_allocate(size_bytes);

    if (!block)
        return NULL;
    block->kind = (uint8_t)kind;
    block->device = (uint8_t)device;
    block->pool = pool;
    if (hc_table_insert(block)) {
        hc_heap_release(block);
        return NULL;
    }
    return block;
}

cudaError_t hc_memory_allocate(void **ret_address, size_t size_bytes, enum hc_kind kind,
                               cudaMemPool_t pool)
{
    int device = pool ? hc_pool_device(pool) : hc_device_current();
    bool charged = (kind & HC_KINDS_ON_DEVICE) != 0;

    if (!ret_address)
        return cudaErrorInvalidValue;
    if (size_bytes == 0) {
        *ret_address = NULL;
        return cudaSuccess;
    }
    if (charged && !charge(device, pool, size_bytes))
        return cudaErrorMemoryAllocation;
    struct hc_block *block = new_block(size_bytes, kind, device, pool);
    if (!block) {
        if (charged)
            uncharge(device, pool, size_bytes);
        return cudaErrorMemoryAllocation;
    }
    *ret_address = block->address;
    hc_latency();
    return cudaSuccess;
}

/* Of a block that is in the table no more. The memory goes back before the charge: who is told that
 * there is room finds it. */
static void give_back(struct hc_block *block)
{
    const struct hc_block copy = *block;

    hc_heap_release(block);
    if (copy.kind & HC_KINDS_ON_DEVICE)
        uncharge(copy.device, copy.pool, copy.size_bytes);
}

cudaError_t hc_memory_free(void *address, unsigned kinds)
{
    if (!address)
        return cudaSuccess;
    struct hc_block *block = hc_table_take(address, kinds);
    if (!block)
        return cudaErrorInvalidValue;
    give_back(block);
    hc_latency();
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    struct hc_block *block = hc_table_take_device(hc_device_current());
    while (block) {
        struct hc_block *next = block->next;
        give_back(block);
        block = next;
    }
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **ptr, size_t size)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_allocate(ptr, size, HC_KIND_DEVICE, NULL));
}

cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);

    if (!status && (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)))
        status = cudaErrorInvalidValue;
    return hc_return(status ? status : hc_memory_allocate(ptr, size, HC_KIND_MANAGED, NULL));
}

/* rows * pitch bytes, where a row of `width` bytes is padded to PITCH_BYTES. */
static cudaError_t allocate_pitched(void **ret_address, size_t *ret_pitch, size_t width,
                                    size_t rows)
{
    size_t pitch, size_bytes;

    if (__builtin_add_overflow(width, PITCH_BYTES - 1, &pitch))
        return cudaErrorMemoryAllocation;
    pitch -= pitch % PITCH_BYTES;
    if (__builtin_mul_overflow(pitch, rows, &size_bytes))
        return cudaErrorMemoryAllocation;
    cudaError_t status = hc_memory_allocate(ret_address, size_bytes, HC_KIND_DEVICE, NULL);
    if (!status)
        *ret_pitch = pitch;
    return status;
}

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    cudaError_t status = hc_enter(__func__);

    if (!status && !pitch)
        status = cudaErrorInvalidValue;
    return hc_return(status ? status : allocate_pitched(ptr, pitch, width, height));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    cudaError_t status = hc_enter(__func__);
    size_t rows;

    if (!status && !pitched)
        status = cudaErrorInvalidValue;
    if (!status && __builtin_mul_overflow(extent.height, extent.depth, &rows))
        status = cudaErrorMemoryAllocation;
    if (!status)
        status = allocate_pitched(&pitched->ptr, &pitched->pitch, extent.width, rows);
    if (!status) {
        pitched->xsize = extent.width;
        pitched->ysize = extent.height;
    }
    return hc_return(status);
}

cudaError_t cudaFree(void *ptr)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_free(ptr, HC_KIND_DEVICE | HC_KIND_MANAGED));
}

static cudaError_t allocate_async(const char *function, void **ptr, size_t size, cudaMemPool_t pool)
{
    cudaError_t status = hc_enter(function);

    if (!status && !hc_pool_valid(pool))
        status = cudaErrorInvalidValue;
    return hc_return(status ? status : hc_memory_allocate(ptr, size, HC_KIND_DEVICE, pool));
}

cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaStream_t stream)
{
    (void)stream;
    return allocate_async(__func__, ptr, size, hc_pool_current(hc_device_current()));
}

cudaError_t cudaMallocAsync_ptsz(void **ptr, size_t size, cudaStream_t stream)
{
    (void)stream;
    return allocate_async(__func__, ptr, size, hc_pool_current(hc_device_current()));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    (void)stream;
    return allocate_async(__func__, ptr, size, pool);
}

cudaError_t cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, cudaMemPool_t pool,
                                         cudaStream_t stream)
{
    (void)stream;
    return allocate_async(__func__, ptr, size, pool);
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    cudaError_t status = hc_enter(__func__);

    (void)stream;
    return hc_return(status ? status : hc_memory_free(ptr, HC_KIND_DEVICE));
}

cudaError_t cudaFreeAsync_ptsz(void *ptr, cudaStream_t stream)
{
    cudaError_t status = hc_enter(__func__);

    (void)stream;
    return hc_return(status ? status : hc_memory_free(ptr, HC_KIND_DEVICE));
}
