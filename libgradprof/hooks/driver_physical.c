/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the driver's virtual memory management. cuMemCreate allocates; its memory lives until the
 * last handle is released and the last mapping is gone, so both are counted here, and the ledger gets
 * one allocation and one free per physical allocation, plus its mappings: addresses of blocks are found
 * through them. These calls take microseconds to milliseconds each; a lock costs nothing beside that.
 */
#include <pthread.h>

#include "libgradprof/core/memory.h"
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/driver_exports.h"
#include "libgradprof/hooks/physical.h"

struct physical { /* 1 <= references + mappings */
    struct physical *next;
    gp_cu_physical handle;
    uint32_t references, mappings;
};

struct mapping {
    struct mapping *next;
    uint64_t address, size_bytes;
    struct physical *physical;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_arena arena;
static struct physical *physicals, *free_physicals;
static struct mapping *mappings, *free_mappings;

void gp_physical_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
}

/* Not from inside another hook: a signal handler may have come while this very thread holds the lock. */
static bool enter(const struct gp_call *call)
{
    if (!call->recording)
        return false;
    pthread_mutex_lock(&lock);
    return true;
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
}

/* --- the tables: lock held ---------------------------------------------------------------------------------- */

static struct physical *find(gp_cu_physical handle)
{
    struct physical *physical = physicals;

    while (physical != NULL && physical->handle != handle)
        physical = physical->next;
    return physical;
}

static struct physical *add(gp_cu_physical handle)
{
    struct physical *physical = free_physicals;

    if (physical != NULL)
        free_physicals = physical->next;
    else
        physical = gp_arena_alloc(&arena, sizeof(*physical));
    if (physical == NULL)
        return NULL;
    *physical = (struct physical){.next = physicals, .handle = handle, .references = 1};
    physicals = physical;
    return physical;
}

static void remove_physical(struct physical *physical)
{
    struct physical **place = &physicals;

    while (*place != physical)
        place = &(*place)->next;
    *place = physical->next;
    physical->next = free_physicals;
    free_physicals = physical;
}

static void add_mapping(uint64_t address, uint64_t size_bytes, struct physical *physical)
{
    struct mapping *mapping = free_mappings;

    if (mapping != NULL)
        free_mappings = mapping->next;
    else
        mapping = gp_arena_alloc(&arena, sizeof(*mapping));
    if (mapping == NULL)
        return;
    *mapping = (struct mapping){mappings, address, size_bytes, physical};
    mappings = mapping;
    physical->mappings++;
}

/* A mapping inside [address, address + size_bytes), taken out of the list; NULL: none is left. */
static struct mapping *take_mapping(uint64_t address, uint64_t size_bytes)
{
    for (struct mapping **place = &mappings; *place != NULL; place = &(*place)->next) {
        struct mapping *mapping = *place;
        if (mapping->address - address >= size_bytes)
            continue;
        *place = mapping->next;
        return mapping;
    }
    return NULL;
}

/* --- events: by the call's own thread, the lock held so that they keep the tables' order ----------------- */

static const void *key_of(gp_cu_physical handle)
{
    return (const void *)(uintptr_t)(handle | GP_HANDLE_KEY);
}

static void drop_if_unused(struct gp_call *call, struct physical *physical)
{
    if (physical->references > 0 || physical->mappings > 0)
        return;
    gp_release_begin(call, GP_KIND_PHYSICAL, key_of(physical->handle), NULL);
    remove_physical(physical);
}

static void drop_mapping(struct gp_call *call, struct mapping *mapping)
{
    gp_ledger_unmap(call, mapping->address);
    mapping->physical->mappings--;
    drop_if_unused(call, mapping->physical);
    mapping->next = free_mappings;
    free_mappings = mapping;
}

/* --- calls ---------------------------------------------------------------------------------------------------- */

