/* SPDX-License-Identifier: MIT */
/*
 * Which CUDA runtime a call belongs to. A process may hold several (libcudart.so.12 and .13, the host
 * stand-in): each caller gets the one that its own object would have been bound to without us.
 */
#ifndef GP_HOOKS_RESOLVE_H
#define GP_HOOKS_RESOLVE_H

#include <stdbool.h>

#include "libgradprof/hooks/cudart_types.h"
#include "libgradprof/log/format.h"

struct gp_cudart {
    struct gp_cudart *next;
    void *base; /* load address of its object */
    enum gp_runtime kind;
    /* Never NULL: what a runtime lacks fails with GP_CUDA_ERROR_INITIALIZATION. */
#define GP_HOOK(function, parameters) gp_cuda_error(*function) parameters;
#define GP_REAL(function, parameters) gp_cuda_error(*function) parameters;
#include "libgradprof/hooks/cudart.def"
#undef GP_HOOK
#undef GP_REAL
};

/* `caller`: the return address of the hooked call. Never NULL. Takes no lock; asks the loader the
 * first time that a place calls. */
const struct gp_cudart *gp_resolve(const void *caller);

/* What a look-up of the runtime's `name` by `caller` gets (loader.h): our wrapper if that would go on to
 * the very function that was looked up. */
void *gp_runtime_answer(void *handle, const char *name, const void *caller);

#endif
