/* SPDX-License-Identifier: MIT */
/* The table of live blocks (heap.h): a hash of addresses in independently locked shards. */
#include <pthread.h>
#include <stdlib.h>

#include "engine/hostcuda/heap.h"

#define SHARD_BITS 4 /* ThreadSanitizer follows at most 64 locks held at once, as fork does here */
#define SHARDS (1u << SHARD_BITS)
#define FIRST_BUCKETS 64

/* Invariant: bucket_count is 0 or a power of two; block_count <= bucket_count after an insertion,
 * unless the host had no memory for a larger array. */
struct shard {
    _Alignas(64) pthread_mutex_t lock;
    struct hc_block **buckets;
    size_t bucket_count;
    size_t block_count;
};

static struct shard shards[SHARDS];
static pthread_once_t shards_once = PTHREAD_ONCE_INIT;

static void lock_shards(void)
{
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_lock(&shards[i].lock);
}

static void unlock_shards(void)
{
    for (unsigned i = SHARDS; i-- > 0;)
        pthread_mutex_unlock(&shards[i].lock);
}

static void init_shards(void)
{
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
    pthread_atfork(lock_shards, unlock_shards, unlock_shards);
}

/* Addresses are multiples of HC_ALIGNMENT; the multiplier is 2^64 divided by the golden ratio. */
static uint64_t hash(const void *address)
{
    return ((uintptr_t)address / HC_ALIGNMENT) * 0x9e3779b97f4a7c15u;
}

static struct shard *shard_of(const void *address)
{
    pthread_once(&shards_once, init_shards);
    return &shards[hash(address) >> (64 - SHARD_BITS)];
}

static struct hc_block **bucket_of(const struct shard *shard, const void *address)
{
    return &shard->buckets[(hash(address) >> 32) & (shard->bucket_count - 1)];
}

static int grow(struct shard *shard)
{
    struct shard larger = {.bucket_count =
                               shard->bucket_count ? shard->bucket_count * 2 : FIRST_BUCKETS};

    larger.buckets = calloc(larger.bucket_count, sizeof(larger.buckets[0]));
    if (!larger.buckets)
        return shard->bucket_count ? 0 : -1;
    for (size_t i = 0; i < shard->bucket_count; i++) {
        struct hc_block *block = shard->buckets[i];
        while (block) {
            struct hc_block *next = block->next;
            struct hc_block **bucket = bucket_of(&larger, block->address);
            block->next = *bucket;
            *bucket = block;
            block = next;
        }
    }
    free(shard->buckets);
    shard->buckets = larger.buckets;
    shard->bucket_count = larger.bucket_count;
    return 0;
}

int hc_table_insert(struct hc_block *block)
{
    struct shard *shard = shard_of(block->address);
    int status = 0;

    pthread_mutex_lock(&shard->lock);
    if (shard->block_count >= shard->bucket_count)
        status = grow(shard);
    if (!status) {
        struct hc_block **bucket = bucket_of(shard, block->address);
        block->next = *bucket;
        *bucket = block;
        shard->block_count++;
    }
    pthread_mutex_unlock(&shard->lock);
    return status;
}

/* The shard is locked; *link is the block to take. */
static struct hc_block *unlink_block(struct shard *shard, struct hc_block **link)
{
    struct hc_block *block = *link;

    *link = block->next;
    shard->block_count--;
    return block;
}

static struct hc_block *take_locked(struct shard *shard, const void *address, unsigned kinds)
{
    if (!shard->bucket_count)
        return NULL;
    for (struct hc_block **link = bucket_of(shard, address); *link; link = &(*link)->next)
        if ((*link)->address == address)
            return (*link)->kind & kinds ? unlink_block(shard, link) : NULL;
    return NULL;
}

struct hc_block *hc_table_take(const void *address, unsigned kinds)
{
    struct shard *shard = shard_of(address);

    pthread_mutex_lock(&shard->lock);
    struct hc_block *block = take_locked(shard, address, kinds);
    pthread_mutex_unlock(&shard->lock);
    return block;
}

static struct hc_block *take_device_locked(struct shard *shard, int device, struct hc_block *taken)
{
    for (size_t i = 0; i < shard->bucket_count; i++) {
        struct hc_block **link = &shard->buckets[i];
        while (*link) {
            if (!((*link)->kind & HC_KINDS_ON_DEVICE) || (*link)->device != device) {
                link = &(*link)->next;
                continue;
            }
            struct hc_block *block = unlink_block(shard, link);
            block->next = taken;
            taken = block;
        }
    }
    return taken;
}

struct hc_block *hc_table_take_device(int device)
{
    struct hc_block *taken = NULL;

    pthread_once(&shards_once, init_shards);
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&shards[i].lock);
        taken = take_device_locked(&shards[i], device, taken);
        pthread_mutex_unlock(&shards[i].lock);
    }
    return taken;
}
