/* SPDX-License-Identifier: MIT */
#include "engine/backend/reference/memory.h"

#include <stdlib.h>

#include "engine/hostcuda/hostcuda.h"
#include "engine/hostcuda/hostcuda_runtime.h"

struct ref_memory {
    enum ag_allocator allocator;
    int device;
    cudaStream_t stream;
    cudaMemPool_t pool;
};

static int status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return AG_OK;
    case cudaErrorMemoryAllocation:
        return AG_OUT_OF_MEMORY;
    default:
        return AG_DEVICE_ERROR;
    }
}

/* The stand-in's capacity is a setting: a program that asks for more than it has gets it. */
static cudaError_t make_room(int device, size_t memory_bytes)
{
    size_t free_bytes, total_bytes;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);

    if (error == cudaSuccess && memory_bytes > total_bytes)
        error = (cudaError_t)hostcudaSetMemory(device, memory_bytes);
    return error;
}

static cudaError_t open_device(struct ref_memory *memory, size_t memory_bytes)
{
    struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = memory->device},
        .maxSize = memory_bytes,
    };
    cudaError_t error = cudaSetDevice(memory->device);

    if (error == cudaSuccess)
        error = make_room(memory->device, memory_bytes);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&memory->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess && memory->allocator == AG_ALLOCATOR_ASYNC)
        error = cudaMemPoolCreate(&memory->pool, &props);
    return error;
}

int ref_memory_create(const struct ag_backend_config *config, struct ref_memory **ret_memory,
                      const char **ret_error)
{
    struct ref_memory *memory = calloc(1, sizeof(*memory));
    cudaError_t error;

    if (!memory) {
        *ret_error = "no host memory";
        return AG_OUT_OF_MEMORY;
    }
    memory->allocator = config->allocator;
    memory->device = config->device;
    error = open_device(memory, config->memory_bytes);
    if (error == cudaSuccess) {
        *ret_memory = memory;
        return AG_OK;
    }
    *ret_error = error == cudaErrorInvalidDevice ? "the host stand-in has no device of that number"
                                                 : cudaGetErrorString(error);
    ref_memory_destroy(memory);
    return AG_UNAVAILABLE;
}

void ref_memory_destroy(struct ref_memory *memory)
{
    if (memory->pool)
        cudaMemPoolDestroy(memory->pool);
    if (memory->stream)
        cudaStreamDestroy(memory->stream);
    free(memory);
}

int ref_memory_allocate(struct ref_memory *memory, size_t size_bytes, void **ret_address)
{
    void *address = NULL;
    cudaError_t error =
        memory->allocator == AG_ALLOCATOR_ASYNC
            ? cudaMallocFromPoolAsync(&address, size_bytes, memory->pool, memory->stream)
            : cudaMalloc(&address, size_bytes);

    if (error == cudaSuccess)
        *ret_address = address;
    return status_of(error);
}

void ref_memory_free(struct ref_memory *memory, void *address)
{
    if (memory->allocator == AG_ALLOCATOR_ASYNC)
        cudaFreeAsync(address, memory->stream);
    else
        cudaFree(address);
}

int ref_memory_copy_in(struct ref_memory *memory, void *to, const void *from_host,
                       size_t size_bytes)
{
    return status_of(
        cudaMemcpyAsync(to, from_host, size_bytes, cudaMemcpyHostToDevice, memory->stream));
}

int ref_memory_copy_out(struct ref_memory *memory, void *to_host, const void *from,
                        size_t size_bytes)
{
    cudaError_t error =
        cudaMemcpyAsync(to_host, from, size_bytes, cudaMemcpyDeviceToHost, memory->stream);

    return error == cudaSuccess ? ref_memory_synchronize(memory) : status_of(error);
}

int ref_memory_synchronize(struct ref_memory *memory)
{
    return status_of(cudaStreamSynchronize(memory->stream));
}
