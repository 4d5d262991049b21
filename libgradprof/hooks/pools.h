/* SPDX-License-Identifier: MIT */
/* Memory pools that the program made: a pool's device need not be the current one. Any thread, no lock. */
#ifndef GP_HOOKS_POOLS_H
#define GP_HOOKS_POOLS_H

#include <stdint.h>

struct gp_call;

/* `device`: -1 for a pool in the host's memory. */
void gp_pool_created(struct gp_call *call, void *pool, int device, uint64_t max_bytes);
void gp_pool_destroyed(struct gp_call *call, void *pool); /* before the real call */
int gp_pool_device(const void *pool);                     /* GP_DEVICE_UNKNOWN: not one we saw */
/* Calls `each` for every pool of `device`. */
void gp_pools_of(int device, void (*each)(void *pool, void *user), void *user);

#endif
