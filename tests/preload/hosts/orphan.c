/* SPDX-License-Identifier: MIT */
/* Looks cudaMalloc up by name, as programs do that can go without CUDA; prints what the call says. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");
    void *address;

    printf("%d\n", allocate == NULL ? -1 : allocate(&address, 1000));
    return 0;
}
