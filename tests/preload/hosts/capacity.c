/* SPDX-License-Identifier: MIT */
/* Prints what a device of the stand-in has, then asks for 64 MiB less a little, and for 65 MiB. */
#include <stdio.h>

#include "tests/preload/hosts/cuda.h"

int main(void)
{
    size_t free_bytes, total_bytes;
    void *address;

    cudaMemGetInfo(&free_bytes, &total_bytes);
    printf("%zu %zu\n", free_bytes, total_bytes);
    int fits = cudaMalloc(&address, 60 << 20);
    cudaFree(address);
    printf("%d %d\n", fits, cudaMalloc(&address, 65 << 20));
    return 0;
}
