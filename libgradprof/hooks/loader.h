/* SPDX-License-Identifier: MIT */
/*
 * libgradprof.so exports dlsym and dlvsym (dlsym.S), so inside it the loader's own are reached here.
 */
#ifndef GP_HOOKS_LOADER_H
#define GP_HOOKS_LOADER_H

#include <stddef.h>

/* As dlsym(3), whoever else wraps it after us included. RTLD_NEXT means: after libgradprof.so. Takes the
 * loader's lock. */
void *gp_dlsym(void *handle, const char *name);

/* What the thunks ask for each look-up of a name that begins with "cu". `caller`: who looks it up. Returns
 * the answer, GP_DLSYM_PASS (ask the real one, in the caller's name) or GP_DLSYM_NONE (there is no such
 * symbol but our own). */
#define GP_DLSYM_PASS ((void *)0)
#define GP_DLSYM_NONE ((void *)1)
void *gp_dlsym_answer(void *handle, const char *name, const void *caller);

#endif
