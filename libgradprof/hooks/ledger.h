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
struct gp_call;

#define GP_DEVICE_UNKNOWN (-2) /* not asked yet; -1: there is none */

struct
    gp_devices { /* how one level, runtime or driver, is asked about devices; no call leaves an error */
    int (*current)(const struct gp_call *call); /* -1: none */
    /* Name cut to `name_bytes`; what cannot be told stays as it is. */
    enum gp_runtime (*describe)(const struct gp_call *call, int device, char *ret_name,
                                size_t name_bytes, uint64_t *ret_total_bytes);
    /* Of the current device. */
    bool (*memory)(const struct gp_call *call, size_t *ret_free_bytes, size_t *ret_total_bytes);
    /* Makes the level remember that memory ran out; may be NULL. */
    void (*remember_refusal)(const struct gp_call *call);
};

struct gp_call { /* one wrapped call, on the wrapper's stack */
    const struct gp_devices *devices;
    const struct gp_cudart *runtime; /* of a runtime's call */
    struct gp_thread *thread;        /* NULL: no memory for its state */
    const char *api;
    uint64_t asked_bytes;
    const void *address; /* of a release */
    uint64_t limit_bytes_held;
    enum gp_kind kind;
    int device;
    bool recording;         /* the outermost hook of this thread */
    bool per_thread_stream; /* stream 0 is the thread's own */
    bool is_first;          /* in this run to name its device */
    bool refused;           /* by the memory limit: end with gp_call_refused, make no real call */
};

/* Every begin is followed by one end on the same thread. The guard is up in between, so that what the
 * runtime calls on its way is no second allocation. */
void gp_call_begin(struct gp_call *call, const char *api, const struct gp_devices *devices);
void gp_call_end(struct gp_call *call);

/* An allocation of about `bytes` on `device` (GP_DEVICE_UNKNOWN: the current one). */
void gp_allocation_begin(struct gp_call *call, enum gp_kind kind, uint64_t bytes, int device);
/* `address`: what the call returned if `error` is 0; NULL counts as nothing allocated. Returns
 * `error`. */
gp_cuda_error gp_allocation_end(struct gp_call *call, gp_cuda_error error, const void *address,
                                uint64_t bytes, gp_cuda_stream stream);
gp_cuda_error gp_call_refused(struct gp_call *call);
/* One of several allocations of a call that succeeded; gp_call_end follows the last. */
void gp_allocation_done(struct gp_call *call, const void *address, uint64_t bytes,
                        gp_cuda_stream stream);

void gp_release_begin(struct gp_call *call, enum gp_kind kind, const void *address,
                      gp_cuda_stream stream);
gp_cuda_error gp_release_end(struct gp_call *call, gp_cuda_error error);

/* Tells this run about the device, unless that was done. Returns whether it was the first to. */
bool gp_ledger_device(struct gp_call *call, int device);

int gp_call_device(struct gp_call *call); /* the current device; asked once per call */

/* Before the real call: what is in context `context` of the device is gone; 0: all of it. */
void gp_ledger_reset(struct gp_call *call, int device, uint32_t context);
/* Mappings of physical memory (`key`: of its allocation). */
void gp_ledger_map(struct gp_call *call, uint64_t address, uint64_t bytes, const void *key);
void gp_ledger_unmap(struct gp_call *call, uint64_t address);
void gp_ledger_pool(struct gp_call *call, const void *pool, bool created, uint64_t max_bytes);

/* An allocator of the program's own refused (annotation API). */
void gp_ledger_refused_by(struct gp_thread *thread, int device, uint64_t bytes, const char *what);

#endif
