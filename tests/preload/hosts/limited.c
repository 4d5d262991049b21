/* SPDX-License-Identifier: MIT */
/* Asks for memory on two devices until refused; prints what it got, saw and was told. */
#include <stdio.h>

#include "tests/preload/hosts/cuda.h"

static void try(const char *what, int error)
{
    printf("%s %d\n", what, error);
}

int main(void)
{
    void *a = NULL, *b = NULL, *host;
    size_t free_bytes, total_bytes, pitch;

    cudaMemGetInfo(&free_bytes, &total_bytes);
    printf("info %zu %zu\n", free_bytes, total_bytes);
    try("600", cudaMalloc(&a, 600 << 20));
    try("500", cudaMalloc(&b, 500 << 20));
    try("last", cudaGetLastError());
    try("400", cudaMallocAsync(&b, 400 << 20, NULL));
    cudaMemGetInfo(&free_bytes, &total_bytes);
    printf("info %zu %zu\n", free_bytes, total_bytes);
    try("pitch", cudaMallocPitch(&host, &pitch, 1 << 20, 200));
    try("pinned", cudaMallocHost(&host, 2000 << 20));
    try("managed", cudaMallocManaged(&host, 2000 << 20, 1));
    cudaFree(a);
    try("500", cudaMalloc(&a, 500 << 20));
    cudaSetDevice(1);
    try("device1", cudaMalloc(&b, (size_t)3 << 30));
    cudaSetDevice(0);
    cudaDeviceReset();
    try("all", cudaMalloc(&a, 1 << 30));
    return 0;
}
