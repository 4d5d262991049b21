/* SPDX-License-Identifier: MIT */
/*
 * Memory pools. A pool here holds no memory of its own: what is allocated from it is charged to it
 * and to its device, to the byte, and a free gives it back at once. So "reserved" equals "used" and
 * the release threshold is only remembered.
 */
#ifndef HOSTCUDA_POOL_H
#define HOSTCUDA_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/hostcuda/hostcuda_runtime.h"

bool hc_pool_valid(cudaMemPool_t pool);
int hc_pool_device(cudaMemPool_t pool);
cudaMemPool_t hc_pool_current(int device);

/* Take `size_bytes` of the pool's maxSize; false: it does not fit, nothing is taken. A pool that is
 * destroyed lives on until its last allocation is given back. */
bool hc_pool_charge(cudaMemPool_t pool, size_t size_bytes);
void hc_pool_release(cudaMemPool_t pool, size_t size_bytes);

#endif
