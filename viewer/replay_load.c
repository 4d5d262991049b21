/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/replay.h"
#include "viewer/rows.h"

static int64_t end_column(struct gp_statement *row, int column)
{
    return gp_column_is_null(row, column) ? GV_NEVER : gp_column_int64(row, column);
}

static int storage_row(struct gp_statement *row, void *user)
{
    struct gv_replay *replay = user;
    uint32_t count = replay->storage_index.count;
    int r =
        gv_reserve(&replay->storages, &replay->storage_capacity, count, sizeof(*replay->storages));
    if (r < 0)
        return r;
    const struct gv_allocation a = {.traits = gv_column_u32(row, 4)};
    replay->storages[count] = (struct gv_replay_storage){
        .begin = gp_column_int64(row, 1),
        .end = end_column(row, 2),
        .size_bytes = gv_is_device_memory(&a) && !gv_is_block(&a) ? gv_column_bytes(row, 3) : 0,
    };
    return gv_index_add(&replay->storage_index, gp_column_int64(row, 0));
}

static int node_row(struct gp_statement *row, void *user)
{
    struct gv_replay *replay = user;
    uint32_t count = replay->node_index.count;
    int r = gv_reserve(&replay->nodes, &replay->node_capacity, count, sizeof(*replay->nodes));
    if (r < 0)
        return r;
    replay->nodes[count] = (struct gv_replay_node){
        .begin = gp_column_int64(row, 1),
        .end = end_column(row, 2),
        .op_id = gv_column_u32(row, 3),
        .scope_id = gv_column_u32(row, 4),
        .step_id = gv_column_u32(row, 5),
        .backward = gp_column_int64(row, 6),
    };
    return gv_index_add(&replay->node_index, gp_column_int64(row, 0));
}

static int handle_row(struct gp_statement *row, void *user)
{
    struct gv_replay *replay = user;
    int r = gv_reserve(&replay->handles, &replay->handle_capacity, replay->handle_count,
                       sizeof(*replay->handles));
    if (r == 0)
        replay->handles[replay->handle_count++] = (struct gv_replay_handle){
            .begin = gp_column_int64(row, 0),
            .end = end_column(row, 1),
            .storage = gv_index_find(&replay->storage_index, gp_column_int64(row, 2)),
            .node = gv_index_find(&replay->node_index, gp_column_int64(row, 3)),
            .name_id = gv_column_u32(row, 4),
        };
    return r;
}

static int saved_row(struct gp_statement *row, void *user)
{
    struct gv_replay *replay = user;
    uint32_t node = gv_index_find(&replay->node_index, gp_column_int64(row, 2));
    int r = node == GV_NONE ? 0
                            : gv_reserve(&replay->saved, &replay->saved_capacity,
                                         replay->saved_count, sizeof(*replay->saved));
    if (r == 0 && node != GV_NONE)
        replay->saved[replay->saved_count++] = (struct gv_replay_saved){
            .begin = gp_column_int64(row, 0),
            .end = end_column(row, 1),
            .node = node,
            .storage = gv_index_find(&replay->storage_index, gp_column_int64(row, 3)),
            .source = gv_index_find(&replay->node_index, gp_column_int64(row, 4)),
        };
    return r;
}

static int edge_row(struct gp_statement *row, void *user)
{
    struct gv_replay *replay = user;
    uint32_t node = gv_index_find(&replay->node_index, gp_column_int64(row, 0));
    uint32_t input = gv_index_find(&replay->node_index, gp_column_int64(row, 1));
    if (node == GV_NONE || input == GV_NONE)
        return 0;
    int r = gv_reserve(&replay->edges, &replay->edge_capacity, replay->edge_count,
                       sizeof(*replay->edges));
    if (r == 0)
        replay->edges[replay->edge_count++] = (struct gv_replay_edge){node, input, false};
    return r;
}

static int by_handle_node(const void *left, const void *right)
{
    const struct gv_replay_handle *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_saved_node(const void *left, const void *right)
{
    const struct gv_replay_saved *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_edge_node(const void *left, const void *right)
{
    const struct gv_replay_edge *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->input < b->input ? -1 : a->input > b->input;
}

int gv_replay_load(struct gv_query *query, struct gv_replay *ret_replay)
{
    struct gv_replay replay = {0};
    int r = gv_each(query,
                    "SELECT id, alloc_seq, free_seq, " GV_SQL_SIZE ", traits FROM allocation "
                    "ORDER BY id",
                    NULL, 0, storage_row, &replay);
    if (r == 0)
        r = gv_index_finish(&replay.storage_index);
    if (r == 0)
        r = gv_each(query,
                    "SELECT id, create_seq, destroy_seq, op_id, scope_id, step_id, backward_seq "
                    "FROM node ORDER BY id",
                    NULL, 0, node_row, &replay);
    if (r == 0)
        r = gv_index_finish(&replay.node_index);
    if (r == 0)
        r = gv_each(query,
                    "SELECT create_seq, destroy_seq, allocation_id, node_id, name_id FROM handle",
                    NULL, 0, handle_row, &replay);
    if (r == 0)
        r = gv_each(query,
                    "SELECT save_seq, release_seq, node_id, allocation_id, source_node_id "
                    "FROM saved",
                    NULL, 0, saved_row, &replay);
    if (r == 0)
        r = gv_each(query, "SELECT node_id, input_node_id FROM edge", NULL, 0, edge_row, &replay);
    if (r < 0) {
        gv_replay_free(&replay);
        return query->error[0] ? r : gv_fail(query, r, "%s: not enough memory", query->path);
    }
    if (replay.handle_count)
        qsort(replay.handles, replay.handle_count, sizeof(*replay.handles), by_handle_node);
    if (replay.saved_count)
        qsort(replay.saved, replay.saved_count, sizeof(*replay.saved), by_saved_node);
    if (replay.edge_count)
        qsort(replay.edges, replay.edge_count, sizeof(*replay.edges), by_edge_node);
    *ret_replay = replay;
    return 0;
}

void gv_replay_free(struct gv_replay *replay)
{
    gv_index_free(&replay->storage_index);
    gv_index_free(&replay->node_index);
    free(replay->storages);
    free(replay->nodes);
    free(replay->handles);
    free(replay->saved);
    free(replay->edges);
    memset(replay, 0, sizeof(*replay));
}
