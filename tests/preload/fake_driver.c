/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver (libcuda.so.1) for tests: the functions of driver.def and the few that a program needs to
 * get at them. It hands out addresses and keeps an account of bytes per device, in the driver's way:
 * a context costs CONTEXT_BYTES, pools keep what they once reserved until they are trimmed.
 * NVIDIA's own runtime does not start on it: that one asks the driver for an integrity check
 * (docs/HACKING.md).
 *
 *   FAKE_CAPACITY=N        bytes of each device (default 8 GiB)
 *   FAKE_OTHER_DRIVER=1    cuMemAlloc has another interface from CUDA 14 on
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/preload/fake_driver.h"

#define DEVICES 2
#define CONTEXT_BYTES (UINT64_C(100) << 20)
#define POOL_CHUNK (UINT64_C(32) << 20)
#define ITEMS 4096

struct context {
    int device;
    unsigned references;
};

struct item { /* something alive */
    uint64_t key, bytes;
    struct context *context; /* NULL: of no context */
    int device;
    bool pooled;
    unsigned references; /* of physical memory: handles and mappings */
};

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item items[ITEMS];
static struct {
    uint64_t address, bytes, handle;
} mappings[ITEMS];
static uint64_t used[DEVICES], pool_reserved[DEVICES], pool_used[DEVICES];
uint64_t fake_next_address = UINT64_C(0x7f0000000000);
static uint64_t next_handle = 1;
static struct context primary[DEVICES] = {{.device = 0}, {.device = 1}};
static _Thread_local struct context *current;

/* --- the account: lock held -------------------------------------------------------------------------- */

static uint64_t capacity(void)
{
    const char *text = getenv("FAKE_CAPACITY");

    return text == NULL ? UINT64_C(8) << 30 : strtoull(text, NULL, 10);
}

static struct item *find(uint64_t key)
{
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].key == key && key != 0)
            return &items[i];
    return NULL;
}

int fake_keep(uint64_t key, uint64_t bytes, int device, struct context *context, bool pooled)
{
    if (device >= 0 && used[device] + bytes > capacity())
        return GP_CU_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < ITEMS; i++) {
        if (items[i].key != 0)
            continue;
        items[i] = (struct item){key, bytes, context, device, pooled, 1};
        if (device >= 0 && !pooled)
            used[device] += bytes;
        if (pooled) {
            pool_used[device] += bytes;
            while (pool_reserved[device] < pool_used[device]) {
                pool_reserved[device] += POOL_CHUNK;
                used[device] += POOL_CHUNK;
            }
        }
        return OK;
    }
    abort();
}

int fake_drop(uint64_t key)
{
    struct item *item = find(key);

    if (item == NULL)
        return INVALID;
    if (item->pooled)
        pool_used[item->device] -= item->bytes;
    else if (item->device >= 0)
        used[item->device] -= item->bytes;
    item->key = 0;
    return OK;
}

static void drop_context(struct context *context)
{
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].key != 0 && items[i].context == context)
            fake_drop(items[i].key);
    used[context->device] -= CONTEXT_BYTES;
}

int fake_device(void)
{
    return current == NULL ? -1 : current->device;
}

static int allocate(gp_cu_pointer *ret_address, uint64_t bytes, int device, bool pooled)
{
    int result;

    if (device < 0)
        return 201; /* CUDA_ERROR_INVALID_CONTEXT */
    pthread_mutex_lock(&fake_lock);
    result = fake_keep(fake_next_address, bytes, device, pooled ? NULL : current, pooled);
    if (result == OK) {
        *ret_address = fake_next_address;
        fake_next_address += (bytes + 511) / 512 * 512 + 512;
    }
    pthread_mutex_unlock(&fake_lock);
    return result;
}

static int release(uint64_t key)
{
    int result;

    pthread_mutex_lock(&fake_lock);
    result = fake_drop(key);
    pthread_mutex_unlock(&fake_lock);
    return result;
}

/* --- start, devices, contexts ---------------------------------------------------------------------------- */

gp_cu_result cuInit(unsigned int flags)
{
    return OK;
}

