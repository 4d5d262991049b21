/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/rows.h"

struct picker {
    int index; /* of the moment */
    const struct gv_rows *from;
    struct gv_rows to;
    uint8_t bit;
    uint32_t *allocation_of, *node_of; /* index in `from` -> index in `to`, GV_NONE: not alive */
};

static uint8_t one(const struct picker *p, uint8_t live)
{
    return live & p->bit ? 1 : 0;
}

static uint32_t mapped(const uint32_t *map, uint32_t index)
{
    return index == GV_NONE ? GV_NONE : map[index];
}

static int pick_allocations(struct picker *p)
{
    for (uint32_t i = 0; i < p->from->allocation_index.count; i++) {
        const struct gv_allocation *a = &p->from->allocations[i];
        uint32_t count = p->to.allocation_index.count;
        p->allocation_of[i] = GV_NONE;
        if (!one(p, a->live))
            continue;
        int r = gv_reserve(&p->to.allocations, &p->to.allocation_capacity, count, sizeof(*a));
        if (r == 0)
            r = gv_index_add(&p->to.allocation_index, p->from->allocation_index.ids[i]);
        if (r < 0)
            return r;
        p->to.allocations[count] = *a;
        p->to.allocations[count].live = 1;
        p->to.allocations[count].carved_bytes[0] = a->carved_bytes[p->index];
        p->to.allocations[count].saved = one(p, a->saved);
        p->to.allocations[count].held = one(p, a->held);
        p->allocation_of[i] = count;
    }
    return gv_index_finish(&p->to.allocation_index);
}

static int pick_nodes(struct picker *p)
{
    for (uint32_t i = 0; i < p->from->node_index.count; i++) {
        const struct gv_node *node = &p->from->nodes[i];
        uint32_t count = p->to.node_index.count;
        p->node_of[i] = GV_NONE;
        if (!one(p, node->live))
            continue;
        int r = gv_reserve(&p->to.nodes, &p->to.node_capacity, count, sizeof(*node));
        if (r == 0)
            r = gv_index_add(&p->to.node_index, p->from->node_index.ids[i]);
        if (r < 0)
            return r;
        p->to.nodes[count] = *node;
        p->to.nodes[count].live = 1;
        p->node_of[i] = count;
    }
    return gv_index_finish(&p->to.node_index);
}

static int pick_edges(struct picker *p)
{
    for (uint32_t i = 0; i < p->from->edge_count; i++) {
        struct gv_edge edge = {mapped(p->node_of, p->from->edges[i].node),
                               mapped(p->node_of, p->from->edges[i].input)};
        if (edge.node == GV_NONE || edge.input == GV_NONE)
            continue;
        int r = gv_reserve(&p->to.edges, &p->to.edge_capacity, p->to.edge_count, sizeof(edge));
        if (r < 0)
            return r;
        p->to.edges[p->to.edge_count++] = edge;
    }
    return 0;
}

static int pick_saved(struct picker *p)
{
    for (uint32_t i = 0; i < p->from->saved_count; i++) {
        struct gv_saved saved = p->from->saved[i];
        if (!one(p, saved.live))
            continue;
        int r = gv_reserve(&p->to.saved, &p->to.saved_capacity, p->to.saved_count, sizeof(saved));
        if (r < 0)
            return r;
        saved.node = mapped(p->node_of, saved.node);
        saved.allocation = mapped(p->allocation_of, saved.allocation);
        saved.source = mapped(p->node_of, saved.source);
        saved.live = 1;
        p->to.saved[p->to.saved_count++] = saved;
    }
    return 0;
}

static int pick_handles(struct picker *p)
{
    for (uint32_t i = 0; i < p->from->handle_count; i++) {
        struct gv_handle handle = p->from->handles[i];
        if (!one(p, handle.live))
            continue;
        int r =
            gv_reserve(&p->to.handles, &p->to.handle_capacity, p->to.handle_count, sizeof(handle));
        if (r < 0)
            return r;
        handle.allocation = mapped(p->allocation_of, handle.allocation);
        handle.node = mapped(p->node_of, handle.node);
        handle.live = 1;
        p->to.handles[p->to.handle_count++] = handle;
    }
    return 0;
}

int gv_rows_pick(const struct gv_rows *rows, int index, struct gv_rows *ret_rows)
{
    struct picker p = {
        .index = index, .from = rows, .to = {.moments = 1}, .bit = (uint8_t)(1u << index)};
    p.to.seq[0] = rows->seq[index];
    p.allocation_of = gv_zeroed(rows->allocation_index.count, sizeof(uint32_t));
    p.node_of = gv_zeroed(rows->node_index.count, sizeof(uint32_t));
    int r = p.allocation_of && p.node_of ? 0 : -ENOMEM;
    if (r == 0)
        r = pick_allocations(&p);
    if (r == 0)
        r = pick_nodes(&p);
    if (r == 0)
        r = pick_edges(&p);
    if (r == 0)
        r = pick_saved(&p);
    if (r == 0)
        r = pick_handles(&p);
    free(p.allocation_of);
    free(p.node_of);
    if (r < 0)
        gv_rows_free(&p.to);
    else
        *ret_rows = p.to;
    return r;
}
