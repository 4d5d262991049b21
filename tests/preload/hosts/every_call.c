/* SPDX-License-Identifier: MIT */
/*
 * Calls every allocation function of the runtime once, keeps what it got, and prints one line for each:
 * name, kind as run.db calls it, address, bytes that were to be recorded. "free" as argument: frees all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hostcuda/hostcuda_runtime.h"

static void say(const char *name, const char *kind, cudaError_t error, const void *address,
                size_t size_bytes)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: error %d\n", name, (int)error);
        exit(1);
    }
    printf("%s %s 0x%llx %zu\n", name, kind, (unsigned long long)(size_t)address, size_bytes);
}

static void linear(int release)
{
    cudaError_t error;
    struct cudaExtent extent = {.width = 100, .height = 20, .depth = 3};
    struct cudaPitchedPtr pitched;
    size_t pitch;
    void *p;

    error = cudaMalloc(&p, 1000);
    say("cudaMalloc", "device", error, p, 1000);
    if (release)
        cudaFree(p);
    error = cudaMallocPitch(&p, &pitch, 1000, 7);
    say("cudaMallocPitch", "device", error, p, pitch * 7);
    if (release)
        cudaFree(p);
    error = cudaMalloc3D(&pitched, extent);
    say("cudaMalloc3D", "device", error, pitched.ptr, pitched.pitch * 20 * 3);
    if (release)
        cudaFree(pitched.ptr);
    error = cudaMallocManaged(&p, 3000, 1);
    say("cudaMallocManaged", "managed", error, p, 3000);
    if (release)
        cudaFree(p);
}

static void arrays(int release)
{
    cudaError_t error;
    struct cudaChannelFormatDesc floats = {.x = 32, .f = cudaChannelFormatKindFloat};
    struct cudaExtent extent = {.width = 64, .height = 32, .depth = 4};
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;

    error = cudaMallocArray(&array, &floats, 64, 32, 0);
    say("cudaMallocArray", "array", error, array, 4 * 64 * 32);
    if (release)
        cudaFreeArray(array);
    error = cudaMalloc3DArray(&array, &floats, extent, 0);
    say("cudaMalloc3DArray", "array", error, array, 4 * 64 * 32 * 4);
    if (release)
        cudaFreeArray(array);
    error = cudaMallocMipmappedArray(&mipmap, &floats, extent, 3, 0);
    say("cudaMallocMipmappedArray", "array", error, mipmap,
        4 * (64 * 32 * 4 + 32 * 16 * 2 + 16 * 8 * 1));
    if (release)
        cudaFreeMipmappedArray(mipmap);
}

static void ordered(int release)
{
    cudaError_t error;
    struct cudaMemPoolProps props;
    cudaMemPool_t pool;
    void *p;

    memset(&props, 0, sizeof(props));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    error = cudaMallocAsync(&p, 4000, NULL);
    say("cudaMallocAsync", "async", error, p, 4000);
    if (release)
        cudaFreeAsync(p, NULL);
    error = cudaMallocAsync_ptsz(&p, 5000, NULL);
    say("cudaMallocAsync_ptsz", "async", error, p, 5000);
    if (release)
        cudaFreeAsync_ptsz(p, NULL);
    if (cudaMemPoolCreate(&pool, &props) != cudaSuccess)
        exit(1);
    error = cudaMallocFromPoolAsync(&p, 6000, pool, NULL);
    say("cudaMallocFromPoolAsync", "async", error, p, 6000);
    if (release)
        cudaFreeAsync(p, NULL);
    error = cudaMallocFromPoolAsync_ptsz(&p, 7000, pool, NULL);
    say("cudaMallocFromPoolAsync_ptsz", "async", error, p, 7000);
    if (release)
        cudaFreeAsync(p, NULL);
    cudaMemPoolDestroy(pool);
}

static void pinned(int release)
{
    cudaError_t error;
    static char registered[8192];
    void *p;

    error = cudaMallocHost(&p, 8000);
    say("cudaMallocHost", "host", error, p, 8000);
    if (release)
        cudaFreeHost(p);
    error = cudaHostAlloc(&p, 9000, 0);
    say("cudaHostAlloc", "host", error, p, 9000);
    if (release)
        cudaFreeHost(p);
    error = cudaHostRegister(registered, sizeof(registered), 0);
    say("cudaHostRegister", "host-registered", error, registered, sizeof(registered));
    if (release)
        cudaHostUnregister(registered);
}

int main(int argc, char **argv)
{
    int release = argc > 1 && strcmp(argv[1], "free") == 0;

    linear(release);
    arrays(release);
    ordered(release);
    pinned(release);
    return 0;
}
