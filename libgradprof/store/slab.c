/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/slab.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_OBJECTS 512

struct gp_slab_block {
    struct gp_slab_block *next;
    max_align_t objects[];
};

static int add_block(struct gp_slab *slab)
{
    struct gp_slab_block *block = malloc(sizeof(*block) + BLOCK_OBJECTS * slab->object_bytes);
    if (!block)
        return -1;
    block->next = slab->blocks;
    slab->blocks = block;
    char *object = (char *)block->objects + BLOCK_OBJECTS * slab->object_bytes;
    for (int i = 0; i < BLOCK_OBJECTS; i++) {
        object -= slab->object_bytes;
        gp_slab_give(slab, object);
    }
    return 0;
}

void *gp_slab_take(struct gp_slab *slab)
{
    if (!slab->free_list && add_block(slab) < 0)
        return NULL;
    void *object = slab->free_list;
    memcpy(&slab->free_list, object, sizeof(void *));
    memset(object, 0, slab->object_bytes);
    return object;
}

void gp_slab_give(struct gp_slab *slab, void *object)
{
    memcpy(object, &slab->free_list, sizeof(void *));
    slab->free_list = object;
}

void gp_slab_finish(struct gp_slab *slab)
{
    while (slab->blocks) {
        struct gp_slab_block *next = slab->blocks->next;
        free(slab->blocks);
        slab->blocks = next;
    }
    slab->free_list = NULL;
}
