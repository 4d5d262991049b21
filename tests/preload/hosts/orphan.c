/* SPDX-License-Identifier: MIT */
/*
 * A program without a CUDA runtime. `look` looks cudaMalloc and cuMemAlloc up by name, as programs do
 * that can go without CUDA, and prints which it finds; `call` calls cudaMalloc, which it was linked
 * without, and prints what the call says.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern int cudaMalloc(void **address, size_t size_bytes) __attribute__((weak));

int main(int argc, char **argv)
{
    void *address;

    if (argc > 1 && strcmp(argv[1], "call") == 0) {
        printf("%d\n", cudaMalloc == NULL ? -1 : cudaMalloc(&address, 1000));
        return 0;
    }
    printf("%d %d\n", dlsym(RTLD_DEFAULT, "cudaMalloc") != NULL,
           dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL);
    return 0;
}
