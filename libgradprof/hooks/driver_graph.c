/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of CUDA graphs. What an executable graph's memory nodes allocate and free is read when it is
 * instantiated, through the driver's own interface, and told at each launch.
 */
#include <pthread.h>

#include "libgradprof/core/memory.h"
#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/driver_exports.h"
#include "libgradprof/hooks/graphs.h"

#define DEPTH_MAX 8u          /* of child graphs within child graphs */
#define CAPTURE_STATUS_NONE 0 /* CU_STREAM_CAPTURE_STATUS_NONE */

struct node { /* a memory node of an executable graph */
    uint64_t address, size_bytes;
    int device;
    bool frees;
};

struct exec {
    struct exec *next;
    gp_cu_exec handle;
    size_t count, capacity; /* of nodes, in pages of their own */
    struct node *nodes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the list; nodes never change */
static struct gp_arena arena;
static struct exec *execs, *free_execs;
static _Atomic uint32_t exec_count; /* in the list */
static _Atomic uint32_t captures;   /* under way in this process */

void gp_graphs_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    atomic_store(&captures, 0);
}

/* --- captures ------------------------------------------------------------------------------------------------ */

bool gp_any_capture(void)
{
    return atomic_load_explicit(&captures, memory_order_relaxed) > 0;
}

bool gp_stream_is_captured(void *stream, bool per_thread)
{
    gp_cu_enum status = CAPTURE_STATUS_NONE;
    gp_cu_result result;

    if (__builtin_expect(!gp_any_capture(), 1))
        return false;
    result = per_thread ? gp_real_cuStreamIsCapturing_ptsz()(stream, &status)
                        : gp_real_cuStreamIsCapturing()(stream, &status);
    return result == GP_CU_SUCCESS && status != CAPTURE_STATUS_NONE;
}

static gp_cu_result begun(gp_cu_result result)
{
    if (result == GP_CU_SUCCESS)
        atomic_fetch_add(&captures, 1);
    return result;
}

/* A capture that failed has ended as well; only one that was never there has not. */
static gp_cu_result ended(gp_cu_result result)
{
    uint32_t before = atomic_load(&captures);

    while (before > 0 && !atomic_compare_exchange_weak(&captures, &before, before - 1))
        ;
    return result;
}

gp_cu_result cuStreamBeginCapture_v2(gp_cu_stream stream, gp_cu_enum mode)
{
    return begun(gp_real_cuStreamBeginCapture_v2()(stream, mode));
}

gp_cu_result cuStreamBeginCapture_v2_ptsz(gp_cu_stream stream, gp_cu_enum mode)
{
    return begun(gp_real_cuStreamBeginCapture_v2_ptsz()(stream, mode));
}

gp_cu_result cuStreamBeginCaptureToGraph(gp_cu_stream stream, gp_cu_graph graph,
                                         const gp_cu_node *nodes, const void *edges,
                                         size_t node_count, gp_cu_enum mode)
{
    return begun(
        gp_real_cuStreamBeginCaptureToGraph()(stream, graph, nodes, edges, node_count, mode));
}

gp_cu_result cuStreamBeginCaptureToGraph_ptsz(gp_cu_stream stream, gp_cu_graph graph,
                                              const gp_cu_node *nodes, const void *edges,
                                              size_t node_count, gp_cu_enum mode)
{
    return begun(
        gp_real_cuStreamBeginCaptureToGraph_ptsz()(stream, graph, nodes, edges, node_count, mode));
}

gp_cu_result cuStreamEndCapture(gp_cu_stream stream, gp_cu_graph *ret_graph)
{
    return ended(gp_real_cuStreamEndCapture()(stream, ret_graph));
}

gp_cu_result cuStreamEndCapture_ptsz(gp_cu_stream stream, gp_cu_graph *ret_graph)
{
    return ended(gp_real_cuStreamEndCapture_ptsz()(stream, ret_graph));
}

/* --- the memory nodes of a graph -------------------------------------------------------------------------------- */

