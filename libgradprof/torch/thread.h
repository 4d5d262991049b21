/* SPDX-License-Identifier: MIT */
/* What is remembered of a thread between two calls of PyTorch's that belong to one operation. */
#ifndef GP_TORCH_THREAD_H
#define GP_TORCH_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/torch/refused.h"

#define GP_TORCH_SAVES_MAX 64u
#define GP_TORCH_EDGES_MAX 64u

struct gp_torch_save {
    uint64_t impl, storage;
};

/* An operation goes: edges of its inputs handed out, inputs saved, node attached to the outputs,
 * outputs saved. A saved tensor reaches its slot after its constructor has returned, so it waits in
 * `save` until the next call: then the node's memory holds it. */
struct gp_torch_thread {
    uint64_t node; /* the last one attached to an output */
    uint32_t save_count;
    uint32_t inputs_saved; /* the first so many of save[] came before `node` was attached */
    uint32_t edge_count;   /* handed out since then */
    struct gp_torch_save save[GP_TORCH_SAVES_MAX];
    uint64_t edge[GP_TORCH_EDGES_MAX];
    struct gp_torch_refusal refusal; /* noted and not told yet */
    uintptr_t loop_frame, loop_code; /* Python frame that runs the program's loop; 0: not known */
    bool loop_over;                  /* it ended since it was set */
};

#endif