static gp_cu_result created(struct gp_call *call, gp_cu_result result, const gp_cu_physical *handle,
                            uint64_t bytes)
{
    const void *key = result == GP_CU_SUCCESS ? key_of(*handle) : NULL;

    if (!enter(call))
        return gp_allocation_end(call, result, key, bytes, NULL);
    if (result == GP_CU_SUCCESS)
        add(*handle);
    gp_allocation_end(call, result, key, bytes, NULL);
    leave();
    return result;
}

gp_cu_result cuMemCreate(gp_cu_physical *ret_handle, size_t size_bytes,
                         const struct gp_cu_physical_prop *prop, unsigned long long flags)
{
    bool on_device = prop != NULL && prop->location_type == GP_CU_LOCATION_DEVICE;
    struct gp_call call;

    gp_call_begin(&call, "cuMemCreate", &gp_driver_devices);
    gp_allocation_begin(&call, on_device ? GP_KIND_PHYSICAL : GP_KIND_HOST, size_bytes,
                        on_device ? prop->location_id : GP_DEVICE_UNKNOWN);
    if (call.refused)
        return gp_call_refused(&call);
    return created(&call, gp_real_cuMemCreate()(ret_handle, size_bytes, prop, flags), ret_handle,
                   size_bytes);
}

gp_cu_result cuMemImportFromShareableHandle(gp_cu_physical *ret_handle, void *os_handle,
                                            gp_cu_enum type)
{
    struct gp_call call;

    gp_call_begin(&call, "cuMemImportFromShareableHandle", &gp_driver_devices);
    gp_allocation_begin(&call, GP_KIND_IMPORTED, 0, GP_DEVICE_UNKNOWN);
    return created(&call, gp_real_cuMemImportFromShareableHandle()(ret_handle, os_handle, type),
                   ret_handle, 0);
}

gp_cu_result cuMemRetainAllocationHandle(gp_cu_physical *ret_handle, void *address)
{
    struct gp_call call;
    struct physical *physical;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemRetainAllocationHandle", &gp_driver_devices);
    result = gp_real_cuMemRetainAllocationHandle()(ret_handle, address);
    if (result == GP_CU_SUCCESS && enter(&call)) {
        physical = find(*ret_handle);
        if (physical != NULL)
            physical->references++;
        leave();
    }
    gp_call_end(&call);
    return result;
}

gp_cu_result cuMemRelease(gp_cu_physical handle)
{
    struct gp_call call;
    struct physical *physical;

    gp_call_begin(&call, "cuMemRelease", &gp_driver_devices);
    if (enter(&call)) {
        physical = find(handle);
        if (physical != NULL && physical->references > 0) {
            physical->references--;
            drop_if_unused(&call, physical);
        }
        leave();
    }
    return gp_release_end(&call, gp_real_cuMemRelease()(handle));
}

gp_cu_result cuMemMap(gp_cu_pointer address, size_t size_bytes, size_t offset,
                      gp_cu_physical handle, unsigned long long flags)
{
    struct gp_call call;
    struct physical *physical;
    gp_cu_result result;

    gp_call_begin(&call, "cuMemMap", &gp_driver_devices);
    result = gp_real_cuMemMap()(address, size_bytes, offset, handle, flags);
    if (result == GP_CU_SUCCESS && enter(&call)) {
        physical = find(handle);
        if (physical != NULL) {
            add_mapping(address, size_bytes, physical);
            gp_ledger_map(&call, address, size_bytes, key_of(handle));
        }
        leave();
    }
    gp_call_end(&call);
    return result;
}

gp_cu_result cuMemUnmap(gp_cu_pointer address, size_t size_bytes)
{
    struct gp_call call;
    struct mapping *mapping;

    gp_call_begin(&call, "cuMemUnmap", &gp_driver_devices);
    if (enter(&call)) {
        while ((mapping = take_mapping(address, size_bytes)) != NULL)
            drop_mapping(&call, mapping);
        leave();
    }
    return gp_release_end(&call, gp_real_cuMemUnmap()(address, size_bytes));
}