static bool grow(struct exec *exec)
{
    size_t capacity = exec->capacity == 0 ? 64 : exec->capacity * 2;
    struct node *nodes = gp_pages_map(capacity * sizeof(*nodes));

    if (nodes == NULL)
        return false;
    for (size_t i = 0; i < exec->count; i++)
        nodes[i] = exec->nodes[i];
    gp_pages_unmap(exec->nodes, exec->capacity * sizeof(*nodes));
    exec->nodes = nodes;
    exec->capacity = capacity;
    return true;
}

static void add_node(struct exec *exec, struct node node)
{
    if (exec->count < exec->capacity || grow(exec))
        exec->nodes[exec->count++] = node;
}

static void read_graph(struct exec *exec, gp_cu_graph graph, unsigned depth);

static void read_node(struct exec *exec, gp_cu_node node, unsigned depth)
{
    struct gp_cu_graph_alloc alloc;
    gp_cu_pointer address;
    gp_cu_enum type = 0;
    gp_cu_graph child;

    if (gp_real_cuGraphNodeGetType()(node, &type) != GP_CU_SUCCESS)
        return;
    if (type == GP_CU_NODE_GRAPH &&
        gp_real_cuGraphChildGraphNodeGetGraph()(node, &child) == GP_CU_SUCCESS)
        read_graph(exec, child, depth + 1);
    if (type == GP_CU_NODE_ALLOC &&
        gp_real_cuGraphMemAllocNodeGetParams()(node, &alloc) == GP_CU_SUCCESS)
        add_node(exec,
                 (struct node){alloc.address, alloc.size_bytes, alloc.pool.location_id, false});
    if (type == GP_CU_NODE_FREE &&
        gp_real_cuGraphMemFreeNodeGetParams()(node, &address) == GP_CU_SUCCESS)
        add_node(exec, (struct node){.address = address, .frees = true});
}

static void read_graph(struct exec *exec, gp_cu_graph graph, unsigned depth)
{
    size_t count = 0, bytes;
    gp_cu_node *nodes;

    if (depth > DEPTH_MAX || gp_real_cuGraphGetNodes()(graph, NULL, &count) != GP_CU_SUCCESS ||
        count == 0)
        return;
    bytes = count * sizeof(*nodes);
    nodes = gp_pages_map(bytes);
    if (nodes == NULL)
        return;
    if (gp_real_cuGraphGetNodes()(graph, nodes, &count) == GP_CU_SUCCESS)
        for (size_t i = 0; i < count; i++)
            read_node(exec, nodes[i], depth);
    gp_pages_unmap(nodes, bytes);
}

/* --- executable graphs ---------------------------------------------------------------------------------------------- */

static void remember(struct exec exec)
{
    struct exec *kept;

    pthread_mutex_lock(&lock);
    kept = free_execs;
    if (kept != NULL)
        free_execs = kept->next;
    else
        kept = gp_arena_alloc(&arena, sizeof(*kept));
    if (kept != NULL) {
        *kept = exec;
        kept->next = execs;
        execs = kept;
        atomic_fetch_add(&exec_count, 1);
    }
    pthread_mutex_unlock(&lock);
}

static gp_cu_result instantiated(gp_cu_result result, const gp_cu_exec *handle, gp_cu_graph graph)
{
    struct exec exec = {0};

    if (result != GP_CU_SUCCESS)
        return result;
    exec.handle = *handle;
    read_graph(&exec, graph, 0);
    if (exec.count > 0) /* graphs without memory nodes, most of them, cost nothing further */
        remember(exec);
    return result;
}

gp_cu_result cuGraphInstantiateWithFlags(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                         unsigned long long flags)
{
    return instantiated(gp_real_cuGraphInstantiateWithFlags()(ret_exec, graph, flags), ret_exec,
                        graph);
}

