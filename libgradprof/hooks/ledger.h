/* SPDX-License-Identifier: MIT */
/*
 * What every wrapper does around the real call.
 *
 * The order, for every kind of memory alike: a release is logged before the real call, so that whoever
 * gets the address next is logged later; an acquisition is logged after the call has succeeded.
 */
#ifndef GP_HOOKS_LEDGER_H
#define GP_HOOKS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libgradprof/hooks/resolve.h"

struct gp_thread;

#define GP_DEVICE_UNKNOWN (-2) /* not asked yet; -1: there is none */

struct gp_call { /* one wrapped call, on the wrapper's stack */
    const struct gp_cudart *runtime;
    struct gp_thread *thread; /* NULL: no memory for its state */
    const char *api;
    uint64_t asked_bytes;
    const void *address; /* of a release */
    uint64_t limit_bytes_held;
    enum gp_kind kind;
    int device;
    bool recording; /* the outermost hook of this thread */
    bool refused;   /* by the memory limit: end with gp_call_refused, make no real call */
};

/* Every begin is followed by one end on the same thread. The guard is up in between, so that what the
 * runtime calls on its way is no second allocation. */
void gp_call_begin(struct gp_call *call, const char *api, const void *caller);
void gp_call_end(struct gp_call *call);

/* An allocation of about `bytes` on `device` (GP_DEVICE_UNKNOWN: the current one). */
void gp_allocation_begin(struct gp_call *call, enum gp_kind kind, uint64_t bytes, int device);
/* `address`: what the call returned if `error` is 0; NULL counts as nothing allocated. Returns
 * `error`. */
gp_cuda_error gp_allocation_end(struct gp_call *call, gp_cuda_error error, const void *address,
                                uint64_t bytes, gp_cuda_stream stream);
gp_cuda_error gp_call_refused(struct gp_call *call);

void gp_release_begin(struct gp_call *call, enum gp_kind kind, const void *address,
                      gp_cuda_stream stream);
gp_cuda_error gp_release_end(struct gp_call *call, gp_cuda_error error);

int gp_call_device(struct gp_call *call); /* the current device; asked once per call */

/* cudaDeviceReset, before the real call. */
void gp_ledger_reset(struct gp_call *call);
void gp_ledger_pool(struct gp_call *call, const void *pool, bool created, uint64_t max_bytes);

/* An allocator of the program's own refused (annotation API). */
void gp_ledger_refused_by(struct gp_thread *thread, int device, uint64_t bytes, const char *what);

#endif
