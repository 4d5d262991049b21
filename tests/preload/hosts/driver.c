/* SPDX-License-Identifier: MIT */
/*
 * driver MODE WAY: uses the CUDA driver, one kind of memory a MODE, and gets at it in one of the ways that
 * programs have:
 *
 *   address  as every CUDA runtime does: dlopen, dlsym("cuGetProcAddress_v2"), cuGetProcAddress
 *   old      the same with the first form of cuGetProcAddress, and per-thread default streams
 *   later    the same as a program of a CUDA version that is not out yet
 *   symbol   dlopen and dlsym of each function
 *
 * Prints what it expects to be alive, in bytes of device memory, then ends without freeing it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/hooks/driver_types.h"

#define MIB ((size_t)1 << 20)

static void *library;
static const char *way;
static gp_cu_result (*get_address_v2)(const char *, void **, int, unsigned long long, gp_cu_enum *);
static gp_cu_result (*get_address)(const char *, void **, int, unsigned long long);

static void fail(const char *what)
{
    printf("failed: %s\n", what);
    exit(1);
}

static void check(gp_cu_result result, const char *what)
{
    if (result != GP_CU_SUCCESS)
        fail(what);
}

static int version = 13000; /* of CUDA, whose interface is wanted */

/* `symbol` is `name` with the ending that exported symbols have. */
static void *get(const char *name, const char *symbol)
{
    void *function = NULL;
    gp_cu_enum status;

    if (strcmp(way, "symbol") == 0)
        function = dlsym(library, symbol);
    else if (strcmp(way, "old") == 0)
        get_address(name, &function, version > 11040 ? 11040 : version, GP_CU_PER_THREAD_STREAM);
    else
        get_address_v2(name, &function,
                       version == 13000 && strcmp(way, "later") == 0 ? 14000 : version, 0, &status);
    if (function == NULL)
        fail(symbol);
    return function;
}

