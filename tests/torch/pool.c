/* SPDX-License-Identifier: MIT */
/* A caching allocator as PyTorch's is: two segments, blocks in them reported to c10's function, and
 * one block outside of any segment. A graph node saves one, a variable holds another. */
#include <stdint.h>
#include <stdio.h>

#include <gradprof/gradprof.h>

#include "engine/hostcuda/hostcuda_runtime.h"

#define KIB 1024
#define CUDA_0 UINT16_C(0x0001) /* c10::Device: type 1, index 0 */

extern void report(void *address, int64_t bytes, uint64_t total, uint64_t reserved,
                   uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
    __attribute__((weak));

static void block(char *address, int64_t kib)
{
    if (report != NULL)
        report(address, kib * KIB, 0, 0, CUDA_0);
}

int main(void)
{
    char *first, *second, elsewhere[KIB];

    if (cudaMalloc((void **)&first, 1024 * KIB) != 0 ||
        cudaMalloc((void **)&second, 512 * KIB) != 0)
        return 1;
    gradprof_step_begin(NULL);
    block(first, 100); /* at the segment's own address */
    block(first + 200 * KIB, 300);
    block(second, 512); /* all of it */
    block(elsewhere, 1);
    gradprof_node_create(first, "ReluBackward0");
    gradprof_save(first, "result", first + 200 * KIB, NULL);
    gradprof_handle_create(second, "x", second, NULL);
    block(first + 600 * KIB, 64); /* nobody's */
    gradprof_storage_role(first, GRADPROF_ROLE_PARAMETER, "weight");
    gradprof_step_end();
    gradprof_node_destroy(first);
    block(first, -100);
    block(first + 200 * KIB, -300);
    block(second, -512);
    block(elsewhere, -1);
    puts("done");
    return 0;
}
