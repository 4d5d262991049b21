/* SPDX-License-Identifier: MIT */
/*
 * What libgradprof knows about a thread: one thread-local pointer (initial-exec, the only one, so that
 * a late dlopen still finds room in the static TLS block) to mapped pages, released at thread exit.
 */
#ifndef GP_CORE_THREAD_H
#define GP_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/core/config.h"
#include "libgradprof/torch/thread.h"

struct gp_entry;

enum gp_forking { /* what a thread in fork() holds of the ingest thread */
                  GP_FORK_NONE,
                  GP_FORK_QUIET, /* it rests until fork() is over */
                  GP_FORK_BUSY,  /* it did not come to rest in time */
};

#define GP_SCOPES_MAX 64u /* nesting remembered; deeper scopes count as their outermost kept one */
#define GP_STEPS_MAX 16u
#define GP_OWN_FRAMES 16u    /* frames of our own on top of a captured stack */
#define GP_RECENT_STACKS 64u /* power of two */

struct gp_thread {
    struct gp_thread *next, *previous; /* of all threads, so that a forked child can look at them */
    volatile bool capturing;           /* inside the unwinder, which may hold a lock of its own */
    uint32_t tid;
    uint32_t guard;      /* > 0: inside libgradprof or inside a hooked call; record nothing */
    uint32_t epoch;      /* run (gp_session_epoch) that knows this thread's open steps */
    uint32_t exit_round; /* how often the thread's exit destructor came by */
    enum gp_forking forking;
    uint64_t
        grown_bytes; /* allocated since this thread last looked at the device (hooks/sample.c) */
    uint32_t scope_depth;
    uint32_t step_depth;
    struct gp_entry *scope[GP_SCOPES_MAX];     /* interned scope paths, innermost last */
    struct gp_entry *step_label[GP_STEPS_MAX]; /* NULL: no label */
    struct gp_entry *recent[GP_RECENT_STACKS]; /* stacks seen last, by a cheap hash: no full one */
    struct gp_torch_thread torch;
    uint32_t torch_stack_id; /* of the node that is being told */
    uintptr_t stack_end;     /* upper bound of the thread's stack, 0: not asked yet */
    void *frames[1 + GP_STACK_DEPTH_MAX + GP_OWN_FRAMES]; /* scratch of a capture, from [1] on */
};

extern _Thread_local struct gp_thread *gp_thread_state __attribute__((tls_model("initial-exec")));

void gp_thread_init(void);              /* once, at load */
struct gp_thread *gp_thread_make(void); /* NULL: no memory */
/* In a child: the calling thread has a new id, the others are gone. Returns whether one of them was
 * inside the unwinder. */
bool gp_thread_forked(void);

static inline struct gp_thread *gp_thread_get(void)
{
    struct gp_thread *thread = gp_thread_state;

    return __builtin_expect(thread != NULL, 1) ? thread : gp_thread_make();
}

#endif
