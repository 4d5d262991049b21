/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/mappings.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define KEPT 256                     /* mappings at most */
#define HUGE_BYTES ((size_t)4 << 20) /* from here on at most a third is lost to huge pages */

struct mapping {
    void *address;
    size_t size_bytes;
};

/* kept_bytes = sum of size_bytes over kept[0 .. kept_count), oldest first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping kept[KEPT];
static int kept_count;
static size_t kept_bytes, live_bytes, peak_bytes;

void hc_mappings_lock(void)
{
    pthread_mutex_lock(&lock);
}

void hc_mappings_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static struct mapping remove_kept(int at)
{
    struct mapping mapping = kept[at];

    kept_count--;
    memmove(&kept[at], &kept[at + 1], (size_t)(kept_count - at) * sizeof(kept[0]));
    kept_bytes -= mapping.size_bytes;
    return mapping;
}

/* The newest of that size, whose pages are the likeliest to be in the cache. The lock is held. */
static void *reuse(size_t size_bytes)
{
    for (int i = kept_count - 1; i >= 0; i--)
        if (kept[i].size_bytes == size_bytes)
            return remove_kept(i).address;
    return NULL;
}

/* Live mappings have become more or fewer: let go of what must not be kept any more. The lock is held. */
static void keep_within_peak(void)
{
    if (live_bytes > peak_bytes)
        peak_bytes = live_bytes;
    while (kept_count > 0 && (kept_count == KEPT || live_bytes + kept_bytes > peak_bytes)) {
        struct mapping oldest = remove_kept(0);

        munmap(oldest.address, oldest.size_bytes);
    }
}

static void *map_new(size_t size_bytes)
{
    void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (address == MAP_FAILED)
        return NULL;
    /* As on a GPU, whose pages are 2 MiB. */
    if (size_bytes >= HUGE_BYTES)
        madvise(address, size_bytes, MADV_HUGEPAGE);
    return address;
}

void *hc_mapping_take(size_t size_bytes)
{
    void *address;

    pthread_mutex_lock(&lock);
    live_bytes += size_bytes;
    address = reuse(size_bytes);
    keep_within_peak();
    pthread_mutex_unlock(&lock);
    if (address || (address = map_new(size_bytes)))
        return address;
    pthread_mutex_lock(&lock);
    live_bytes -= size_bytes;
    pthread_mutex_unlock(&lock);
    return NULL;
}

void hc_mapping_give(void *address, size_t size_bytes)
{
    pthread_mutex_lock(&lock);
    live_bytes -= size_bytes;
    kept[kept_count++] = (struct mapping){address, size_bytes};
    kept_bytes += size_bytes;
    keep_within_peak();
    pthread_mutex_unlock(&lock);
}
