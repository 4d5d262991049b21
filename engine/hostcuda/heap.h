/* SPDX-License-Identifier: MIT */
/*
 * Where "device memory" comes from, and the table of what is live.
 *
 *   block   one allocation: address, size as asked, owner. Every live block is in the table, keyed
 *           by its address; a block is taken out of the table before its memory is given back, so
 *           that an address never has two owners.
 *   large   more than HC_SMALL_BYTES: a mapping of its own (mappings.h). Pages cost memory only when
 *           touched.
 *   small   a slot of a slab; slots are powers of two from HC_ALIGNMENT up. A freed slot is reused,
 * its pages are kept. The list of free slots is kept outside them: untouched memory stays
 *           untouched.
 *
 * Every thread allocates from one of ARENAS arenas, each with a lock of its own, and frees into
 * the arena a block came from. All functions are thread-safe and survive fork.
 */
#ifndef HOSTCUDA_HEAP_H
#define HOSTCUDA_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "engine/hostcuda/hostcuda_runtime.h"

#define HC_ALIGNMENT 512 /* bytes, of every address; what cudaMalloc gives in practice */
#define HC_SMALL_BYTES ((size_t)64 << 10)

enum hc_kind {
    HC_KIND_DEVICE = 1 << 0,
    HC_KIND_MANAGED = 1 << 1,
    HC_KIND_PINNED = 1 << 2,
    HC_KIND_ARRAY = 1 << 3, /* the address is the opaque handle */
    HC_KIND_MIPMAPPED = 1 << 4,
};

#define HC_KINDS_ON_DEVICE (HC_KIND_DEVICE | HC_KIND_MANAGED | HC_KIND_ARRAY | HC_KIND_MIPMAPPED)

struct hc_block {
    struct hc_block *next; /* in its bucket while live, else in a free list */
    void *address;
    size_t size_bytes;   /* as asked: what is charged */
    size_t mapped_bytes; /* 0: a slot of a slab, and the block belongs to the slot for ever */
    cudaMemPool_t pool;  /* charged too; NULL: none */
    uint8_t kind;        /* enum hc_kind */
    uint8_t device;      /* charged; meaningless for pinned memory */
    uint8_t arena;
    uint8_t slot_class; /* slot size is 512 << slot_class */
};

/* Memory for `size_bytes` > 0; the block is not in the table yet. NULL: the host has no more. */
struct hc_block *hc_heap_allocate(size_t size_bytes);
void hc_heap_release(struct hc_block *block);

/* Returns 0, or -1 when the host has no memory for the table. */
int hc_table_insert(struct hc_block *block);

/* Take the block at `address` out, if it is one of `kinds`; else NULL, and nothing changes. */
struct hc_block *hc_table_take(const void *address, unsigned kinds);

/* Take out every block on `device` (of HC_KINDS_ON_DEVICE): a list through `next`, or NULL. */
struct hc_block *hc_table_take_device(int device);

#endif
