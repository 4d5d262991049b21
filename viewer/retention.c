/* SPDX-License-Identifier: MIT */
#include "viewer/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY 0u

struct builder {
    const struct gv_rows *rows;
    const struct gv_names *names;
    int index;
    struct gv_roots *roots;
    struct gv_retention *out;
    uint32_t vertices;
    uint32_t *from, *to;
    uint32_t edges;
    uint32_t *top; /* by vertex, see find_tops */
};

static uint32_t root_vertex(uint32_t root)
{
    return 1 + 2 * root;
}

/* The root's graph edge: what `detach` cuts. */
static uint32_t edge_vertex(uint32_t root)
{
    return 2 + 2 * root;
}

static bool is_live(const struct builder *b, uint8_t live)
{
    return live >> b->index & 1;
}

static bool is_live_node(const struct builder *b, uint32_t node)
{
    return node != GV_NONE && is_live(b, b->rows->nodes[node].live);
}

static bool is_live_allocation(const struct builder *b, uint32_t allocation)
{
    return allocation != GV_NONE && is_live(b, b->rows->allocations[allocation].live);
}

static void connect(struct builder *b, uint32_t from, uint32_t to)
{
    b->from[b->edges] = from;
    b->to[b->edges++] = to;
}

static void connect_roots(struct builder *b)
{
    for (uint32_t root = 0; root < b->roots->count; root++) {
        connect(b, ENTRY, root_vertex(root));
        connect(b, root_vertex(root), edge_vertex(root));
    }
    for (uint32_t i = 0; i < b->rows->handle_count; i++) {
        const struct gv_handle *handle = &b->rows->handles[i];
        uint32_t root = b->roots->of_handle[i];
        if (root == GV_NONE)
            continue;
        if (is_live_allocation(b, handle->allocation))
            connect(b, root_vertex(root), b->out->allocation_base + handle->allocation);
        if (is_live_node(b, handle->node))
            connect(b, edge_vertex(root), b->out->node_base + handle->node);
    }
}

static void connect_nodes(struct builder *b)
{
    for (uint32_t i = 0; i < b->rows->edge_count; i++) {
        const struct gv_edge *edge = &b->rows->edges[i];
        if (is_live_node(b, edge->node) && is_live_node(b, edge->input))
            connect(b, b->out->node_base + edge->node, b->out->node_base + edge->input);
    }
    for (uint32_t i = 0; i < b->rows->saved_count; i++) {
        const struct gv_saved *saved = &b->rows->saved[i];
        if (!is_live(b, saved->live))
            continue;
        uint32_t node = b->out->node_base + saved->node;
        if (is_live_allocation(b, saved->allocation))
            connect(b, node, b->out->allocation_base + saved->allocation);
        if (is_live_node(b, saved->source))
            connect(b, node, b->out->node_base + saved->source);
    }
}

static int connect_all(struct builder *b)
{
    const struct gv_rows *rows = b->rows;
    uint64_t edges = 2 * (uint64_t)b->roots->count + 2 * (uint64_t)rows->handle_count +
                     rows->edge_count + 2 * (uint64_t)rows->saved_count;
    uint64_t vertices = 1 + 2 * (uint64_t)b->roots->count + rows->node_index.count +
                        (uint64_t)rows->allocation_index.count;
    if (edges >= GV_NONE || vertices >= GV_NONE)
        return -EOVERFLOW;
    b->vertices = (uint32_t)vertices;
    b->out->node_base = 1 + 2 * b->roots->count;
    b->out->allocation_base = b->out->node_base + rows->node_index.count;
    b->from = gv_zeroed(edges, sizeof(*b->from));
    b->to = gv_zeroed(edges, sizeof(*b->to));
    if (!b->from || !b->to)
        return -ENOMEM;
    connect_roots(b);
    connect_nodes(b);
    return 0;
}

static int dominators(struct builder *b, struct gv_dominators *ret_tree)
{
    struct gv_digraph successors = {0};
    int r = gv_digraph_build(b->vertices, b->edges, b->from, b->to, &successors);
    if (r == 0)
        r = gv_digraph_build(b->vertices, b->edges, b->to, b->from, &b->out->predecessors);
    free(b->from);
    free(b->to);
    b->from = b->to = NULL;
    if (r < 0) {
        gv_digraph_free(&successors);
        return r;
    }
    return gv_dominators_build(&successors, &b->out->predecessors, ENTRY, ret_tree);
}

