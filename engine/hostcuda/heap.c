/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/heap.h"

#include "engine/hostcuda/mappings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENAS 8
#define SLOT_CLASSES 8 /* 512 B, 1 KiB, ... 64 KiB */
#define SLAB_BYTES ((size_t)1 << 20)
#define BATCH_BYTES ((size_t)16 << 10) /* of block descriptions */

_Static_assert((HC_ALIGNMENT << (SLOT_CLASSES - 1)) == HC_SMALL_BYTES, "classes end at small");

struct arena {
    _Alignas(64) pthread_mutex_t lock;
    struct hc_block *free_slots[SLOT_CLASSES];
    struct hc_block *free_blocks; /* no memory attached */
    char *slab_next[SLOT_CLASSES];
    char *slab_end[SLOT_CLASSES];
};

static struct arena arenas[ARENAS];
static pthread_once_t arenas_once = PTHREAD_ONCE_INIT;
static atomic_uint threads_seen;
static _Thread_local unsigned my_arena; /* 0: none chosen yet, else index + 1 */

static void lock_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        pthread_mutex_lock(&arenas[i].lock);
    hc_mappings_lock();
}

static void unlock_arenas(void)
{
    hc_mappings_unlock();
    for (int i = ARENAS - 1; i >= 0; i--)
        pthread_mutex_unlock(&arenas[i].lock);
}

static void init_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        pthread_mutex_init(&arenas[i].lock, NULL);
    /* A child must find consistent lists, whatever other threads did at the moment of the fork. */
    pthread_atfork(lock_arenas, unlock_arenas, unlock_arenas);
}

static unsigned arena_of_thread(void)
{
    if (!my_arena) {
        pthread_once(&arenas_once, init_arenas);
        my_arena = atomic_fetch_add(&threads_seen, 1) % ARENAS + 1;
    }
    return my_arena - 1;
}

static void *map(size_t size_bytes)
{
    void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return address == MAP_FAILED ? NULL : address;
}

static struct hc_block *pop(struct hc_block **list)
{
    struct hc_block *block = *list;

    if (block)
        *list = block->next;
    return block;
}

static void push(struct hc_block **list, struct hc_block *block)
{
    block->next = *list;
    *list = block;
}

/* The arena is locked. Batches are never given back: a block stays in circulation. */
static struct hc_block *new_block(struct arena *arena)
{
    if (!arena->free_blocks) {
        struct hc_block *batch = map(BATCH_BYTES);
        if (!batch)
            return NULL;
        for (size_t i = BATCH_BYTES / sizeof(*batch); i-- > 0;) {
            batch[i].arena = (uint8_t)(arena - arenas);
            push(&arena->free_blocks, &batch[i]);
        }
    }
    return pop(&arena->free_blocks);
}

static unsigned slot_class_of(size_t size_bytes)
{
    unsigned slot_class = 0;

    while (size_bytes > (size_t)HC_ALIGNMENT << slot_class)
        slot_class++;
    return slot_class;
}

/* The arena is locked. */
static struct hc_block *new_slot(struct arena *arena, unsigned slot_class)
{
    size_t slot_bytes = (size_t)HC_ALIGNMENT << slot_class;

    if (arena->slab_next[slot_class] == arena->slab_end[slot_class]) {
        char *slab = map(SLAB_BYTES);
        if (!slab)
            return NULL;
        arena->slab_next[slot_class] = slab;
        arena->slab_end[slot_class] = slab + SLAB_BYTES;
    }
    struct hc_block *block = new_block(arena);
    if (!block)
        return NULL;
    block->address = arena->slab_next[slot_class];
    block->slot_class = (uint8_t)slot_class;
    block->mapped_bytes = 0;
    arena->slab_next[slot_class] += slot_bytes;
    return block;
}

static struct hc_block *allocate_small(struct arena *arena, size_t size_bytes)
{
    unsigned slot_class = slot_class_of(size_bytes);

    pthread_mutex_lock(&arena->lock);
    struct hc_block *block = pop(&arena->free_slots[slot_class]);
    if (!block)
        block = new_slot(arena, slot_class);
    pthread_mutex_unlock(&arena->lock);
    return block;
}

static void release_block(struct hc_block *block)
{
    struct arena *arena = &arenas[block->arena];

    pthread_mutex_lock(&arena->lock);
    push(&arena->free_blocks, block);
    pthread_mutex_unlock(&arena->lock);
}

static struct hc_block *allocate_large(struct arena *arena, size_t size_bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t mapped_bytes = (size_bytes + page_bytes - 1) & ~(page_bytes - 1);

    if (mapped_bytes < size_bytes)
        return NULL;
    pthread_mutex_lock(&arena->lock);
    struct hc_block *block = new_block(arena);
    pthread_mutex_unlock(&arena->lock);
    if (!block)
        return NULL;
    block->address = hc_mapping_take(mapped_bytes);
    if (!block->address) {
        release_block(block);
        return NULL;
    }
    block->mapped_bytes = mapped_bytes;
    return block;
}

struct hc_block *hc_heap_allocate(size_t size_bytes)
{
    struct arena *arena = &arenas[arena_of_thread()];
    struct hc_block *block = size_bytes <= HC_SMALL_BYTES ? allocate_small(arena, size_bytes)
                                                          : allocate_large(arena, size_bytes);

    if (block)
        block->size_bytes = size_bytes;
    return block;
}

void hc_heap_release(struct hc_block *block)
{
    struct arena *arena = &arenas[block->arena];

    if (block->mapped_bytes) {
        hc_mapping_give(block->address, block->mapped_bytes);
        release_block(block);
        return;
    }
    pthread_mutex_lock(&arena->lock);
    push(&arena->free_slots[block->slot_class], block);
    pthread_mutex_unlock(&arena->lock);
}
