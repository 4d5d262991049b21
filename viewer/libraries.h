/* SPDX-License-Identifier: MIT */
/* Stacks on which a library of the CUDA toolkit (cuBLAS, cuDNN, NCCL, ...) allocates for itself: the
 * innermost frame that is not the runtime's, the driver's or the profiler's lies in it. */
#ifndef GV_LIBRARIES_H
#define GV_LIBRARIES_H

#include <stdint.h>

#include "viewer/memory.h"
#include "viewer/query.h"

struct gv_libraries {
    struct gv_index stack_index;
    uint32_t *path_ids; /* of the library, by index of the stack: a string id; 0: none */
};

int gv_libraries_load(struct gv_query *query, struct gv_libraries *ret_libraries);
void gv_libraries_free(struct gv_libraries *libraries);

/* String id of the library's path; 0: the stack is none of a library. */
uint32_t gv_library_of(const struct gv_libraries *libraries, uint32_t stack_id);

#endif
