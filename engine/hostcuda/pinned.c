/* SPDX-License-Identifier: MIT */
/* Page-locked host memory. Nothing is locked here; it is counted by no device. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/hostcuda/config.h"
#include "engine/hostcuda/memory.h"

#define HOST_ALLOC_FLAGS 0x7u    /* portable, mapped, write-combined */
#define HOST_REGISTER_FLAGS 0xfu /* portable, mapped, IO memory, read-only */

/* Registered ranges never overlap. */
struct range {
    struct range *next;
    uintptr_t begin, end;
};

static struct range *ranges;
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_ranges(void)
{
    pthread_mutex_lock(&ranges_lock);
}

static void unlock_ranges(void)
{
    pthread_mutex_unlock(&ranges_lock);
}

static void register_fork_handlers(void)
{
    pthread_atfork(lock_ranges, unlock_ranges, unlock_ranges);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_allocate(ptr, size, HC_KIND_PINNED, NULL));
}

cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);

    if (!status && flags & ~HOST_ALLOC_FLAGS)
        status = cudaErrorInvalidValue;
    return hc_return(status ? status : hc_memory_allocate(ptr, size, HC_KIND_PINNED, NULL));
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : hc_memory_free(ptr, HC_KIND_PINNED));
}

/* The lock is held. */
static struct range *overlapping(uintptr_t begin, uintptr_t end)
{
    struct range *range = ranges;

    while (range && (range->end <= begin || end <= range->begin))
        range = range->next;
    return range;
}

static cudaError_t register_range(uintptr_t begin, size_t size_bytes)
{
    uintptr_t end;

    if (!begin || size_bytes == 0 || __builtin_add_overflow(begin, size_bytes, &end))
        return cudaErrorInvalidValue;
    struct range *range = malloc(sizeof(*range));
    if (!range)
        return cudaErrorMemoryAllocation;
    pthread_once(&fork_once, register_fork_handlers);
    lock_ranges();
    bool taken = overlapping(begin, end) != NULL;
    if (!taken) {
        *range = (struct range){.next = ranges, .begin = begin, .end = end};
        ranges = range;
    }
    unlock_ranges();
    if (taken)
        free(range);
    return taken ? cudaErrorHostMemoryAlreadyRegistered : cudaSuccess;
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t status = hc_enter(__func__);

    if (!status && flags & ~HOST_REGISTER_FLAGS)
        status = cudaErrorInvalidValue;
    return hc_return(status ? status : register_range((uintptr_t)ptr, size));
}

static cudaError_t unregister_range(uintptr_t begin)
{
    if (!begin)
        return cudaErrorInvalidValue;
    lock_ranges();
    struct range **link = &ranges;
    while (*link && (*link)->begin != begin)
        link = &(*link)->next;
    struct range *range = *link;
    if (range)
        *link = range->next;
    unlock_ranges();
    free(range);
    return range ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaError_t cudaHostUnregister(void *ptr)
{
    cudaError_t status = hc_enter(__func__);

    return hc_return(status ? status : unregister_range((uintptr_t)ptr));
}