/* top[v]: the vertex that v hangs below. A root's vertex or its graph edge when the root retains v;
 * another vertex when v is shared; GV_NONE when no root reaches v. */
static int find_tops(struct builder *b)
{
    struct gv_dominators tree;
    int r = dominators(b, &tree);
    if (r < 0)
        return r;
    b->top = tree.idom; /* in place: a dominator comes before what it dominates */
    tree.idom = NULL;
    for (uint32_t i = 1; i < tree.reached; i++) {
        uint32_t v = tree.preorder[i], above = b->top[v];
        bool is_edge = v < b->out->node_base && v == edge_vertex((v - 2) / 2);
        b->top[v] = above == ENTRY || is_edge ? v : b->top[above];
    }
    gv_dominators_free(&tree);
    return 0;
}

/* The root that retains `vertex`, GV_NONE: shared or not reached. */
static uint32_t retaining_root(const struct builder *b, uint32_t vertex)
{
    uint32_t top = b->top[vertex];
    return top < b->out->node_base ? (top - 1) / 2 : GV_NONE;
}

/* Sums over storages; `shares` collects (top vertex) -> bytes of what is shared. */
static int sum_storages(struct builder *b, struct gv_tally *shares)
{
    struct gv_retention *out = b->out;
    for (uint32_t i = 0; i < b->rows->allocation_index.count; i++) {
        const struct gv_allocation *a = &b->rows->allocations[i];
        if (!is_live(b, a->live) || !gv_is_device_memory(a))
            continue;
        uint32_t vertex = out->allocation_base + i, top = b->top[vertex];
        uint32_t root = retaining_root(b, vertex);
        out->live_bytes += gv_bytes_at(a, b->index);
        if (root != GV_NONE) {
            out->retained_bytes += gv_bytes_at(a, b->index);
            b->roots->roots[root].retained_bytes += gv_bytes_at(a, b->index);
            if (top == edge_vertex(root))
                b->roots->roots[root].detach_bytes += gv_bytes_at(a, b->index);
        } else if (top != GV_NONE) {
            out->shared_bytes += gv_bytes_at(a, b->index);
            out->shared_owner_bytes[gv_owner_of(b->names, a, b->index)] += gv_bytes_at(a, b->index);
            if (gv_tally_add(shares, top, 0, 0, gv_bytes_at(a, b->index)) < 0)
                return -ENOMEM;
        } else {
            out->rest_bytes += gv_bytes_at(a, b->index);
            out->rest_owner_bytes[gv_owner_of(b->names, a, b->index)] += gv_bytes_at(a, b->index);
        }
    }
    return 0;
}

/* A tensor that two handles of one root share counts once. */
static int sum_own_storages(struct builder *b)
{
    struct gv_tally seen = {0};
    int r = 0;
    for (uint32_t i = 0; i < b->rows->handle_count && r == 0; i++) {
        uint32_t root = b->roots->of_handle[i], allocation = b->rows->handles[i].allocation;
        if (root == GV_NONE || !is_live_allocation(b, allocation) ||
            !gv_is_device_memory(&b->rows->allocations[allocation]))
            continue;
        struct gv_tally_row *row = gv_tally_row(&seen, root, allocation, 0);
        if (!row)
            r = -ENOMEM;
        else if (row->count++ == 0)
            b->roots->roots[root].own_bytes +=
                gv_bytes_at(&b->rows->allocations[allocation], b->index);
    }
    gv_tally_free(&seen);
    return r;
}

static void count_step(struct gv_graphs *graphs, uint32_t step)
{
    if (step && (!graphs->first_step || step < graphs->first_step))
        graphs->first_step = step;
    if (step > graphs->last_step)
        graphs->last_step = step;
}

/* The node at a parameter's end of the graph belongs to the parameter more than to a step: one made
 * in step 1 may serve every later graph, so it says nothing about graphs of earlier steps. */
static bool is_accumulator(const struct builder *b, const struct gv_node *node)
{
    const char *op = gv_name(b->names, node->op_id);
    return op && strcmp(op, "AccumulateGrad") == 0;
}

