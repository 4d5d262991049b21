/* SPDX-License-Identifier: MIT */
/* The past, in one filtered pass over a table each: SQLite leaves out what lived shorter than the
 * shortest step by itself, which in an ordinary run is nearly everything. */
#include <errno.h>
#include <stdlib.h>

#include "viewer/leaks_private.h"

struct scan {
    struct gv_scene *scene;
    struct gv_past past;
};

/* True when the row (begin in column 0, end in 1) lived through the close of a later span than its
 * own. */
static bool outlived(const struct gv_scene *scene, struct gp_statement *row, uint32_t *ret_span,
                     uint32_t *ret_last)
{
    *ret_span = gv_span_of(scene->spans, gp_column_int64(row, 0));
    *ret_last = gv_span_of(scene->spans, gp_column_int64(row, 1));
    return *ret_span > 0 && *ret_last >= *ret_span + 2;
}

static int add(struct gv_past *past, uint32_t a, uint32_t b, uint32_t span, uint32_t last)
{
    struct gv_tally_row *row = gv_tally_row(&past->spans, a, b, span);
    if (!row)
        return -ENOMEM;
    row->count++;
    row->value = last > row->value ? last : row->value;
    return 0;
}

static int handle_row(struct gp_statement *row, void *user)
{
    struct scan *scan = user;
    uint32_t span, last, site;
    if (!outlived(scan->scene, row, &span, &last))
        return 0;
    int r = gv_site_of(scan->scene->in->sites, gv_column_u32(row, 3), &site);
    if (r < 0)
        return r;
    const char *name = gv_name(scan->scene->in->names, gv_column_u32(row, 2));
    return add(&scan->past, gv_name_pattern_hash(name), site, span, last);
}

static int node_row(struct gp_statement *row, void *user)
{
    struct scan *scan = user;
    uint32_t span, last;
    if (!outlived(scan->scene, row, &span, &last))
        return 0;
    if (gv_span_of(scan->scene->spans, gp_column_int64(row, 3)) > span &&
        !gp_column_is_null(row, 3))
        scan->past.used_later++;
    return add(&scan->past, gv_column_u32(row, 2), 0, span, last);
}

static int allocation_row(struct gp_statement *row, void *user)
{
    struct scan *scan = user;
    uint32_t span, last, site;
    if (!outlived(scan->scene, row, &span, &last))
        return 0;
    int r = gv_site_of(scan->scene->in->sites, gv_column_u32(row, 2), &site);
    return r < 0 ? r : add(&scan->past, site, 0, span, last);
}

static int scan_table(struct gv_scene *scene, const char *sql, gv_row_function *function,
                      struct gv_past *ret_past)
{
    struct scan scan = {.scene = scene};
    int64_t binds[2] = {scene->spans->shortest_seq, scene->spans->end_seq[scene->now - 1]};
    int r = gv_each(scene->in->query, sql, binds, 2, function, &scan);
    if (r < 0)
        gv_past_free(&scan.past);
    else
        *ret_past = scan.past;
    return r;
}

int gv_past_handles(struct gv_scene *scene, struct gv_past *ret_past)
{
    return scan_table(scene,
                      "SELECT create_seq, destroy_seq, name_id, stack_id FROM handle "
                      "WHERE destroy_seq - create_seq >= ?1 AND destroy_seq <= ?2",
                      handle_row, ret_past);
}

int gv_past_nodes(struct gv_scene *scene, struct gv_past *ret_past)
{
    return scan_table(scene,
                      "SELECT create_seq, destroy_seq, op_id, backward_seq FROM node "
                      "WHERE destroy_seq - create_seq >= ?1 AND destroy_seq <= ?2",
                      node_row, ret_past);
}

int gv_past_allocations(struct gv_scene *scene, struct gv_past *ret_past)
{
    return scan_table(scene,
                      "SELECT alloc_seq, free_seq, stack_id FROM allocation "
                      "WHERE free_seq - alloc_seq >= ?1 AND free_seq <= ?2",
                      allocation_row, ret_past);
}

void gv_past_fill(const struct gv_past *past, uint32_t a, uint32_t b,
                  struct gv_survivors *survivors)
{
    for (uint32_t i = 0; i < past->spans.count; i++) {
        const struct gv_tally_row *row = &past->spans.rows[i];
        if (row->key[0] != a || row->key[1] != b)
            continue;
        uint32_t life = row->value - row->key[2];
        survivors->recycled++;
        survivors->recycled_life =
            life > survivors->recycled_life ? life : survivors->recycled_life;
    }
}

void gv_past_free(struct gv_past *past)
{
    gv_tally_free(&past->spans);
}

/* --- carriers: variables through which a graph goes on from one step to the next --- */

struct carriers {
    struct gv_scene *scene;
    uint8_t *target;       /* by node: a later step's node has it as an input */
    struct gv_tally edges; /* (pattern, site) -> count */
};

static int carrier_row(struct gp_statement *row, void *user)
{
    struct carriers *c = user;
    uint32_t node = gv_index_find(&c->scene->rows.node_index, gp_column_int64(row, 0)), site;
    if (node == GV_NONE || !c->target[node])
        return 0;
    int r = gv_site_of(c->scene->in->sites, gv_column_u32(row, 2), &site);
    if (r < 0)
        return r;
    const char *name = gv_name(c->scene->in->names, gv_column_u32(row, 1));
    return gv_tally_add(&c->edges, gv_name_pattern_hash(name), site, 0, 0);
}

static uint32_t mark_targets(struct gv_scene *scene, uint8_t *target)
{
    uint32_t marked = 0;
    for (uint32_t node = 0; node < scene->rows.node_index.count; node++) {
        for (uint32_t i = scene->inputs.first[node]; i < scene->inputs.first[node + 1]; i++) {
            uint32_t input = scene->inputs.to[i];
            bool crosses =
                scene->node_span[input] && scene->node_span[node] > scene->node_span[input];
            marked += crosses && !target[input];
            target[input] |= crosses;
        }
    }
    return marked;
}

int gv_past_carriers(struct gv_scene *scene)
{
    struct carriers c = {.scene = scene};
    c.target = gv_zeroed(scene->rows.node_index.count, 1);
    int r = c.target ? 0 : -ENOMEM;
    if (r == 0 && mark_targets(scene, c.target))
        r = gv_each(scene->in->query,
                    "SELECT node_id, name_id, stack_id FROM handle "
                    "WHERE node_id IS NOT NULL AND name_id IS NOT NULL",
                    NULL, 0, carrier_row, &c);
    for (uint32_t i = 0; r == 0 && i < scene->clusters.count; i++) {
        const struct gv_cluster *cluster = &scene->clusters.clusters[i];
        struct gv_tally_row *row = gv_tally_row(&c.edges, cluster->pattern, cluster->site, 0);
        if (!row)
            r = -ENOMEM;
        else
            scene->carrier_edges[i] = (uint32_t)row->count;
    }
    gv_tally_free(&c.edges);
    free(c.target);
    return r;
}
