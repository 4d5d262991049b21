/* SPDX-License-Identifier: MIT */
#include "libgradprof/hooks/pools.h"

#include <stdatomic.h>

#include "libgradprof/hooks/ledger.h"

#define POOLS 64u /* at a time; of further ones the device is taken to be the current one */

static struct {
    _Atomic(void *) pool;
    _Atomic int device;
} pools[POOLS];

static void remember(void *pool, int device)
{
    for (unsigned i = 0; i < POOLS; i++) {
        void *none = NULL;
        if (!atomic_compare_exchange_strong(&pools[i].pool, &none, pool))
            continue;
        atomic_store(&pools[i].device, device);
        return;
    }
}

void gp_pool_created(struct gp_call *call, void *pool, int device, uint64_t max_bytes)
{
    call->device = device;
    /* An inner call, of a wrapped runtime function: that one does it. */
    if (!call->recording)
        return;
    remember(pool, device);
    gp_ledger_pool(call, pool, true, max_bytes);
}

void gp_pool_destroyed(struct gp_call *call, void *pool)
{
    if (!call->recording)
        return;
    gp_ledger_pool(call, pool, false, 0);
    for (unsigned i = 0; i < POOLS; i++)
        if (atomic_load(&pools[i].pool) == pool)
            atomic_store(&pools[i].pool, NULL);
}

int gp_pool_device(const void *pool)
{
    for (unsigned i = 0; i < POOLS; i++)
        if (atomic_load_explicit(&pools[i].pool, memory_order_acquire) == pool)
            return atomic_load_explicit(&pools[i].device, memory_order_relaxed);
    return GP_DEVICE_UNKNOWN;
}

void gp_pools_of(int device, void (*each)(void *pool, void *user), void *user)
{
    for (unsigned i = 0; i < POOLS; i++) {
        void *pool = atomic_load_explicit(&pools[i].pool, memory_order_acquire);
        if (pool != NULL && atomic_load_explicit(&pools[i].device, memory_order_relaxed) == device)
            each(pool, user);
    }
}