static struct gv_graphs *keeper(struct builder *b, uint32_t node, uint32_t *ret_who)
{
    uint32_t vertex = b->out->node_base + node, root = retaining_root(b, vertex);
    bool reached = b->top[vertex] != GV_NONE;
    *ret_who = root != GV_NONE ? root : reached ? b->roots->count : b->roots->count + 1;
    if (root != GV_NONE)
        return &b->roots->roots[root].kept;
    return reached ? &b->out->shared : &b->out->rest;
}

static int sum_nodes(struct builder *b)
{
    struct gv_tally steps = {
        0}; /* (who, step), who: a root, or how many there are for shared nodes,
                                    or one more for the rest */
    int r = 0;
    for (uint32_t i = 0; i < b->rows->node_index.count && r == 0; i++) {
        const struct gv_node *node = &b->rows->nodes[i];
        if (!is_live(b, node->live))
            continue;
        b->out->live_nodes++;
        uint32_t who;
        struct gv_graphs *graphs = keeper(b, i, &who);
        graphs->nodes++;
        if (is_accumulator(b, node))
            continue;
        count_step(graphs, node->step_id);
        struct gv_tally_row *row = gv_tally_row(&steps, who, node->step_id, 0);
        if (!row)
            r = -ENOMEM;
        else if (row->count++ == 0)
            graphs->graphs++;
    }
    gv_tally_free(&steps);
    return r;
}

/* By storage: the first live saved slot that keeps it, GV_NONE: none. */
static uint32_t *first_slots(const struct builder *b)
{
    uint32_t *first = gv_zeroed(b->rows->allocation_index.count, sizeof(*first));
    if (!first)
        return NULL;
    memset(first, 0xff, b->rows->allocation_index.count * sizeof(*first));
    for (uint32_t i = b->rows->saved_count; i > 0; i--) {
        const struct gv_saved *saved = &b->rows->saved[i - 1];
        if (is_live(b, saved->live) && saved->allocation != GV_NONE)
            first[saved->allocation] = i - 1;
    }
    return first;
}

static int add_to_group(struct builder *b, uint32_t allocation, uint32_t first_slot)
{
    uint32_t root = retaining_root(b, b->out->allocation_base + allocation);
    const struct gv_allocation *a = &b->rows->allocations[allocation];
    if (root == GV_NONE || !gv_is_device_memory(a))
        return 0;
    const struct gv_saved *saved = first_slot == GV_NONE ? NULL : &b->rows->saved[first_slot];
    struct gv_tally_row *row =
        gv_tally_row(&b->out->groups, root, saved ? b->rows->nodes[saved->node].op_id : 0,
                     saved ? saved->slot_id : 0);
    if (!row)
        return -ENOMEM;
    if (row->count == 0 ||
        gv_bytes_at(a, b->index) >= gv_bytes_at(&b->rows->allocations[row->value], b->index))
        row->value = allocation; /* the youngest of the largest: the shortest path */
    row->count++;
    row->bytes += gv_bytes_at(a, b->index);
    return 0;
}

static int group_storages(struct builder *b)
{
    uint32_t *first = first_slots(b);
    int r = first ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < b->rows->allocation_index.count && r == 0; i++)
        if (is_live(b, b->rows->allocations[i].live))
            r = add_to_group(b, i, first[i]);
    free(first);
    if (r < 0)
        return r;
    gv_tally_sort(&b->out->groups);
    b->out->largest = gv_zeroed(b->out->groups.count, sizeof(*b->out->largest));
    if (!b->out->largest)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->out->groups.count; i++)
        b->out->largest[i] = b->out->groups.rows[i].value;
    return 0;
}

/* Breadth first against the edges from `start`. A queue of every vertex that reaches it, with the
 * next vertex towards `start`; stops once `stop` is found (GV_NONE: never). */
struct search {
    uint32_t *queue, *next; /* next: by vertex, GV_NONE: not seen */
    uint32_t seen;
};

static int search_back(const struct gv_digraph *predecessors, uint32_t start, uint32_t stop,
                       struct search *ret_search)
{
    struct search s = {0};
    s.queue = gv_zeroed(predecessors->vertices, sizeof(*s.queue));
    s.next = gv_zeroed(predecessors->vertices, sizeof(*s.next));
    *ret_search = s;
    if (!s.queue || !s.next)
        return -ENOMEM;
    memset(s.next, 0xff, predecessors->vertices * sizeof(*s.next));
    s.next[start] = start;
    s.queue[s.seen++] = start;
    for (uint32_t done = 0; done < s.seen && s.queue[done] != stop; done++) {
        uint32_t v = s.queue[done];
        for (uint32_t i = predecessors->first[v]; i < predecessors->first[v + 1]; i++) {
            uint32_t u = predecessors->to[i];
            if (s.next[u] != GV_NONE)
                continue;
            s.next[u] = v;
            s.queue[s.seen++] = u;
        }
    }
    ret_search->seen = s.seen;
    return 0;
}

