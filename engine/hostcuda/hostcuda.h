/* SPDX-License-Identifier: MIT */
/*
 * hostcuda: a stand-in for the CUDA runtime on a machine without a GPU. libhostcuda.so exports the
 * real runtime's names (cudaMalloc, cudaMallocAsync, cudaMemGetInfo, streams, events, devices, ...)
 * with the real signatures and error codes, over lazily committed host memory, so that the same
 * profiler hooks intercept the same symbols. It says what it is: cudaGetDeviceProperties names the
 * device "host stand-in, no GPU".
 *
 * This header declares what the stand-in has on top of the CUDA runtime; the runtime's own subset is
 * declared in hostcuda_runtime.h (the vendor's header is not needed).
 *
 * Environment, read at the first call:
 *   HOSTCUDA_DEVICES=N         number of devices, 1..16 (default 1)
 *   HOSTCUDA_MEMORY=8GiB       capacity of each device (default 8 GiB)
 *   HOSTCUDA_FAIL=FUNCTION:N[:ERROR]   the N-th call of FUNCTION (1 = first; "*" = any) fails with
 *                              the numeric ERROR (default 2, cudaErrorMemoryAllocation)
 *   HOSTCUDA_LATENCY_NS=N      busy-wait added to each allocation and free, like a driver's
 */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the library as the stand-in: a profiler finds this symbol and knows there is no GPU. */
int hostcudaIsStandIn(void);

/* Set the capacity of a device (-1: all). Live allocations stay. Returns a cudaError_t: 0, or 101
 * (cudaErrorInvalidDevice). Thread-safe. */
int hostcudaSetMemory(int device, size_t capacity_bytes);

#ifdef __cplusplus
}
#endif
#endif
