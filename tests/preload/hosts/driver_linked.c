/* SPDX-License-Identifier: MIT */
/* A program that was linked to the driver's library. Prints the bytes it holds at its end. */
#include <stdio.h>

#include "libgradprof/hooks/driver_exports.h"

extern gp_cu_result cuCtxSetCurrent(gp_cu_context context);

int main(void)
{
    gp_cu_pointer address, gone;
    gp_cu_context context;

    if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuMemAlloc_v2(&address, 1 << 20) || cuMemAlloc_v2(&gone, 4096) || cuMemFree_v2(gone))
        return 1;
    printf("%d\n", 1 << 20);
    return 0;
}
