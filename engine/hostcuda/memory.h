/* SPDX-License-Identifier: MIT */
/* Allocation with its charges: heap, table, device and pool together. */
#ifndef HOSTCUDA_MEMORY_H
#define HOSTCUDA_MEMORY_H

#include <stddef.h>

#include "engine/hostcuda/heap.h"

/* On failure nothing is charged and *ret_address is untouched. size_bytes 0 gives NULL, as the real
 * runtime does. `pool` may be NULL; with one, its device is charged, else the current device. */
cudaError_t hc_memory_allocate(void **ret_address, size_t size_bytes, enum hc_kind kind,
                               cudaMemPool_t pool);

/* Free what is one of `kinds`; NULL is nothing to do. cudaErrorInvalidValue: not ours. */
cudaError_t hc_memory_free(void *address, unsigned kinds);

#endif