gp_cu_result cuGraphInstantiate_v2(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                   gp_cu_node *ret_error_node, char *log, size_t log_bytes)
{
    return instantiated(
        gp_real_cuGraphInstantiate_v2()(ret_exec, graph, ret_error_node, log, log_bytes), ret_exec,
        graph);
}

gp_cu_result cuGraphInstantiateWithParams(gp_cu_exec *ret_exec, gp_cu_graph graph, void *params)
{
    return instantiated(gp_real_cuGraphInstantiateWithParams()(ret_exec, graph, params), ret_exec,
                        graph);
}

gp_cu_result cuGraphInstantiateWithParams_ptsz(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                               void *params)
{
    return instantiated(gp_real_cuGraphInstantiateWithParams_ptsz()(ret_exec, graph, params),
                        ret_exec, graph);
}

gp_cu_result cuGraphExecDestroy(gp_cu_exec exec)
{
    struct exec **place = &execs, *gone;

    pthread_mutex_lock(&lock);
    while (*place != NULL && (*place)->handle != exec)
        place = &(*place)->next;
    gone = *place;
    if (gone != NULL) {
        *place = gone->next;
        atomic_fetch_sub(&exec_count, 1);
        gp_pages_unmap(gone->nodes, gone->capacity * sizeof(*gone->nodes));
        gone->next = free_execs;
        free_execs = gone;
    }
    pthread_mutex_unlock(&lock);
    return gp_real_cuGraphExecDestroy()(exec);
}

/* --- launches ------------------------------------------------------------------------------------------------------- */

static const struct exec *find(gp_cu_exec handle)
{
    const struct exec *exec;

    if (atomic_load_explicit(&exec_count, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    exec = execs;
    while (exec != NULL && exec->handle != handle)
        exec = exec->next;
    pthread_mutex_unlock(&lock);
    return exec;
}

static bool allocates(const struct exec *exec, uint64_t address)
{
    for (size_t i = 0; i < exec->count; i++)
        if (!exec->nodes[i].frees && exec->nodes[i].address == address)
            return true;
    return false;
}

/* Frees of what other launches allocated go before the launch, as every release does. */
static void tell_frees(struct gp_call *call, const struct exec *exec, bool own)
{
    for (size_t i = 0; i < exec->count; i++) {
        const struct node *node = &exec->nodes[i];
        if (node->frees && allocates(exec, node->address) == own)
            gp_release_begin(call, GP_KIND_GRAPH, (const void *)(uintptr_t)node->address, NULL);
    }
}

static void tell_allocations(struct gp_call *call, const struct exec *exec, gp_cu_stream stream)
{
    for (size_t i = 0; i < exec->count; i++) {
        const struct node *node = &exec->nodes[i];
        if (node->frees)
            continue;
        gp_allocation_begin(call, GP_KIND_GRAPH, node->size_bytes, node->device);
        gp_allocation_done(call, (const void *)(uintptr_t)node->address, node->size_bytes, stream);
    }
}

/* `launch`: the form for the caller's kind of default stream. */
static gp_cu_result launched(gp_cu_exec handle, gp_cu_stream stream,
                             gp_cu_result (*launch)(gp_cu_exec, gp_cu_stream))
{
    const struct exec *exec = find(handle);
    struct gp_call call;
    gp_cu_result result;

    if (exec == NULL)
        return launch(handle, stream);
    gp_call_begin(&call, "cuGraphLaunch", &gp_driver_devices);
    tell_frees(&call, exec, false);
    result = launch(handle, stream);
    if (result == GP_CU_SUCCESS) {
        tell_allocations(&call, exec, stream);
        tell_frees(&call, exec, true);
    }
    gp_call_end(&call);
    return result;
}

gp_cu_result cuGraphLaunch(gp_cu_exec exec, gp_cu_stream stream)
{
    return launched(exec, stream, gp_real_cuGraphLaunch());
}

gp_cu_result cuGraphLaunch_ptsz(gp_cu_exec exec, gp_cu_stream stream)
{
    return launched(exec, stream, gp_real_cuGraphLaunch_ptsz());
}
