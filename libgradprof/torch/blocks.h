/* SPDX-License-Identifier: MIT */
/*
 * Blocks that PyTorch's allocators hand out, as c10 reports them.
 *
 * CPU blocks alone start no recording (a DataLoader worker makes thousands): they are only kept in a
 * table. When the process's recording is started by its first graph node, no device having been
 * touched before, the table is written out and CPU blocks are recorded from there on, as the device
 * `cpu`. In a process that uses a GPU they are not recorded.
 */
#ifndef GP_TORCH_BLOCKS_H
#define GP_TORCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_thread;

#define GP_TORCH_CPU 0 /* c10::DeviceType */
#define GP_TORCH_CUDA 1

/* `bytes` > 0: allocated; < 0: about to be freed. The guard is up. */
void gp_blocks_report(struct gp_thread *thread, const void *address, int64_t bytes, int type,
                      int index);
/* Starts the recording if there is none yet: CPU blocks belong to it then. False: nothing is recorded.
 * The guard is up. */
bool gp_blocks_start(struct gp_thread *thread);
/* The stack of the calling thread, for an event of an allocator of that type. */
uint32_t gp_blocks_stack_here(struct gp_thread *thread, int type);
bool gp_blocks_is_start(uint64_t address); /* of a live block, of whatever device */
/* ... that stands in the ledger as a row of its own: only such an address means the block, another
 * one a whole segment of the caching allocator. */
bool gp_blocks_is_recorded(uint64_t address);
uint32_t gp_blocks_stack(uint64_t address); /* where it was allocated; 0: not known */
void gp_blocks_forked(void);

#endif
