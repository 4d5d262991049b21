/* SPDX-License-Identifier: MIT */
/* CUDA graphs of the tests' driver: memory nodes and stream capture. */
#include <stdlib.h>
#include <string.h>

#include "tests/preload/fake_driver.h"

#define NODES 64

struct node {
    int type;
    struct gp_cu_graph_alloc alloc;
};

struct graph { /* an executable graph is a copy of one */
    struct node nodes[NODES];
    size_t count;
};

_Thread_local int fake_capturing;
static struct graph captured;

gp_cu_result cuGraphCreate(gp_cu_graph *ret_graph, unsigned int flags)
{
    *ret_graph = calloc(1, sizeof(struct graph));
    return OK;
}

gp_cu_result cuGraphDestroy(gp_cu_graph graph)
{
    if (graph != &captured)
        free(graph);
    return OK;
}

static struct node *add_node(gp_cu_node *ret_node, struct graph *graph, int type)
{
    struct node *node = &graph->nodes[graph->count++];

    node->type = type;
    *ret_node = node;
    return node;
}

gp_cu_result cuGraphAddMemAllocNode(gp_cu_node *ret_node, gp_cu_graph graph,
                                    const gp_cu_node *inputs, size_t input_count,
                                    struct gp_cu_graph_alloc *params)
{
    pthread_mutex_lock(&fake_lock);
    params->address = fake_next_address;
    fake_next_address += params->size_bytes + 512;
    add_node(ret_node, graph, GP_CU_NODE_ALLOC)->alloc = *params;
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuGraphAddMemFreeNode(gp_cu_node *ret_node, gp_cu_graph graph,
                                   const gp_cu_node *inputs, size_t input_count,
                                   gp_cu_pointer address)
{
    add_node(ret_node, graph, GP_CU_NODE_FREE)->alloc.address = address;
    return OK;
}

gp_cu_result cuGraphGetNodes(gp_cu_graph graph, gp_cu_node *ret_nodes, size_t *count)
{
    struct graph *g = graph;

    for (size_t i = 0; ret_nodes != NULL && i < g->count && i < *count; i++)
        ret_nodes[i] = &g->nodes[i];
    *count = g->count;
    return OK;
}

gp_cu_result cuGraphNodeGetType(gp_cu_node node, gp_cu_enum *ret_type)
{
    *ret_type = ((struct node *)node)->type;
    return OK;
}

gp_cu_result cuGraphChildGraphNodeGetGraph(gp_cu_node node, gp_cu_graph *ret_graph)
{
    return INVALID;
}

gp_cu_result cuGraphMemAllocNodeGetParams(gp_cu_node node, struct gp_cu_graph_alloc *ret_params)
{
    *ret_params = ((struct node *)node)->alloc;
    return OK;
}

gp_cu_result cuGraphMemFreeNodeGetParams(gp_cu_node node, gp_cu_pointer *ret_address)
{
    *ret_address = ((struct node *)node)->alloc.address;
    return OK;
}

gp_cu_result cuGraphInstantiateWithFlags(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                         unsigned long long flags)
{
    *ret_exec = malloc(sizeof(struct graph));
    memcpy(*ret_exec, graph, sizeof(struct graph));
    return OK;
}

gp_cu_result cuGraphInstantiate_v2(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                   gp_cu_node *ret_error_node, char *log, size_t log_bytes)
{
    return cuGraphInstantiateWithFlags(ret_exec, graph, 0);
}

gp_cu_result cuGraphInstantiateWithParams(gp_cu_exec *ret_exec, gp_cu_graph graph, void *params)
{
    return cuGraphInstantiateWithFlags(ret_exec, graph, 0);
}

gp_cu_result cuGraphInstantiateWithParams_ptsz(gp_cu_exec *ret_exec, gp_cu_graph graph,
                                               void *params)
{
    return cuGraphInstantiateWithFlags(ret_exec, graph, 0);
}

gp_cu_result cuGraphLaunch(gp_cu_exec exec, gp_cu_stream stream)
{
    struct graph *graph = exec;

    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->type == GP_CU_NODE_ALLOC)
            fake_keep(node->alloc.address, node->alloc.size_bytes, fake_device(), NULL, false);
        else
            fake_drop(node->alloc.address);
    }
    pthread_mutex_unlock(&fake_lock);
    return OK;
}

gp_cu_result cuGraphLaunch_ptsz(gp_cu_exec exec, gp_cu_stream stream)
{
    return cuGraphLaunch(exec, stream);
}

gp_cu_result cuGraphExecDestroy(gp_cu_exec exec)
{
    free(exec);
    return OK;
}

gp_cu_result cuDeviceGetGraphMemAttribute(gp_cu_device device, gp_cu_enum attribute,
                                          void *ret_value)
{
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */
}

gp_cu_result cuStreamBeginCapture_v2(gp_cu_stream stream, gp_cu_enum mode)
{
    memset(&captured, 0, sizeof(captured));
    fake_capturing = 1;
    return OK;
}

gp_cu_result cuStreamBeginCapture_v2_ptsz(gp_cu_stream stream, gp_cu_enum mode)
{
    return cuStreamBeginCapture_v2(stream, mode);
}

gp_cu_result cuStreamBeginCaptureToGraph(gp_cu_stream stream, gp_cu_graph graph,
                                         const gp_cu_node *nodes, const void *edges,
                                         size_t node_count, gp_cu_enum mode)
{
    return 801;
}

gp_cu_result cuStreamBeginCaptureToGraph_ptsz(gp_cu_stream stream, gp_cu_graph graph,
                                              const gp_cu_node *nodes, const void *edges,
                                              size_t node_count, gp_cu_enum mode)
{
    return 801;
}

gp_cu_result cuStreamEndCapture(gp_cu_stream stream, gp_cu_graph *ret_graph)
{
    fake_capturing = 0;
    *ret_graph = &captured;
    return OK;
}

gp_cu_result cuStreamEndCapture_ptsz(gp_cu_stream stream, gp_cu_graph *ret_graph)
{
    return cuStreamEndCapture(stream, ret_graph);
}

gp_cu_result cuStreamIsCapturing(gp_cu_stream stream, gp_cu_enum *ret_status)
{
    *ret_status = fake_capturing;
    return OK;
}

gp_cu_result cuStreamIsCapturing_ptsz(gp_cu_stream stream, gp_cu_enum *ret_status)
{
    return cuStreamIsCapturing(stream, ret_status);
}

gp_cu_result fake_capture_alloc(gp_cu_pointer *ret_address, size_t size_bytes)
{
    return cuGraphAddMemAllocNode(&(gp_cu_node){0}, &captured, NULL, 0,
                                  &(struct gp_cu_graph_alloc){.size_bytes = size_bytes}) == OK
               ? (*ret_address = captured.nodes[captured.count - 1].alloc.address, OK)
               : INVALID;
}

gp_cu_result fake_capture_free(gp_cu_pointer address)
{
    return cuGraphAddMemFreeNode(&(gp_cu_node){0}, &captured, NULL, 0, address);
}
