/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/hostcuda/config.h"
#include "engine/hostcuda/heap.h"
#include "engine/hostcuda/hostcuda.h"

#define RUNTIME_VERSION 13000 /* CUDA 13.0 */

/* Each on its own cache line: threads on different devices do not disturb each other. */
struct hc_device {
    _Alignas(64) atomic_size_t capacity_bytes;
    atomic_size_t used_bytes;
};

static struct hc_device devices[HC_MAX_DEVICES];
static pthread_once_t devices_once = PTHREAD_ONCE_INIT;
static _Thread_local int current_device;

static void init_devices(void)
{
    for (int i = 0; i < HC_MAX_DEVICES; i++)
        atomic_init(&devices[i].capacity_bytes, hc_config()->memory_bytes);
}

static struct hc_device *device_at(int device)
{
    pthread_once(&devices_once, init_devices);
    return &devices[device];
}

bool hc_device_valid(int device)
{
    return device >= 0 && device < hc_config()->device_count;
}

int hc_device_current(void)
{
    return current_device;
}

size_t hc_device_capacity(int device)
{
    return atomic_load(&device_at(device)->capacity_bytes);
}

bool hc_device_charge(int device, size_t size_bytes)
{
    struct hc_device *d = device_at(device);
    size_t used = atomic_load(&d->used_bytes);
    size_t capacity = atomic_load(&d->capacity_bytes);

    do {
        if (used > capacity || size_bytes > capacity - used)
            return false;
    } while (!atomic_compare_exchange_weak(&d->used_bytes, &used, used + size_bytes));
    return true;
}

void hc_device_release(int device, size_t size_bytes)
{
    atomic_fetch_sub(&device_at(device)->used_bytes, size_bytes);
}

int hostcudaIsStandIn(void)
{
    return 1;
}

int hostcudaSetMemory(int device, size_t capacity_bytes)
{
    if (device != -1 && !hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    for (int i = 0; i < hc_config()->device_count; i++)
        if (device == -1 || device == i)
            atomic_store(&device_at(i)->capacity_bytes, capacity_bytes);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!free_bytes || !total_bytes)
        return hc_return(cudaErrorInvalidValue);
    size_t capacity = hc_device_capacity(current_device);
    size_t used = atomic_load(&device_at(current_device)->used_bytes);
    *free_bytes = used < capacity ? capacity - used : 0;
    *total_bytes = capacity;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!count)
        return hc_return(cudaErrorInvalidValue);
    *count = hc_config()->device_count;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!device)
        return hc_return(cudaErrorInvalidValue);
    *device = current_device;
    return cudaSuccess;
}

static cudaError_t put_version(int *version)
{
    if (!version)
        return hc_return(cudaErrorInvalidValue);
    *version = RUNTIME_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    cudaError_t status = hc_enter(__func__);

    return status ? hc_return(status) : put_version(version);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t status = hc_enter(__func__);

    return status ? hc_return(status) : put_version(version);
}

/* The first fields, up to and including minor, are the same in CUDA 12 and 13. */
static void fill_common_properties(struct cudaDeviceProp *prop, int device)
{
    snprintf(prop->name, sizeof(prop->name), "host stand-in, no GPU");
    prop->uuid[15] = (unsigned char)device;
    prop->totalGlobalMem = hc_device_capacity(device);
    prop->warpSize = 1;
    prop->memPitch = INT32_MAX;
    prop->maxThreadsPerBlock = 1;
    for (int i = 0; i < 3; i++) {
        prop->maxThreadsDim[i] = 1;
        prop->maxGridSize[i] = 1;
    }
    prop->textureAlignment = HC_ALIGNMENT;
    prop->texturePitchAlignment = HC_ALIGNMENT;
}

static int processor_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (int)count : 1;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if (!prop)
        return hc_return(cudaErrorInvalidValue);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof(*prop));
    fill_common_properties(prop, device);
    prop->multiProcessorCount = processor_count();
    prop->integrated = 1;
    prop->canMapHostMemory = 1;
    return cudaSuccess;
}

/* CUDA 12's layout from texturePitchAlignment on, which CUDA 13 cleared of obsolete fields. */
struct prop_v12 {
    unsigned char common[offsetof(struct cudaDeviceProp, multiProcessorCount)];
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
};

cudaError_t cudaGetDeviceProperties_v2(void *prop, int device)
{
    cudaError_t status = hc_enter(__func__);
    struct cudaDeviceProp common = {0};
    struct prop_v12 head = {0};

    if (status)
        return hc_return(status);
    if (!prop)
        return hc_return(cudaErrorInvalidValue);
    if (!hc_device_valid(device))
        return hc_return(cudaErrorInvalidDevice);
    fill_common_properties(&common, device);
    memcpy(head.common, &common, sizeof(head.common));
    head.multiProcessorCount = processor_count();
    head.integrated = 1;
    head.canMapHostMemory = 1;
    memset(prop, 0, CUDA12_DEVICE_PROP_BYTES);
    memcpy(prop, &head, sizeof(head));
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return hc_return(hc_enter(__func__));
}