gp_cu_result cuDriverGetVersion(int *ret_version)
{
    *ret_version = 13000;
    return OK;
}

gp_cu_result cuDeviceGetCount(int *ret_count)
{
    *ret_count = DEVICES;
    return OK;
}

gp_cu_result cuDeviceGet(gp_cu_device *ret_device, int ordinal)
{
    *ret_device = ordinal;
    return ordinal < DEVICES ? OK : 101; /* CUDA_ERROR_INVALID_DEVICE */
}

gp_cu_result cuDeviceGetName(char *ret_name, int name_bytes, gp_cu_device device)
{
    snprintf(ret_name, (size_t)name_bytes, "Fake %d", device);
    return OK;
}

gp_cu_result cuDeviceGetUuid_v2(struct gp_cu_uuid *ret_uuid, gp_cu_device device)
{
    memset(ret_uuid, device, sizeof(*ret_uuid));
    return OK;
}

gp_cu_result cuDeviceTotalMem_v2(size_t *ret_total_bytes, gp_cu_device device)
{
    *ret_total_bytes = capacity();
    return OK;
}

gp_cu_result cuMemGetInfo_v2(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
    if (fake_device() < 0)
        return 201;
    *ret_total_bytes = capacity();
    *ret_free_bytes = capacity() - used[fake_device()];
    return OK;
}

gp_cu_result cuDevicePrimaryCtxRetain(gp_cu_context *ret_context, gp_cu_device device)
{
    pthread_mutex_lock(&fake_lock);
    if (primary[device].references++ == 0)
        used[device] += CONTEXT_BYTES;
    pthread_mutex_unlock(&fake_lock);
    *ret_context = &primary[device];
    return OK;
}

