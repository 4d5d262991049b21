/* SPDX-License-Identifier: MIT */
#include "viewer/dominator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/memory.h"

int gv_digraph_build(uint32_t vertices, uint32_t edges, const uint32_t *from, const uint32_t *to,
                     struct gv_digraph *ret_graph)
{
    uint32_t *first = gv_zeroed((size_t)vertices + 2, sizeof(*first));
    uint32_t *targets = gv_zeroed(edges, sizeof(*targets));
    if (!first || !targets) {
        free(first);
        free(targets);
        return -ENOMEM;
    }
    /* counting sort; first[v + 1] is where row v is being filled, so it ends as row v's end */
    for (uint32_t i = 0; i < edges; i++)
        first[from[i] + 2]++;
    for (uint32_t v = 1; v <= vertices; v++)
        first[v + 1] += first[v];
    for (uint32_t i = 0; i < edges; i++)
        targets[first[from[i] + 1]++] = to[i];
    *ret_graph = (struct gv_digraph){vertices, edges, first, targets};
    return 0;
}

void gv_digraph_free(struct gv_digraph *graph)
{
    free(graph->first);
    free(graph->to);
    memset(graph, 0, sizeof(*graph));
}

/* All but `number` are indexed by preorder number, 0 = the entry. */
struct work {
    uint32_t reached;
    uint32_t *vertex; /* number -> vertex */
    uint32_t *number; /* vertex -> number, GV_NONE: not reached */
    uint32_t *parent; /* in the depth-first tree; compressed towards the forest's root by `evaluate`
                         once the vertex is linked, i.e. larger than the one being processed */
    uint32_t *semi;   /* semidominator */
    uint32_t *label;  /* vertex of least semi on the compressed path */
    uint32_t *idom;   /* while w waits in a bucket: the next one in it */
    uint32_t *bucket; /* first w whose semidominator this is; the search's cursor before that */
};

static void work_free(struct work *work)
{
    free(work->vertex);
    free(work->number);
    free(work->parent);
    free(work->semi);
    free(work->label);
    free(work->idom);
    free(work->bucket);
}

static int work_init(struct work *work, uint32_t vertices)
{
    uint32_t **arrays[] = {&work->vertex, &work->number, &work->parent, &work->semi,
                           &work->label,  &work->idom,   &work->bucket};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        *arrays[i] = gv_zeroed(vertices, sizeof(uint32_t));
        if (!*arrays[i])
            return -ENOMEM;
    }
    memset(work->number, 0xff, (size_t)vertices * sizeof(uint32_t));
    return 0;
}

static uint32_t visit(struct work *work, const struct gv_digraph *graph, uint32_t vertex,
                      uint32_t parent)
{
    uint32_t number = work->reached++;
    work->vertex[number] = vertex;
    work->number[vertex] = number;
    work->parent[number] = parent;
    work->bucket[number] = graph->first[vertex];
    return number;
}

/* Depth first from the entry; the tree's own parent pointers are the stack. */
static void search(struct work *work, const struct gv_digraph *graph, uint32_t entry)
{
    uint32_t current = visit(work, graph, entry, 0);
    for (;;) {
        uint32_t vertex = work->vertex[current];
        if (work->bucket[current] < graph->first[vertex + 1]) {
            uint32_t next = graph->to[work->bucket[current]++];
            if (work->number[next] == GV_NONE)
                current = visit(work, graph, next, current);
        } else if (current == 0) {
            return;
        } else {
            current = work->parent[current];
        }
    }
}

/* The vertex of least semidominator on the path from v up to, not including, the root of its tree
 * in the forest of vertices linked so far (those >= linked). `stack` has room for every vertex. */
static uint32_t evaluate(struct work *work, uint32_t v, uint32_t linked, uint32_t *stack)
{
    uint32_t *parent = work->parent, *label = work->label, *semi = work->semi;
    if (v < linked || parent[v] < linked)
        return label[v];
    uint32_t depth = 0;
    do {
        stack[depth++] = v;
        v = parent[v];
    } while (parent[v] >= linked);
    while (depth > 0) {
        uint32_t child = stack[--depth];
        if (semi[label[v]] < semi[label[child]])
            label[child] = label[v];
        parent[child] = parent[v];
        v = child;
    }
    return label[v];
}

/* Everything whose semidominator is `p`, now that all of p's child `w`'s subtree is linked. */
static void empty_bucket(struct work *work, uint32_t p, uint32_t w, uint32_t *stack)
{
    uint32_t v = work->bucket[p];
    work->bucket[p] = GV_NONE;
    while (v != GV_NONE) {
        uint32_t next = work->idom[v];
        uint32_t u = evaluate(work, v, w, stack);
        work->idom[v] = work->semi[u] < work->semi[v] ? u : p;
        v = next;
    }
}

static void semidominators(struct work *work, const struct gv_digraph *predecessors,
                           uint32_t *stack)
{
    for (uint32_t w = 0; w < work->reached; w++) {
        work->semi[w] = work->label[w] = w;
        work->bucket[w] = GV_NONE;
    }
    for (uint32_t w = work->reached - 1; w > 0; w--) {
        uint32_t vertex = work->vertex[w], p = work->parent[w];
        for (uint32_t i = predecessors->first[vertex]; i < predecessors->first[vertex + 1]; i++) {
            uint32_t v = work->number[predecessors->to[i]];
            if (v == GV_NONE)
                continue;
            uint32_t u = evaluate(work, v, w + 1, stack);
            if (work->semi[u] < work->semi[w])
                work->semi[w] = work->semi[u];
        }
        work->idom[w] = work->bucket[work->semi[w]];
        work->bucket[work->semi[w]] = w;
        empty_bucket(work, p, w, stack);
    }
}

/* Into the result: by vertex instead of by number. */
static void finish(struct work *work, uint32_t vertices, uint32_t *ret_idom)
{
    work->idom[0] = 0;
    for (uint32_t w = 1; w < work->reached; w++)
        if (work->idom[w] != work->semi[w])
            work->idom[w] = work->idom[work->idom[w]];
    memset(ret_idom, 0xff, (size_t)vertices * sizeof(*ret_idom));
    for (uint32_t w = 0; w < work->reached; w++)
        ret_idom[work->vertex[w]] = work->vertex[work->idom[w]];
}

int gv_dominators_build(struct gv_digraph *successors, const struct gv_digraph *predecessors,
                        uint32_t entry, struct gv_dominators *ret_dominators)
{
    struct work work = {0};
    uint32_t vertices = successors->vertices;
    int r = work_init(&work, vertices);
    if (r == 0)
        search(&work, successors, entry);
    gv_digraph_free(successors);
    uint32_t *scratch = r == 0 ? gv_zeroed(vertices, sizeof(*scratch)) : NULL;
    if (!scratch) {
        work_free(&work);
        return -ENOMEM;
    }
    semidominators(&work, predecessors, scratch);
    finish(&work, vertices, scratch); /* the evaluation stack becomes the result */
    *ret_dominators = (struct gv_dominators){work.reached, work.vertex, scratch};
    work.vertex = NULL;
    work_free(&work);
    return 0;
}

void gv_dominators_free(struct gv_dominators *dominators)
{
    free(dominators->preorder);
    free(dominators->idom);
    memset(dominators, 0, sizeof(*dominators));
}
