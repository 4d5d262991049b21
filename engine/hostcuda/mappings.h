/* SPDX-License-Identifier: MIT */
/*
 * Mappings of host memory for large blocks: anonymous, MAP_NORESERVE, with huge pages from 4 MiB on. Those
 * that are given back are kept, pages and all, for the next block of exactly that size: a training step
 * frees and allocates the same sizes again and again, and touching new pages costs the host a third of
 * its time. What a kept mapping held is still in it, as in a GPU's memory.
 *
 *   live + kept <= the highest live so far      (bytes of mappings)
 *
 * so that keeping never makes the process larger than it was at its peak. The oldest go first.
 *
 * Thread-safe. Around fork() the caller holds the lock.
 */
#ifndef HOSTCUDA_MAPPINGS_H
#define HOSTCUDA_MAPPINGS_H

#include <stddef.h>

/* `size_bytes` is a whole number of pages. NULL: the host has no more. */
void *hc_mapping_take(size_t size_bytes);
void hc_mapping_give(void *address, size_t size_bytes);

void hc_mappings_lock(void);
void hc_mappings_unlock(void);

#endif
