/* SPDX-License-Identifier: MIT */
/* Linked with NVIDIA's own runtime; prints what cudaMalloc says, on a machine without a driver 35. */
#include <stdio.h>

#include "tests/preload/hosts/cuda.h"

int main(void)
{
    void *address = NULL;

    printf("%d\n", cudaMalloc(&address, 1000));
    cudaFree(address);
    return 0;
}
