/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of the calling thread. libunwind is opened at run time, locally: linking it would make
 * C++ runtimes of the host bind their exception handling to it.
 */
#ifndef GP_STACK_UNWIND_H
#define GP_STACK_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/core/config.h"

struct gp_thread;

/* Chooses and loads an unwinder; may call the loader: not from a hot path, no lock held. Returns the
 * one in use; not the one asked for when that cannot be had. */
enum gp_unwind_choice gp_unwind_init(enum gp_unwind_choice wanted);
const char *gp_unwind_name(enum gp_unwind_choice choice);

/* Return addresses, innermost first, without frames of libgradprof: at most `depth` of them, in
 * thread->frames. Returns how many; *ret_frames points at the first, and the word in front of it is the
 * caller's to use. */
size_t gp_unwind_capture(struct gp_thread *thread, size_t depth, void ***ret_frames);

#endif
