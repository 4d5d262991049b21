/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/leaks_private.h"
#include "viewer/source.h"

bool gv_scene_is_live(uint8_t live)
{
    return live & 1;
}

static bool is_accumulator(const struct gv_scene *scene, const struct gv_node *node)
{
    const char *op = gv_name(scene->in->names, node->op_id);
    return op && strstr(op, "AccumulateGrad");
}

static int connect_nodes(struct gv_scene *scene)
{
    const struct gv_rows *rows = &scene->rows;
    uint64_t most = (uint64_t)rows->edge_count + rows->saved_count;
    if (most >= GV_NONE)
        return -EOVERFLOW;
    uint32_t *from = gv_zeroed(most, sizeof(*from)), *to = gv_zeroed(most, sizeof(*to));
    uint32_t edges = 0;
    int r = from && to ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < rows->edge_count; i++) {
        from[edges] = rows->edges[i].node;
        to[edges++] = rows->edges[i].input;
    }
    for (uint32_t i = 0; r == 0 && i < rows->saved_count; i++) {
        if (!gv_scene_is_live(rows->saved[i].live) || rows->saved[i].source == GV_NONE)
            continue;
        from[edges] = rows->saved[i].node;
        to[edges++] = rows->saved[i].source;
    }
    if (r == 0)
        r = gv_digraph_build(rows->node_index.count, edges, from, to, &scene->inputs);
    free(from);
    free(to);
    return r;
}

static int make_arrays(struct gv_scene *scene)
{
    uint32_t nodes = scene->rows.node_index.count, clusters = scene->clusters.count;
    scene->node_span = gv_zeroed(nodes, sizeof(uint32_t));
    scene->reached = gv_zeroed(nodes, sizeof(uint32_t));
    scene->queue = gv_zeroed(nodes, sizeof(uint32_t));
    scene->came_from = gv_zeroed(nodes, sizeof(uint32_t));
    scene->carrier_edges = gv_zeroed(clusters, sizeof(uint32_t));
    scene->explained = gv_zeroed(clusters, 1);
    scene->counted = gv_zeroed(scene->rows.allocation_index.count, 1);
    if (!scene->node_span || !scene->reached || !scene->queue || !scene->came_from ||
        !scene->carrier_edges || !scene->explained || !scene->counted)
        return -ENOMEM;
    for (uint32_t i = 0; i < nodes; i++)
        if (!is_accumulator(scene, &scene->rows.nodes[i]))
            scene->node_span[i] = gv_span_of(scene->spans, scene->rows.nodes[i].begin_seq);
    return 0;
}

static int load_rows(struct gv_scene *scene, int64_t seq)
{
    const struct gv_rows *rows = scene->in->rows;
    for (int m = 0; rows && m < rows->moments; m++)
        if (rows->seq[m] == seq)
            return gv_rows_pick(rows, m, &scene->rows);
    return gv_rows_load(scene->in->query, &seq, 1, &scene->rows);
}

int gv_scene_make(struct gv_scene *scene)
{
    const struct gv_leaks_input *in = scene->in;
    int64_t seq = scene->spans->end_seq[scene->now - 1];
    int r = load_rows(scene, seq);
    if (r == 0)
        r = gv_roots_make(in->query, &scene->rows, 0, in->sites, &scene->roots);
    if (r == 0)
        r = gv_clusters_make(in->names, &scene->roots, &scene->clusters);
    if (r == 0)
        r = connect_nodes(scene);
    if (r == 0)
        r = make_arrays(scene);
    return r;
}

void gv_scene_free(struct gv_scene *scene)
{
    gv_rows_free(&scene->rows);
    gv_roots_free(&scene->roots);
    gv_clusters_free(&scene->clusters);
    gv_digraph_free(&scene->inputs);
    free(scene->node_span);
    free(scene->reached);
    free(scene->queue);
    free(scene->came_from);
    free(scene->carrier_edges);
    free(scene->explained);
    free(scene->counted);
}

static void visit(struct gv_scene *scene, uint32_t node, uint32_t holder)
{
    if (scene->reached[node] == scene->stamp)
        return;
    scene->reached[node] = scene->stamp;
    scene->came_from[node] = holder;
    scene->queue[scene->queue_length++] = node;
}

uint32_t gv_scene_walk(struct gv_scene *scene, uint32_t cluster, uint32_t stamp)
{
    static uint32_t stamps; /* never used twice */
    scene->stamp = stamp ? stamp : ++stamps;
    scene->queue_length = 0;
    for (uint32_t i = 0; i < scene->rows.handle_count; i++) {
        const struct gv_handle *handle = &scene->rows.handles[i];
        uint32_t root = scene->roots.of_handle[i];
        if (root != GV_NONE && scene->clusters.of_root[root] == cluster && handle->node != GV_NONE)
            visit(scene, handle->node, GV_NONE);
    }
    for (uint32_t done = 0; done < scene->queue_length; done++) {
        uint32_t node = scene->queue[done];
        for (uint32_t i = scene->inputs.first[node]; i < scene->inputs.first[node + 1]; i++)
            visit(scene, scene->inputs.to[i], node);
    }
    return scene->stamp;
}

struct gv_finding *gv_scene_finding(struct gv_scene *scene, enum gv_class class)
{
    struct gv_leaks *out = scene->out;
    if (gv_reserve(&out->findings, &out->capacity, out->count, sizeof(*out->findings)) < 0)
        return NULL;
    struct gv_finding *finding = &out->findings[out->count++];
    *finding = (struct gv_finding){.class = class};
    return finding;
}

void gv_scene_source(struct gv_scene *scene, struct gv_finding *finding)
{
    gv_source_line(finding->place.file, finding->place.line, scene->in->run_end_unix_ns,
                   finding->source, sizeof(finding->source));
}

void gv_scene_name_cluster(struct gv_scene *scene, uint32_t cluster, struct gv_finding *finding)
{
    const struct gv_cluster *c = &scene->clusters.clusters[cluster];
    const struct gv_root *root = &scene->roots.roots[c->first_root];
    const char *name = gv_name(scene->in->names, root->name_id);
    struct gv_root one = *root;
    one.tensors = 1;
    if (!root->role && c->roots > 1)
        gv_name_pattern(name, finding->root, sizeof(finding->root));
    else
        gv_root_title(&one, name, finding->root, sizeof(finding->root));
    finding->handles = c->handles;
    const struct gv_place *place = gv_site_place(scene->in->sites, root->site);
    if (place && !root->role)
        finding->place = *place;
    gv_scene_source(scene, finding);
}

bool gv_scene_has_old_nodes(const struct gv_scene *scene)
{
    for (uint32_t i = 0; i < scene->rows.node_index.count; i++)
        if (scene->node_span[i] && scene->node_span[i] < scene->now)
            return true;
    return false;
}

bool gv_scene_counts(const struct gv_scene *scene, const struct gv_allocation *a)
{
    (void)scene;
    return gv_is_device_memory(a) && gv_allocation_role(a) != GV_ROLE_POOL;
}
