/* SPDX-License-Identifier: MIT */
/*
 * One allocation of each kind the CUDA runtime has, on a real GPU, linked to the shared libcudart.
 * Prints what a profiler must have seen, as one JSON line: bytes of each kind asked for, the peak of
 * device bytes, and what cudaMemGetInfo said around it.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                          \
                    cudaGetErrorString(error));                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const size_t MIB = 1024 * 1024;

struct pointers {
    void *plain, *pitched, *managed, *pinned, *async, *pooled;
    size_t pitch;
};

static void allocate(struct pointers *ret, cudaStream_t stream, cudaMemPool_t pool)
{
    CHECK(cudaMalloc(&ret->plain, 64 * MIB));
    CHECK(cudaMallocPitch(&ret->pitched, &ret->pitch, 1000, 4096));
    CHECK(cudaMallocManaged(&ret->managed, 16 * MIB, cudaMemAttachGlobal));
    CHECK(cudaMallocHost(&ret->pinned, 8 * MIB));
    CHECK(cudaMallocAsync(&ret->async, 32 * MIB, stream));
    CHECK(cudaMallocFromPoolAsync(&ret->pooled, 24 * MIB, pool, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void release(const struct pointers *pointers, cudaStream_t stream)
{
    CHECK(cudaFree(pointers->plain));
    CHECK(cudaFree(pointers->pitched));
    CHECK(cudaFree(pointers->managed));
    CHECK(cudaFreeHost(pointers->pinned));
    CHECK(cudaFreeAsync(pointers->async, stream));
    CHECK(cudaFreeAsync(pointers->pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(void)
{
    int devices = 0;
    cudaError_t counted = cudaGetDeviceCount(&devices);
    if (counted != cudaSuccess || devices == 0) {
        printf("no CUDA device here: %s\n", cudaGetErrorString(counted));
        return 77;
    }
    CHECK(cudaSetDevice(0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    CHECK(cudaMemPoolCreate(&pool, &props));

    size_t free_before, free_during, total;
    CHECK(cudaMemGetInfo(&free_before, &total));
    struct pointers pointers;
    allocate(&pointers, stream, pool);
    CHECK(cudaMemGetInfo(&free_during, &total));

    void *refused = NULL;
    cudaError_t refusal = cudaMalloc(&refused, (size_t)1 << 50);
    cudaGetLastError();
    void *kept = NULL; /* still live at exit */
    CHECK(cudaMalloc(&kept, 3 * MIB));
    size_t device_bytes = (64 + 16 + 32 + 24) * MIB + pointers.pitch * 4096;
    release(&pointers, stream);

    printf(
        "{\"device_bytes\": %zu, \"peak_bytes\": %zu, \"pinned_bytes\": %zu, \"exit_bytes\": %zu, "
        "\"refused_bytes\": %zu, \"refused_error\": %d, \"driver_delta_bytes\": %zu}\n",
        device_bytes, device_bytes + 3 * MIB, 8 * MIB, 3 * MIB, (size_t)1 << 50, (int)refusal,
        free_before - free_during);
    return 0;
}