gp_cu_result cuDevicePrimaryCtxRelease_v2(gp_cu_device device)
{
    pthread_mutex_lock(&fake_lock);
    if (--primary[device].references == 0)
        drop_context(&primary[device]);
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuDevicePrimaryCtxReset_v2(gp_cu_device device)
{
    pthread_mutex_lock(&fake_lock);
    primary[device].references = 0;
    drop_context(&primary[device]);
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuDevicePrimaryCtxGetState(gp_cu_device device, unsigned int *ret_flags,
                                        int *ret_active)
{
    *ret_flags = 0;
    *ret_active = primary[device].references > 0;
    return OK;
}

static gp_cu_result create_context(gp_cu_context *ret_context, gp_cu_device device)
{
    struct context *context = calloc(1, sizeof(*context));

    context->device = device;
    pthread_mutex_lock(&fake_lock);
    used[device] += CONTEXT_BYTES;
    pthread_mutex_unlock(&fake_lock);
    *ret_context = current = context;
    return OK;
}

gp_cu_result cuCtxCreate_v2(gp_cu_context *ret_context, unsigned int flags, gp_cu_device device)
{
    return create_context(ret_context, device);
}

gp_cu_result cuCtxCreate_v3(gp_cu_context *ret_context, void *affinity, int affinity_count,
                            unsigned int flags, gp_cu_device device)
{
    return create_context(ret_context, device);
}

gp_cu_result cuCtxCreate_v4(gp_cu_context *ret_context, void *params, unsigned int flags,
                            gp_cu_device device)
{
    return create_context(ret_context, device);
}

gp_cu_result cuCtxDestroy_v2(gp_cu_context context)
{
    pthread_mutex_lock(&fake_lock);
    drop_context(context);
    pthread_mutex_unlock(&fake_lock);
    if (current == context)
        current = NULL;
    free(context);
    return OK;
}

gp_cu_result cuCtxSetCurrent(gp_cu_context context)
{
    current = context;
    return OK;
}

gp_cu_result cuCtxGetCurrent(gp_cu_context *ret_context)
{
    *ret_context = current;
    return OK;
}

gp_cu_result cuCtxGetDevice(gp_cu_device *ret_device)
{
    if (current == NULL)
        return 201;
    *ret_device = current->device;
    return OK;
}

/* --- linear, managed and host memory ------------------------------------------------------------------------ */

gp_cu_result cuMemAlloc_v2(gp_cu_pointer *ret_address, size_t size_bytes)
{
    return allocate(ret_address, size_bytes, fake_device(), false);
}

gp_cu_result cuMemAllocPitch_v2(gp_cu_pointer *ret_address, size_t *ret_pitch, size_t width_bytes,
                                size_t height, unsigned int element_bytes)
{
    *ret_pitch = (width_bytes + 511) / 512 * 512;
    return allocate(ret_address, *ret_pitch * height, fake_device(), false);
}

gp_cu_result cuMemAllocManaged(gp_cu_pointer *ret_address, size_t size_bytes, unsigned int flags)
{
    return allocate(ret_address, size_bytes, fake_device(), false);
}

gp_cu_result cuMemFree_v2(gp_cu_pointer address)
{
    return address == 0 ? OK : release(address);
}

gp_cu_result cuMemAllocHost_v2(void **ret_address, size_t size_bytes)
{
    *ret_address = malloc(size_bytes);
    return OK;
}

gp_cu_result cuMemHostAlloc(void **ret_address, size_t size_bytes, unsigned int flags)
{
    return cuMemAllocHost_v2(ret_address, size_bytes);
}

gp_cu_result cuMemFreeHost(void *address)
{
    free(address);
    return OK;
}

gp_cu_result cuMemHostRegister_v2(void *address, size_t size_bytes, unsigned int flags)
{
    return OK;
}

gp_cu_result cuMemHostUnregister(void *address)
{
    return OK;
}

/* --- pools ------------------------------------------------------------------------------------------------------ */

gp_cu_result cuMemAllocAsync(gp_cu_pointer *ret_address, size_t size_bytes, gp_cu_stream stream)
{
    if (fake_capturing)
        return fake_capture_alloc(ret_address, size_bytes);
    return allocate(ret_address, size_bytes, fake_device(), true);
}

gp_cu_result cuMemAllocAsync_ptsz(gp_cu_pointer *ret_address, size_t size_bytes,
                                  gp_cu_stream stream)
{
    return cuMemAllocAsync(ret_address, size_bytes, stream);
}

gp_cu_result cuMemAllocFromPoolAsync(gp_cu_pointer *ret_address, size_t size_bytes, gp_cu_pool pool,
                                     gp_cu_stream stream)
{
    return allocate(ret_address, size_bytes, ((struct context *)pool)->device, true);
}

gp_cu_result cuMemAllocFromPoolAsync_ptsz(gp_cu_pointer *ret_address, size_t size_bytes,
                                          gp_cu_pool pool, gp_cu_stream stream)
{
    return cuMemAllocFromPoolAsync(ret_address, size_bytes, pool, stream);
}

gp_cu_result cuMemFreeAsync(gp_cu_pointer address, gp_cu_stream stream)
{
    if (fake_capturing)
        return fake_capture_free(address);
    return release(address);
}

gp_cu_result cuMemFreeAsync_ptsz(gp_cu_pointer address, gp_cu_stream stream)
{
    return cuMemFreeAsync(address, stream);
}

/* A pool is known by the primary context of its device: all of a device's pools are one. */
gp_cu_result cuMemPoolCreate(gp_cu_pool *ret_pool, const struct gp_cu_pool_props *props)
{
    struct context *pool = calloc(1, sizeof(*pool));

    pool->device = props->location_id;
    *ret_pool = pool;
    return OK;
}

gp_cu_result cuMemPoolDestroy(gp_cu_pool pool)
{
    free(pool);
    return OK;
}

gp_cu_result cuDeviceGetDefaultMemPool(gp_cu_pool *ret_pool, gp_cu_device device)
{
    *ret_pool = &primary[device];
    return OK;
}

gp_cu_result cuMemPoolGetAttribute(gp_cu_pool pool, gp_cu_enum attribute, void *ret_value)
{
    int device = ((struct context *)pool)->device;
    bool is_default = pool == &primary[device];

    *(uint64_t *)ret_value = !is_default                        ? 0
                             : attribute == GP_CU_POOL_RESERVED ? pool_reserved[device]
                                                                : pool_used[device];
    return OK;
}

gp_cu_result cuMemPoolTrimTo(gp_cu_pool pool, size_t keep_bytes)
{
    int device = ((struct context *)pool)->device;

    pthread_mutex_lock(&fake_lock);
    while (pool_reserved[device] >= keep_bytes + POOL_CHUNK &&
           pool_reserved[device] - POOL_CHUNK >= pool_used[device]) {
        pool_reserved[device] -= POOL_CHUNK;
        used[device] -= POOL_CHUNK;
    }
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

/* --- physical memory ------------------------------------------------------------------------------------------- */

gp_cu_result cuMemCreate(gp_cu_physical *ret_handle, size_t size_bytes,
                         const struct gp_cu_physical_prop *prop, unsigned long long flags)
{
    int result;

    pthread_mutex_lock(&fake_lock);
    *ret_handle = next_handle++;
    result = fake_keep(*ret_handle, size_bytes, prop->location_id, NULL, false);
    pthread_mutex_unlock(&fake_lock);
    return result;
}

static int unreference(uint64_t handle)
{
    struct item *item = find(handle);

    return item == NULL ? INVALID : --item->references > 0 ? OK : fake_drop(handle);
}

gp_cu_result cuMemRelease(gp_cu_physical handle)
{
    int result;

    pthread_mutex_lock(&fake_lock);
    result = unreference(handle);
    pthread_mutex_unlock(&fake_lock);
    return result;
}

gp_cu_result cuMemMap(gp_cu_pointer address, size_t size_bytes, size_t offset,
                      gp_cu_physical handle, unsigned long long flags)
{
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < ITEMS; i++)
        if (mappings[i].address == 0) {
            mappings[i].address = address;
            mappings[i].bytes = size_bytes;
            mappings[i].handle = handle;
            find(handle)->references++;
            break;
        }
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuMemUnmap(gp_cu_pointer address, size_t size_bytes)
{
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < ITEMS; i++)
        if (mappings[i].address != 0 && mappings[i].address - address < size_bytes) {
            mappings[i].address = 0;
            unreference(mappings[i].handle);
        }
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuMemRetainAllocationHandle(gp_cu_physical *ret_handle, void *address)
{
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < ITEMS; i++)
        if (mappings[i].address == (uintptr_t)address) {
            *ret_handle = mappings[i].handle;
            find(*ret_handle)->references++;
        }
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuMemImportFromShareableHandle(gp_cu_physical *ret_handle, void *os_handle,
                                            gp_cu_enum type)
{
    pthread_mutex_lock(&fake_lock);
    *ret_handle = next_handle++;
    fake_keep(*ret_handle, 0, -1, NULL, false);
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuMemAddressReserve(gp_cu_pointer *ret_address, size_t size_bytes, size_t alignment,
                                 gp_cu_pointer address, unsigned long long flags)
{
    pthread_mutex_lock(&fake_lock);
    *ret_address = fake_next_address;
    fake_next_address += size_bytes;
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuMemAddressFree(gp_cu_pointer address, size_t size_bytes)
{
    return OK;
}

/* --- arrays, memory of others --------------------------------------------------------------------------------------- */

static gp_cu_result make_array(void **ret_array, uint64_t bytes)
{
    gp_cu_pointer address;
    int result = allocate(&address, bytes, fake_device(), false);

    if (result == OK)
        *ret_array = (void *)(uintptr_t)address;
    return result;
}

gp_cu_result cuArrayCreate_v2(gp_cu_array *ret_array, const struct gp_cu_array_desc *desc)
{
    return make_array(ret_array, desc->width * (desc->height ? desc->height : 1) * 4);
}

gp_cu_result cuArray3DCreate_v2(gp_cu_array *ret_array, const struct gp_cu_array3d_desc *desc)
{
    return make_array(ret_array, desc->width * desc->height * desc->depth * 4);
}

gp_cu_result cuMipmappedArrayCreate(gp_cu_mipmap *ret_mipmap, const struct gp_cu_array3d_desc *desc,
                                    unsigned int levels)
{
    return make_array(ret_mipmap, desc->width * desc->height * 4);
}

gp_cu_result cuArrayDestroy(gp_cu_array array)
{
    return release((uintptr_t)array);
}

gp_cu_result cuMipmappedArrayDestroy(gp_cu_mipmap mipmap)
{
    return release((uintptr_t)mipmap);
}

static gp_cu_result import(gp_cu_pointer *ret_address)
{
    pthread_mutex_lock(&fake_lock);
    *ret_address = fake_next_address;
    fake_next_address += 4096;
    fake_keep(*ret_address, 0, -1, NULL, false);
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuIpcOpenMemHandle_v2(gp_cu_pointer *ret_address, struct gp_cu_ipc_handle handle,
                                   unsigned int flags)
{
    return import(ret_address);
}

gp_cu_result cuIpcCloseMemHandle(gp_cu_pointer address)
{
    return release(address);
}

gp_cu_result cuExternalMemoryGetMappedBuffer(gp_cu_pointer *ret_address, gp_cu_external memory,
                                             const struct gp_cu_external_buffer *desc)
{
    return import(ret_address);
}

gp_cu_result cuExternalMemoryGetMappedMipmappedArray(gp_cu_mipmap *ret_mipmap,
                                                     gp_cu_external memory,
                                                     const struct gp_cu_external_mipmap *desc)
{
    return import((gp_cu_pointer *)(void *)ret_mipmap);
}

gp_cu_result cuMemPoolImportPointer(gp_cu_pointer *ret_address, gp_cu_pool pool,
                                    struct gp_cu_pool_pointer *data)
{
    return import(ret_address);
}

/* --- look-up by version ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int since, form; /* 0: any stream, 1: legacy, 2: per thread */
    void *function;
} entries[] = {
#define ANY 0
#define LEGACY 1
#define PER_THREAD 2
#define GP_DRIVER(symbol, name, since, stream, parameters) {name, since, stream, (void *)symbol},
#define GP_DRIVER_ALIAS(symbol, name, since) {name, since, ANY, (void *)symbol},
#define GP_DRIVER_REAL(symbol, parameters)
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL
    {"cuInit", 2000, 0, (void *)cuInit},
    {"cuCtxSetCurrent", 4000, 0, (void *)cuCtxSetCurrent},
    {"cuMemAddressReserve", 10020, 0, (void *)cuMemAddressReserve},
    {"cuGraphCreate", 10000, 0, (void *)cuGraphCreate},
    {"cuGraphAddMemAllocNode", 11040, 0, (void *)cuGraphAddMemAllocNode},
    {"cuGraphAddMemFreeNode", 11040, 0, (void *)cuGraphAddMemFreeNode},
    {"cuGetProcAddress", 11030, 0, (void *)cuGetProcAddress},
    {"cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2},
};

/* What "cuMemAlloc" means to a program of a later CUDA, whose interface nobody knows yet. */
static gp_cu_result later_alloc(gp_cu_pointer *ret_address, size_t size_bytes)
{
    return cuMemAlloc_v2(ret_address, size_bytes);
}

gp_cu_result cuGetProcAddress_v2(const char *symbol, void **ret_function, int version,
                                 unsigned long long flags, gp_cu_enum *ret_status)
{
    int form = flags & GP_CU_PER_THREAD_STREAM ? 2 : 1, best = 0;

    *ret_function = NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(entries[i].name, symbol) == 0 && entries[i].since <= version &&
            entries[i].since > best && (entries[i].form == 0 || entries[i].form == form)) {
            best = entries[i].since;
            *ret_function = entries[i].function;
        }
    if (version >= 14000 && strcmp(symbol, "cuMemAlloc") == 0 && getenv("FAKE_OTHER_DRIVER"))
        *ret_function = (void *)later_alloc;
    if (ret_status != NULL)
        *ret_status = *ret_function == NULL;
    return *ret_function == NULL ? GP_CU_ERROR_NOT_FOUND : OK;
}

gp_cu_result cuGetProcAddress(const char *symbol, void **ret_function, int version,
                              unsigned long long flags)
{
    return cuGetProcAddress_v2(symbol, ret_function, version, flags, NULL);
}
