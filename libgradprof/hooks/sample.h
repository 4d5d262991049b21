/* SPDX-License-Identifier: MIT */
/*
 * The device's own account, read now and then, so that a report can set the ledger beside it: context,
 * allocations, pools' slack, other processes, and what nobody explains.
 */
#ifndef GP_HOOKS_SAMPLE_H
#define GP_HOOKS_SAMPLE_H

#include <stdint.h>

#include "libgradprof/log/format.h"

struct gp_call;
struct gp_thread;

/* Inside a wrapped call, after its own event. `device` must be the current one: for another one nothing
 * is read. Costs some 10 us on a GPU. */
void gp_sample(struct gp_call *call, int device, enum gp_sample_reason reason);
/* A pool gave back memory: the next growth is looked at again. */
void gp_sample_trim(struct gp_call *call, int device);
/* `bytes` were allocated; every so often, a sample. */
void gp_sample_growth(struct gp_call *call, uint64_t bytes);
/* Exit handlers begin: the devices seen last. */
void gp_sample_end(struct gp_thread *thread);

#endif
