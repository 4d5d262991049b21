/* SPDX-License-Identifier: MIT */
/*
 * Loops over all cores, on the thread pool that oneDNN uses too: a second pool would fight the first
 * for the cores. On Debian that pool is libgomp, called by its C entry points, which works from any
 * compiler (clang's own OpenMP code needs libomp).
 */
#ifndef AG_HOST_PARALLEL_H
#define AG_HOST_PARALLEL_H

#include <stdint.h>

/* Elements [begin, end) of the loop. */
typedef void ag_range_fn(int64_t begin, int64_t end, void *context);

/* Threads of the pool for this process's loops and oneDNN's; 0: as many as there are cores. */
void ag_parallel_set_threads(int threads);
int ag_parallel_threads(void);

/* Calls `body` on disjoint ranges that cover [0, count); each begins at a multiple of `grain` (> 0).
 * Returns when all are done. Loops of fewer than two grains run in the caller's thread. */
void ag_parallel_for(int64_t count, int64_t grain, ag_range_fn *body, void *context);

#endif
