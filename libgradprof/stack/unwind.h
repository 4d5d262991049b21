/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of the calling thread. libunwind is opened at run time, locally: linking it would make
 * C++ runtimes of the host bind their exception handling to it.
 */
#ifndef GP_STACK_UNWIND_H
#define GP_STACK_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/core/thread.h"
#include "libgradprof/stack/modules.h"

/* Chooses and loads an unwinder; may call the loader: not from a hot path, no lock held. Returns the
 * one in use; not the one asked for when that cannot be had. */
enum gp_unwind_choice gp_unwind_init(enum gp_unwind_choice wanted);
const char *gp_unwind_name(enum gp_unwind_choice choice);

/* In a child whose parent had a thread inside libunwind when it forked: its locks may be held for
 * ever, so another unwinder serves from here on. */
void gp_unwind_forked_inside(void);

/* Not NULL: libunwind is in use. */
extern int (*gp_unwind_fast)(void **frames, int size);
/* The other ways. Fills thread->frames[1...]. */
size_t gp_unwind_slowly(struct gp_thread *thread, size_t size);

/* Return addresses, innermost first, without frames of libgradprof: at most `depth` of them, in
 * thread->frames. Returns how many; *ret_frames points at the first, and the word in front of it is the
 * caller's to use. Inline, since each frame of our own costs as much to walk as one of the program's. */
static inline size_t gp_unwind_capture(struct gp_thread *thread, size_t depth, void ***ret_frames)
{
    size_t count, own = 0;

    thread->capturing = true;
    if (gp_unwind_fast != NULL) {
        int found = gp_unwind_fast(thread->frames + 1, (int)(depth + GP_OWN_FRAMES));
        count = found > 0 ? (size_t)found : 0;
    } else {
        count = gp_unwind_slowly(thread, depth + GP_OWN_FRAMES);
    }
    thread->capturing = false;
    while (own < count && gp_module_is_own((uintptr_t)thread->frames[1 + own]))
        own++;
    count -= own;
    *ret_frames = thread->frames + 1 + own;
    return count < depth ? count : depth;
}

#endif
