/* SPDX-License-Identifier: MIT */
/*
 * Memory that PyTorch's allocators were refused. The program's variables are looked at first and the
 * refusal is told after that, so that the moment of the refusal shows who held what.
 *
 * Where the look is safe: for CPU memory at once, if the thread has the GIL or runs Python code (its
 * allocator holds no lock here). For GPU memory the call comes with the allocator's lock held, and a
 * thread that waits for the GIL then may wait for ever: the look is left to PyTorch's own observer of
 * refusals, which runs a moment later without the lock. Where neither can be, the refusal is told at
 * once and the look follows between two bytecodes of the main thread; what it finds counts as of the
 * refusal.
 */
#ifndef GP_TORCH_REFUSED_H
#define GP_TORCH_REFUSED_H

#include <stdint.h>

struct gp_thread;

/* What is kept of a refusal until it is told. */
struct gp_torch_refusal {
    uint64_t bytes;
    uint32_t stack_id, scope_id;
    int16_t type, index; /* of c10::Device; index -1: not told */
};

/* The guard is up. Captures the line; tells nothing. */
void gp_refused_note(struct gp_thread *thread, int64_t bytes, int type, int index);
/* Tells what was noted last on this thread, once. The guard is up. */
void gp_refused_tell(struct gp_thread *thread);

#endif
