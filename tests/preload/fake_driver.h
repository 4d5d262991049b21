/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the tests' CUDA driver. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/hooks/driver_exports.h"

#define GP_DRIVER(symbol, name, since, stream, parameters)
#define GP_DRIVER_ALIAS(symbol, name, since)
#define GP_DRIVER_REAL(symbol, parameters) GP_EXPORT gp_cu_result symbol parameters;
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL
GP_EXPORT gp_cu_result cuInit(unsigned int flags);
GP_EXPORT gp_cu_result cuDeviceGetCount(int *ret_count);
GP_EXPORT gp_cu_result cuDeviceGet(gp_cu_device *ret_device, int ordinal);
GP_EXPORT gp_cu_result cuMemAddressReserve(gp_cu_pointer *ret_address, size_t size_bytes,
                                           size_t alignment, gp_cu_pointer address,
                                           unsigned long long flags);
GP_EXPORT gp_cu_result cuMemAddressFree(gp_cu_pointer address, size_t size_bytes);
GP_EXPORT gp_cu_result cuGraphCreate(gp_cu_graph *ret_graph, unsigned int flags);
GP_EXPORT gp_cu_result cuGraphDestroy(gp_cu_graph graph);
GP_EXPORT gp_cu_result cuGraphAddMemAllocNode(gp_cu_node *ret_node, gp_cu_graph graph,
                                              const gp_cu_node *inputs, size_t input_count,
                                              struct gp_cu_graph_alloc *params);
GP_EXPORT gp_cu_result cuGraphAddMemFreeNode(gp_cu_node *ret_node, gp_cu_graph graph,
                                             const gp_cu_node *inputs, size_t input_count,
                                             gp_cu_pointer address);

#define OK GP_CU_SUCCESS
#define INVALID 1

struct context;

/* The account; the lock is held. `device` -1: of none. */
extern pthread_mutex_t fake_lock;
extern uint64_t fake_next_address;
int fake_keep(uint64_t key, uint64_t bytes, int device, struct context *context, bool pooled);
int fake_drop(uint64_t key);
int fake_device(void); /* the current one; -1: no context */

/* Stream capture: what a captured call makes instead of memory. */
extern _Thread_local int fake_capturing;
gp_cu_result fake_capture_alloc(gp_cu_pointer *ret_address, size_t size_bytes);
gp_cu_result fake_capture_free(gp_cu_pointer address);

#endif
