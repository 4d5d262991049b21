/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hostcuda/config.h"
#include "engine/hostcuda/device.h"

#define POOL_MAGIC 0x6c6f6f70u /* "pool" */

/* used_bytes <= used_high_bytes; references = 1 while not destroyed + live allocations. */
struct CUmemPoolHandle_st {
    atomic_uint magic;
    int device;
    bool is_default;
    size_t max_bytes; /* 0: no cap but the device's */
    atomic_size_t used_bytes;
    atomic_size_t used_high_bytes;
    atomic_size_t reserved_high_bytes;
    atomic_size_t references;
    _Atomic uint64_t release_threshold;
    atomic_int reuse[3]; /* the three cudaMemPoolReuse... switches: remembered, without effect */
};

static struct CUmemPoolHandle_st default_pools[HC_MAX_DEVICES];
static _Atomic(cudaMemPool_t) current_pools[HC_MAX_DEVICES];
static pthread_once_t pools_once = PTHREAD_ONCE_INIT;

static void init_pool(cudaMemPool_t pool, int device, size_t max_bytes)
{
    pool->device = device;
    pool->max_bytes = max_bytes;
    atomic_init(&pool->references, 1);
    for (int i = 0; i < 3; i++)
        atomic_init(&pool->reuse[i], 1);
    atomic_init(&pool->magic, POOL_MAGIC);
}

static void init_default_pools(void)
{
    for (int i = 0; i < HC_MAX_DEVICES; i++) {
        init_pool(&default_pools[i], i, 0);
        default_pools[i].is_default = true;
        atomic_init(&current_pools[i], &default_pools[i]);
    }
}

bool hc_pool_valid(cudaMemPool_t pool)
{
    return pool && atomic_load(&pool->magic) == POOL_MAGIC;
}

int hc_pool_device(cudaMemPool_t pool)
{
    return pool->device;
}

cudaMemPool_t hc_pool_current(int device)
{
    pthread_once(&pools_once, init_default_pools);
    return atomic_load(&current_pools[device]);
}

static void raise_to(atomic_size_t *high, size_t value)
{
    size_t seen = atomic_load(high);

    while (seen < value && !atomic_compare_exchange_weak(high, &seen, value))
        continue;
}

static void drop_reference(cudaMemPool_t pool)
{
    if (atomic_fetch_sub(&pool->references, 1) == 1)
        free(pool);
}

bool hc_pool_charge(cudaMemPool_t pool, size_t size_bytes)
{
    size_t used = atomic_load(&pool->used_bytes);
    size_t cap = pool->max_bytes ? pool->max_bytes : SIZE_MAX;

    do {
        if (size_bytes > cap - used)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->used_bytes, &used, used + size_bytes));
    atomic_fetch_add(&pool->references, 1);
    raise_to(&pool->used_high_bytes, used + size_bytes);
    raise_to(&pool->reserved_high_bytes, used + size_bytes);
    return true;
}

void hc_pool_release(cudaMemPool_t pool, size_t size_bytes)
{
    atomic_fetch_sub(&pool->used_bytes, size_bytes);
    drop_reference(pool);
}

static cudaError_t create(cudaMemPool_t *ret_pool, const struct cudaMemPoolProps *props)
{
    if (!ret_pool || !props || props->allocType != cudaMemAllocationTypePinned ||
        props->handleTypes != cudaMemHandleTypeNone ||
        props->location.type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
    if (!hc_device_valid(props->location.id))
        return cudaErrorInvalidDevice;
    cudaMemPool_t pool = calloc(1, sizeof(*pool));
    if (!pool)
        return cudaErrorMemoryAllocation;
    init_pool(pool, props->location.id, props->maxSize);
    *ret_pool = pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : create(pool, props));
}

static cudaError_t destroy(cudaMemPool_t pool)
{
    if (!hc_pool_valid(pool) || pool->is_default)
        return cudaErrorInvalidValue;
    cudaMemPool_t expected = pool;
    atomic_compare_exchange_strong(&current_pools[pool->device], &expected,
                                   &default_pools[pool->device]);
    atomic_store(&pool->magic, 0);
    drop_reference(pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : destroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t min_bytes_to_keep)
{
    cudaError_t status = hc_enter(__func__);

    /* Nothing is ever held back, so any request is already met. */
    (void)min_bytes_to_keep;
    if (!status && !hc_pool_valid(pool))
        status = cudaErrorInvalidValue;
    return hc_return(status);
}

/* A high-water mark can only be reset: to zero, which means "to what is used now". */
static cudaError_t reset_high(cudaMemPool_t pool, atomic_size_t *high, const uint64_t *value)
{
    if (*value != 0)
        return cudaErrorInvalidValue;
    atomic_store(high, atomic_load(&pool->used_bytes));
    return cudaSuccess;
}

static cudaError_t set_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, const void *value)
{
    if (!hc_pool_valid(pool) || !value)
        return cudaErrorInvalidValue;
    switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        atomic_store(&pool->reuse[attr - cudaMemPoolReuseFollowEventDependencies],
                     *(const int *)value);
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        atomic_store(&pool->release_threshold, *(const uint64_t *)value);
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
        return reset_high(pool, &pool->reserved_high_bytes, value);
    case cudaMemPoolAttrUsedMemHigh:
        return reset_high(pool, &pool->used_high_bytes, value);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : set_attribute(pool, attr, value));
}

static cudaError_t get_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *ret_value)
{
    if (!hc_pool_valid(pool) || !ret_value)
        return cudaErrorInvalidValue;
    switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *(int *)ret_value =
            atomic_load(&pool->reuse[attr - cudaMemPoolReuseFollowEventDependencies]);
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        *(uint64_t *)ret_value = atomic_load(&pool->release_threshold);
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
        *(uint64_t *)ret_value = atomic_load(&pool->used_bytes);
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
        *(uint64_t *)ret_value = atomic_load(&pool->reserved_high_bytes);
        return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
        *(uint64_t *)ret_value = atomic_load(&pool->used_high_bytes);
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : get_attribute(pool, attr, value));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!pool)
        return hc_return(cudaErrorInvalidValue);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    pthread_once(&pools_once, init_default_pools);
    *pool = &default_pools[device];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!pool)
        return hc_return(cudaErrorInvalidValue);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    *pool = hc_pool_current(device);
    return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    if (!hc_pool_valid(pool) || pool->device != device)
        return hc_return(cudaErrorInvalidValue);
    pthread_once(&pools_once, init_default_pools);
    atomic_store(&current_pools[device], pool);
    return cudaSuccess;
}