static void search_free(struct search *s)
{
    free(s->queue);
    free(s->next);
}

/* Which roots reach the largest shared part: of graphs if a graph is shared, since weights are shared
 * by every graph and say nothing. */
static int find_sharers(struct builder *b, struct gv_tally *shares)
{
    gv_tally_sort(shares);
    if (shares->count == 0)
        return 0;
    uint32_t part = shares->rows[0].key[0];
    for (uint32_t i = shares->count; i > 0; i--)
        if (shares->rows[i - 1].key[0] < b->out->allocation_base)
            part = shares->rows[i - 1].key[0];
    struct search s;
    int r = search_back(&b->out->predecessors, part, GV_NONE, &s);
    for (uint32_t root = 0; r == 0 && root < b->roots->count; root++)
        if (s.next[root_vertex(root)] != GV_NONE && b->out->shared_root_count < GV_HOLDERS_MAX)
            b->out->shared_roots[b->out->shared_root_count++] = root;
    search_free(&s);
    return r;
}

int gv_retention_make(struct gv_query *query, const struct gv_rows *rows,
                      const struct gv_names *names, int index, struct gv_roots *roots,
                      struct gv_retention *ret_retention)
{
    struct gv_retention out = {0};
    struct gv_tally shares = {0};
    struct builder b = {.rows = rows, .names = names, .index = index, .roots = roots, .out = &out};
    int r = connect_all(&b);
    if (r == 0)
        r = find_tops(&b);
    if (r == 0)
        r = sum_storages(&b, &shares);
    if (r == 0)
        r = sum_own_storages(&b);
    if (r == 0)
        r = sum_nodes(&b);
    if (r == 0)
        r = group_storages(&b);
    if (r == 0)
        r = find_sharers(&b, &shares);
    gv_tally_free(&shares);
    free(b.from);
    free(b.to);
    free(b.top);
    if (r < 0) {
        gv_retention_free(&out);
        return gv_fail(query, r, "%s: not enough memory for the graph of this moment", query->path);
    }
    *ret_retention = out;
    return 0;
}

void gv_retention_free(struct gv_retention *retention)
{
    gv_tally_free(&retention->groups);
    gv_digraph_free(&retention->predecessors);
    free(retention->largest);
    memset(retention, 0, sizeof(*retention));
}

static uint32_t slot_between(const struct gv_rows *rows, uint32_t node, uint32_t allocation)
{
    for (uint32_t i = 0; i < rows->saved_count; i++)
        if (rows->saved[i].node == node && rows->saved[i].allocation == allocation)
            return rows->saved[i].slot_id;
    return 0;
}

static void follow(const struct gv_retention *retention, const struct gv_rows *rows,
                   const struct search *s, uint32_t root, uint32_t target, struct gv_path *ret_path)
{
    struct gv_path path = {0};
    uint32_t last_node = GV_NONE;
    for (uint32_t v = root_vertex(root); v != target; v = s->next[v]) {
        if (v < retention->node_base)
            continue;
        last_node = v - retention->node_base;
        if (path.length < GV_PATH_MAX)
            path.nodes[path.length] = last_node;
        path.length++;
    }
    if (last_node != GV_NONE)
        path.slot_id = slot_between(rows, last_node, target - retention->allocation_base);
    path.last_node = last_node;
    *ret_path = path;
}

int gv_retention_path(const struct gv_retention *retention, const struct gv_rows *rows,
                      uint32_t root, uint32_t group, struct gv_path *ret_path)
{
    struct search s;
    uint32_t target = retention->allocation_base + retention->largest[group];
    int r = search_back(&retention->predecessors, target, root_vertex(root), &s);
    if (r == 0 && s.next[root_vertex(root)] == GV_NONE)
        r = -ENOENT;
    if (r == 0)
        follow(retention, rows, &s, root, target, ret_path);
    search_free(&s);
    return r;
}
