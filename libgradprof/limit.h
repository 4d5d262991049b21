/* SPDX-License-Identifier: MIT */
/*
 * GRADPROF_MEMORY_LIMIT: a card made smaller than it is. The hooks keep account
 * and refuse; the host stand-in gets its capacity set as well, so that a limit above its default counts.
 *
 *   live[device] = bytes of limited allocations of this process on the device <= limit[device]
 */
#ifndef GP_LIMIT_H
#define GP_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_cudart;

/* A runtime was found: sets the stand-in's capacity. */
void gp_limit_apply(const struct gp_cudart *runtime);

uint64_t gp_limit_of(int device); /* bytes; 0: none */

/* True if the bytes fit, and takes them; false: refuse the call. */
bool gp_limit_take(int device, uint64_t bytes);
/* The call that gp_limit_take allowed got `address`, of `bytes`; NULL: it failed. */
void gp_limit_settle(int device, uint64_t taken_bytes, const void *address, uint64_t bytes);
/* Before and after the real free, so that the bytes are free only when the device's are. */
uint64_t gp_limit_forget(const void *address, int *ret_device);
void gp_limit_give(int device, uint64_t bytes);
void gp_limit_reset(int device);

/* What the program shall see. */
void gp_limit_show(int device, size_t *free_bytes, size_t *total_bytes);

void gp_limit_forked(void);

#endif
