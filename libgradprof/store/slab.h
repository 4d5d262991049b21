/* SPDX-License-Identifier: MIT */
/* Objects of one size, taken from large blocks and reused; memory is given back at the end only. */
#ifndef GP_STORE_SLAB_H
#define GP_STORE_SLAB_H

#include <stddef.h>

struct gp_slab_block;

struct gp_slab {                  /* .object_bytes set, the rest zeroed = empty */
    size_t object_bytes;          /* a multiple of 8, at least a pointer */
    void *free_list;              /* linked through the objects' first word */
    struct gp_slab_block *blocks; /* all blocks, newest first */
};

void *gp_slab_take(struct gp_slab *slab); /* zeroed; NULL: out of memory */
void gp_slab_give(struct gp_slab *slab, void *object);
void gp_slab_finish(struct gp_slab *slab); /* every object is gone */

#endif