#define CALL(name, ending, parameters, ...)                                                        \
    check(((gp_cu_result(*) parameters)get(#name, #name ending))(__VA_ARGS__), #name)
#define TRY(name, ending, parameters, ...)                                                         \
    (((gp_cu_result(*) parameters)get(#name, #name ending))(__VA_ARGS__))

static gp_cu_context start(void)
{
    gp_cu_context context;

    CALL(cuInit, "", (unsigned), 0);
    CALL(cuDevicePrimaryCtxRetain, "", (gp_cu_context *, gp_cu_device), &context, 0);
    CALL(cuCtxSetCurrent, "", (gp_cu_context), context);
    return context;
}

static gp_cu_pointer allocate(size_t bytes)
{
    gp_cu_pointer address;

    CALL(cuMemAlloc, "_v2", (gp_cu_pointer *, size_t), &address, bytes);
    return address;
}

static void release(gp_cu_pointer address)
{
    CALL(cuMemFree, "_v2", (gp_cu_pointer), address);
}

static gp_cu_pointer allocate_async(size_t bytes)
{
    gp_cu_pointer address;

    CALL(cuMemAllocAsync, "", (gp_cu_pointer *, size_t, gp_cu_stream), &address, bytes, NULL);
    return address;
}

/* --- modes: each returns the bytes that are alive at its end ------------------------------------------ */

static size_t linear(void)
{
    gp_cu_pointer kept = allocate(3 * MIB), gone = allocate(5 * MIB), pitched;
    size_t pitch;

    CALL(cuMemAllocPitch, "_v2", (gp_cu_pointer *, size_t *, size_t, size_t, unsigned), &pitched,
         &pitch, 1000, 10, 4);
    release(gone);
    return kept != 0 ? 3 * MIB + pitch * 10 : 0;
}

static size_t managed(void)
{
    gp_cu_pointer address;

    CALL(cuMemAllocManaged, "", (gp_cu_pointer *, size_t, unsigned), &address, 2 * MIB, 1);
    return 2 * MIB;
}

static size_t host(void)
{
    void *address, *registered = malloc(4096);

    CALL(cuMemAllocHost, "_v2", (void **, size_t), &address, MIB);
    CALL(cuMemFreeHost, "", (void *), address);
    CALL(cuMemHostAlloc, "", (void **, size_t, unsigned), &address, MIB, 0);
    CALL(cuMemHostRegister, "_v2", (void *, size_t, unsigned), registered, (size_t)4096, 0);
    CALL(cuMemHostUnregister, "", (void *), registered);
    return 0;
}

static size_t async(void)
{
    gp_cu_pointer kept = allocate_async(7 * MIB), gone = allocate_async(9 * MIB), other;
    struct gp_cu_pool_props props = {.location_type = GP_CU_LOCATION_DEVICE, .location_id = 1};
    gp_cu_pool pool;

    CALL(cuMemPoolCreate, "", (gp_cu_pool *, const struct gp_cu_pool_props *), &pool, &props);
    CALL(cuMemAllocFromPoolAsync, "", (gp_cu_pointer *, size_t, gp_cu_pool, gp_cu_stream), &other,
         2 * MIB, pool, NULL);
    CALL(cuMemFreeAsync, "", (gp_cu_pointer, gp_cu_stream), gone, NULL);
    CALL(cuMemPoolTrimTo, "", (gp_cu_pool, size_t), pool, (size_t)0);
    return kept != 0 ? 9 * MIB : 0;
}

static gp_cu_physical create(size_t bytes)
{
    struct gp_cu_physical_prop prop = {.type = 1, .location_type = GP_CU_LOCATION_DEVICE};
    gp_cu_physical handle;

    CALL(cuMemCreate, "",
         (gp_cu_physical *, size_t, const struct gp_cu_physical_prop *, unsigned long long),
         &handle, bytes, &prop, 0);
    return handle;
}

static void map(gp_cu_pointer address, size_t bytes, gp_cu_physical handle)
{
    CALL(cuMemMap, "", (gp_cu_pointer, size_t, size_t, gp_cu_physical, unsigned long long), address,
         bytes, (size_t)0, handle, 0);
}

static void drop(gp_cu_physical handle)
{
    CALL(cuMemRelease, "", (gp_cu_physical), handle);
}

/* Physical memory lives until its last handle and its last mapping are gone, in whatever order. */
static size_t physical(void)
{
    gp_cu_physical mapped = create(2 * MIB), twice = create(4 * MIB), bare = create(6 * MIB), again;
    gp_cu_pointer range;

    CALL(cuMemAddressReserve, "",
         (gp_cu_pointer *, size_t, size_t, gp_cu_pointer, unsigned long long), &range, 32 * MIB,
         (size_t)0, 0, 0);
    map(range, 2 * MIB, mapped);
    map(range + 2 * MIB, 4 * MIB, twice);
    map(range + 8 * MIB, 4 * MIB, twice);
    drop(mapped);
    drop(twice);
    drop(bare); /* gone */
    CALL(cuMemUnmap, "", (gp_cu_pointer, size_t), range + 2 * MIB, 4 * MIB);
    CALL(cuMemRetainAllocationHandle, "", (gp_cu_physical *, void *), &again,
         (void *)(uintptr_t)(range + 8 * MIB));
    CALL(cuMemUnmap, "", (gp_cu_pointer, size_t), range + 8 * MIB, 4 * MIB);
    return 6 * MIB; /* `mapped` by its mapping, `twice` by the handle taken last */
}

static size_t array(void)
{
    struct gp_cu_array_desc plain = {100, 10, 0x20, 1};
    struct gp_cu_array3d_desc cube = {10, 10, 10, 0x20, 1, 0}, mips = {16, 16, 0, 0x20, 1, 0};
    gp_cu_array first, second;
    gp_cu_mipmap mipmap;

    CALL(cuArrayCreate, "_v2", (gp_cu_array *, const struct gp_cu_array_desc *), &first, &plain);
    CALL(cuArray3DCreate, "_v2", (gp_cu_array *, const struct gp_cu_array3d_desc *), &second,
         &cube);
    CALL(cuMipmappedArrayCreate, "", (gp_cu_mipmap *, const struct gp_cu_array3d_desc *, unsigned),
         &mipmap, &mips, 2u);
    CALL(cuArrayDestroy, "", (gp_cu_array), second);
    return (size_t)100 * 10 * 4 + (16 * 16 + 8 * 8) * 4;
}

static gp_cu_exec instantiate(gp_cu_graph graph)
{
    gp_cu_exec exec;

    CALL(cuGraphInstantiateWithFlags, "", (gp_cu_exec *, gp_cu_graph, unsigned long long), &exec,
         graph, 0);
    return exec;
}

static void launch(gp_cu_exec exec)
{
    CALL(cuGraphLaunch, "", (gp_cu_exec, gp_cu_stream), exec, NULL);
}

/* One node frees in the graph what another allocated, one allocation stays and is freed by hand. */
static size_t graph(void)
{
    struct gp_cu_graph_alloc inside = {.size_bytes = 3 * MIB}, kept = {.size_bytes = 2 * MIB};
    gp_cu_graph made, captured;
    gp_cu_pointer address;
    gp_cu_node node;
    gp_cu_exec exec;

    CALL(cuGraphCreate, "", (gp_cu_graph *, unsigned), &made, 0);
    CALL(cuGraphAddMemAllocNode, "",
         (gp_cu_node *, gp_cu_graph, const gp_cu_node *, size_t, struct gp_cu_graph_alloc *), &node,
         made, NULL, (size_t)0, &inside);
    CALL(cuGraphAddMemAllocNode, "",
         (gp_cu_node *, gp_cu_graph, const gp_cu_node *, size_t, struct gp_cu_graph_alloc *), &node,
         made, NULL, (size_t)0, &kept);
    CALL(cuGraphAddMemFreeNode, "",
         (gp_cu_node *, gp_cu_graph, const gp_cu_node *, size_t, gp_cu_pointer), &node, made, NULL,
         (size_t)0, inside.address);
    exec = instantiate(made);
    launch(exec);
    CALL(cuMemFreeAsync, "", (gp_cu_pointer, gp_cu_stream), kept.address, NULL);
    launch(exec);
    CALL(cuGraphExecDestroy, "", (gp_cu_exec), exec);
    /* captured: the call allocates nothing, the launch does */
    CALL(cuStreamBeginCapture, "_v2", (gp_cu_stream, gp_cu_enum), NULL, 0);
    address = allocate_async(5 * MIB);
    CALL(cuStreamEndCapture, "", (gp_cu_stream, gp_cu_graph *), NULL, &captured);
    launch(instantiate(captured));
    return address != 0 ? 7 * MIB : 0;
}

static size_t context(void)
{
    gp_cu_context first = start(), own;
    size_t kept = MIB;

    allocate(kept);
    version = 3020;
    CALL(cuCtxCreate, "_v2", (gp_cu_context *, unsigned, gp_cu_device), &own, 0, 0);
    version = 13000;
    allocate(8 * MIB);
    allocate_async(2 * MIB); /* of the device's pool, not of the context */
    CALL(cuCtxSetCurrent, "", (gp_cu_context), first);
    allocate(4 * MIB);
    CALL(cuCtxDestroy, "_v2", (gp_cu_context), own);
    return kept + 2 * MIB + 4 * MIB;
}

static size_t primary(void)
{
    allocate(8 * MIB);
    CALL(cuDevicePrimaryCtxRelease, "_v2", (gp_cu_device), 0);
    start();
    allocate(MIB);
    return MIB;
}

static size_t imported(void)
{
    struct gp_cu_ipc_handle handle = {{0}};
    gp_cu_pointer address, buffer;
    struct gp_cu_external_buffer desc = {.size = 4096};

    CALL(cuIpcOpenMemHandle, "_v2", (gp_cu_pointer *, struct gp_cu_ipc_handle, unsigned), &address,
         handle, 1);
    CALL(cuExternalMemoryGetMappedBuffer, "",
         (gp_cu_pointer *, gp_cu_external, const struct gp_cu_external_buffer *), &buffer, NULL,
         &desc);
    CALL(cuIpcCloseMemHandle, "", (gp_cu_pointer), address);
    return 0;
}

static size_t refused(void)
{
    gp_cu_pointer address;
    size_t free_bytes, total_bytes;

    allocate(64 * MIB);
    if (TRY(cuMemAlloc, "_v2", (gp_cu_pointer *, size_t), &address, 65 * MIB) !=
        GP_CU_ERROR_OUT_OF_MEMORY)
        fail("the second allocation was not refused");
    CALL(cuMemGetInfo, "_v2", (size_t *, size_t *), &free_bytes, &total_bytes);
    if (total_bytes != 128 * MIB || free_bytes > 64 * MIB)
        fail("the limit does not show");
    return 64 * MIB;
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        size_t (*run)(void);
    } modes[] = {{"linear", linear},     {"managed", managed},   {"host", host},
                 {"async", async},       {"physical", physical}, {"array", array},
                 {"graph", graph},       {"context", context},   {"primary", primary},
                 {"imported", imported}, {"refused", refused}};

    way = argv[2];
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        fail(dlerror());
    get_address_v2 = (gp_cu_result(*)(const char *, void **, int, unsigned long long,
                                      gp_cu_enum *))dlsym(library, "cuGetProcAddress_v2");
    get_address = (gp_cu_result(*)(const char *, void **, int, unsigned long long))dlsym(
        library, "cuGetProcAddress");
    start();
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            printf("%zu\n", modes[i].run());
    return 0;
}
