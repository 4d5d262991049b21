/* SPDX-License-Identifier: MIT */
/* Scratch memory of one operation: device memory with the role "workspace". */
#ifndef AG_HOST_WORKSPACE_H
#define AG_HOST_WORKSPACE_H

#include <stddef.h>

#include "engine/backend/host/host.h"

/* What an operation should keep its scratch memory within, where it has the choice. */
#define AG_WORKSPACE_BYTES ((size_t)32 << 20)
/* Parts of a workspace begin at multiples of this: a cache line, and what oneDNN aligns to. */
#define AG_WORKSPACE_ALIGNMENT 64

/* 0 bytes give NULL and AG_OK. To be given back by ag_host_free before the operation returns. */
int ag_workspace_take(struct ag_host *host, size_t size_bytes, char **ret_workspace);

/* Append a part of `part_bytes` to a layout of *total_bytes; returns the part's offset. */
size_t ag_workspace_part(size_t *total_bytes, size_t part_bytes);

#endif
