/* SPDX-License-Identifier: MIT */
#include "libgradprof/limit.h"

#include <pthread.h>
#include <string.h>

#include "libgradprof/core/memory.h"
#include "libgradprof/core/session.h"
#include "libgradprof/hooks/resolve.h"

#define FIRST_PLACES 4096u
#define DELETED ((uintptr_t)1)

struct place {
    uintptr_t address; /* 0: free, DELETED: was in use */
    uint64_t bytes;
    int device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held for a few loads and stores only */
static struct place *places;                             /* open addressing */
static size_t place_count, used_places, live_places;     /* used = live + deleted */
static uint64_t live[GP_DEVICES_MAX];

static const struct gp_memory_limit *limit(void)
{
    return &gp_session.config.memory_limit;
}

uint64_t gp_limit_of(int device)
{
    return device >= 0 && device < GP_DEVICES_MAX ? limit()->bytes[device] : 0;
}

/* On the stand-in too: the program may raise the stand-in's capacity, but not this limit. */
static bool keeps_account(void)
{
    return __builtin_expect(limit()->any, 0);
}

void gp_limit_apply(const struct gp_cudart *runtime)
{
    if (!limit()->any || runtime->kind != GP_RUNTIME_HOSTCUDA)
        return;
    if (limit()->all_devices) {
        runtime->hostcudaSetMemory(-1, limit()->bytes[0]);
        return;
    }
    for (int device = 0; device < GP_DEVICES_MAX; device++)
        if (limit()->bytes[device] != 0)
            runtime->hostcudaSetMemory(device, limit()->bytes[device]);
}

/* --- which address holds how much -------------------------------------------------------------------- */

static struct place *find_place(struct place *table, size_t count, uintptr_t address)
{
    size_t i = (size_t)(address >> 8) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

    while (table[i % count].address != 0 && table[i % count].address != address)
        i++;
    return &table[i % count];
}

static bool grow(void)
{
    size_t count = live_places * 4 < place_count ? place_count : place_count * 2;
    struct place *table;

    if (count == 0)
        count = FIRST_PLACES;
    table = gp_pages_map(count * sizeof(*table));
    if (table == NULL)
        return false;
    for (size_t i = 0; i < place_count; i++)
        if (places[i].address > DELETED)
            *find_place(table, count, places[i].address) = places[i];
    gp_pages_unmap(places, place_count * sizeof(*places));
    places = table;
    place_count = count;
    used_places = live_places;
    return true;
}

static void remember(uintptr_t address, uint64_t bytes, int device)
{
    if (used_places * 2 >= place_count && !grow())
        return; /* its bytes stay taken: the limit errs on the small side */
    struct place *place = find_place(places, place_count, address);
    if (place->address == 0) {
        used_places++;
        live_places++;
    }
    *place = (struct place){.address = address, .bytes = bytes, .device = device};
}

/* --- the account --------------------------------------------------------------------------------------- */

bool gp_limit_take(int device, uint64_t bytes)
{
    uint64_t most = gp_limit_of(device);
    bool fits;

    if (!keeps_account() || most == 0)
        return true;
    pthread_mutex_lock(&lock);
    fits = bytes <= most && live[device] <= most - bytes;
    if (fits)
        live[device] += bytes;
    pthread_mutex_unlock(&lock);
    return fits;
}

void gp_limit_settle(int device, uint64_t taken_bytes, const void *address, uint64_t bytes)
{
    if (!keeps_account() || gp_limit_of(device) == 0)
        return;
    pthread_mutex_lock(&lock);
    live[device] -= taken_bytes;
    if (address != NULL) {
        live[device] += bytes;
        remember((uintptr_t)address, bytes, device);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t gp_limit_forget(const void *address, int *ret_device)
{
    uint64_t bytes = 0;
    struct place *place;

    if (!keeps_account() || address == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    place = place_count == 0 ? NULL : find_place(places, place_count, (uintptr_t)address);
    if (place != NULL && place->address != 0) {
        bytes = place->bytes;
        *ret_device = place->device;
        place->address = DELETED;
        live_places--;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

void gp_limit_give(int device, uint64_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&lock);
    live[device] -= bytes;
    pthread_mutex_unlock(&lock);
}

void gp_limit_reset(int device)
{
    if (!keeps_account() || gp_limit_of(device) == 0)
        return;
    pthread_mutex_lock(&lock);
    live[device] = 0;
    for (size_t i = 0; i < place_count; i++)
        if (places[i].address > DELETED && places[i].device == device) {
            places[i].address = DELETED;
            live_places--;
        }
    pthread_mutex_unlock(&lock);
}

void gp_limit_show(int device, size_t *free_bytes, size_t *total_bytes)
{
    uint64_t most = gp_limit_of(device), left;

    if (!keeps_account() || most == 0)
        return;
    pthread_mutex_lock(&lock);
    left = live[device] < most ? most - live[device] : 0;
    pthread_mutex_unlock(&lock);
    if (total_bytes != NULL && *total_bytes > most)
        *total_bytes = most;
    if (free_bytes != NULL && *free_bytes > left)
        *free_bytes = left;
}

void gp_limit_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
}
