/* SPDX-License-Identifier: MIT */
/* A CUDA user that is loaded at run time; built once per runtime. */
#include "tests/preload/hosts/cuda.h"

__attribute__((visibility("default"))) void *plugin_allocate(size_t size_bytes);

void *plugin_allocate(size_t size_bytes)
{
    void *address = NULL;

    return cudaMalloc(&address, size_bytes) == 0 ? address : NULL;
}
