/* SPDX-License-Identifier: MIT */
/*
 * A CUDA runtime for tests: hands out addresses and does nothing else. Built several times, each with
 * its own RUNTIME_ID, so that a test sees which one served a call.
 *
 *   FAKE_LATENCY_NS=N   busy-wait in each allocation and free, as a driver takes its time
 *   FAKE_CAPACITY=N     bytes of each device; without it nothing is counted, so that threads share no
 *                       memory and a benchmark sees the profiler's scaling only
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libgradprof/hooks/cudart_exports.h"

#ifndef RUNTIME_ID
#define RUNTIME_ID 1
#endif

#define SIZES (1u << 20) /* allocations are told apart by their low bits */
#define BLOCK 1024u      /* addresses that a thread takes at a time */
#define TIB (UINT64_C(1) << 40)

static _Atomic uint64_t next_address, live_bytes[2];
static _Atomic uint64_t sizes[SIZES];
static _Thread_local int current_device;
static _Thread_local int last_error;

GP_EXPORT int cudaGetDevice(int *ret_device);
GP_EXPORT int cudaSetDevice(int device);
GP_EXPORT int cudaGetLastError(void);

static uint64_t setting(const char *name, uint64_t fallback)
{
    const char *value = getenv(name);

    return value == NULL ? fallback : strtoull(value, NULL, 10);
}

static void take_time(void)
{
    static _Atomic int64_t latency_ns = -1;
    struct timespec start, now;

    if (latency_ns < 0)
        latency_ns = (int64_t)setting("FAKE_LATENCY_NS", 0);
    if (latency_ns == 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < latency_ns);
}

/* UINT64_MAX: not counted. */
static uint64_t capacity(void)
{
    static _Atomic uint64_t bytes;

    if (bytes == 0)
        bytes = setting("FAKE_CAPACITY", UINT64_MAX);
    return bytes;
}

static uint64_t next_place(void)
{
    static _Thread_local uint64_t place, end;

    if (place == end) {
        place = atomic_fetch_add_explicit(&next_address, BLOCK, memory_order_relaxed);
        end = place + BLOCK;
    }
    return place++ % SIZES;
}

/* Addresses name the runtime, the device and the place of the size. */
static int get(void **ret_address, size_t size_bytes)
{
    uint64_t place;

    take_time();
    if (size_bytes > TIB)
        return last_error = 2;
    if (capacity() != UINT64_MAX && live_bytes[current_device] + size_bytes > capacity())
        return last_error = 2;
    place = next_place();
    if (capacity() != UINT64_MAX)
        live_bytes[current_device] += size_bytes;
    atomic_store_explicit(&sizes[place], size_bytes, memory_order_relaxed);
    *ret_address = (void *)(uintptr_t)((uint64_t)RUNTIME_ID << 44 | (uint64_t)current_device << 40 |
                                       (place + 1) << 9);
    return 0;
}

static int put(const void *address)
{
    uint64_t value = (uintptr_t)address;

    take_time();
    if (address == NULL)
        return 0;
    if (value >> 44 != RUNTIME_ID)
        return last_error = 1;
    if (capacity() != UINT64_MAX)
        live_bytes[value >> 40 & 1] -= sizes[(value >> 9) % SIZES - 1];
    return 0;
}

int cudaGetDevice(int *ret_device)
{
    *ret_device = current_device;
    return 0;
}

int cudaSetDevice(int device)
{
    if (device < 0 || device > 1)
        return last_error = 101;
    current_device = device;
    return 0;
}

int cudaGetLastError(void)
{
    int error = last_error;

    last_error = 0;
    return error;
}

gp_cuda_error cudaMalloc(void **ret_address, size_t size_bytes)
{
    return get(ret_address, size_bytes);
}

gp_cuda_error cudaFree(void *address)
{
    return put(address);
}

gp_cuda_error cudaMallocAsync(void **ret_address, size_t size_bytes, gp_cuda_stream stream)
{
    return get(ret_address, size_bytes);
}

gp_cuda_error cudaFreeAsync(void *address, gp_cuda_stream stream)
{
    return put(address);
}

gp_cuda_error cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width_bytes,
                              size_t height)
{
    *ret_pitch = (width_bytes + 511) & ~(size_t)511;
    return get(ret_address, *ret_pitch * height);
}

gp_cuda_error cudaMallocHost(void **ret_address, size_t size_bytes)
{
    return get(ret_address, size_bytes);
}

gp_cuda_error cudaFreeHost(void *address)
{
    return put(address);
}

gp_cuda_error cudaMallocManaged(void **ret_address, size_t size_bytes, unsigned int flags)
{
    return get(ret_address, size_bytes);
}

gp_cuda_error cudaMemGetInfo(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
    *ret_total_bytes = capacity() == UINT64_MAX ? TIB : capacity();
    *ret_free_bytes = *ret_total_bytes - live_bytes[current_device];
    return 0;
}

gp_cuda_error cudaGetDeviceProperties(struct gp_cuda_device_prop *ret_prop, int device)
{
    if (device < 0 || device > 1)
        return last_error = 101;
    memset(ret_prop, 0, sizeof(*ret_prop));
    strcpy(ret_prop->name, "fake device");
    ret_prop->total_bytes = capacity() == UINT64_MAX ? TIB : capacity();
    return 0;
}

gp_cuda_error cudaDeviceReset(void)
{
    live_bytes[current_device] = 0;
    return 0;
}
