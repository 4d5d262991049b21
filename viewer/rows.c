/* SPDX-License-Identifier: MIT */
#include "viewer/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/log_reader.h" /* enum gp_kind */

#define LEVEL_DEVICE 0u

static uint32_t level_of(const struct gv_allocation *a)
{
    return a->traits >> 8 & 3;
}

static uint32_t kind_of(const struct gv_allocation *a)
{
    return a->traits >> 10 & 63;
}

bool gv_is_pinned_memory(const struct gv_allocation *a)
{
    return kind_of(a) == GP_KIND_HOST || kind_of(a) == GP_KIND_HOST_REGISTERED;
}

bool gv_is_physical_memory(const struct gv_allocation *a)
{
    return kind_of(a) == GP_KIND_PHYSICAL;
}

bool gv_is_block(const struct gv_allocation *a)
{
    return level_of(a) != LEVEL_DEVICE;
}

bool gv_is_device_memory(const struct gv_allocation *a)
{
    return gp_kind_is_device_memory((enum gp_kind)kind_of(a));
}

/* Moments at which a row lives whose begin and end stand in the columns `begin` and `begin + 1`. */
static uint8_t lives_at(const struct gv_rows *rows, struct gp_statement *row, int begin)
{
    int64_t from = gp_column_int64(row, begin), to = gp_column_int64(row, begin + 1);
    bool endless = to == 0 && gp_column_is_null(row, begin + 1);
    uint8_t live = 0;
    for (int m = 0; m < rows->moments; m++)
        if (from <= rows->seq[m] && (endless || to > rows->seq[m]))
            live |= (uint8_t)(1u << m);
    return live;
}

static uint64_t size_column(struct gp_statement *row, int column)
{
    uint64_t size_bytes = gv_column_bytes(row, column);
    return size_bytes > GV_SIZE_MAX_BYTES ? GV_SIZE_MAX_BYTES : size_bytes;
}

static int allocation_row(struct gp_statement *row, void *user)
{
    struct gv_rows *rows = user;
    struct gv_index *index = &rows->allocation_index;
    uint8_t live = lives_at(rows, row, 1);
    if (!live)
        return 0;
    int r = gv_reserve(&rows->allocations, &rows->allocation_capacity, index->count,
                       sizeof(*rows->allocations));
    if (r < 0)
        return r;
    rows->allocations[index->count] = (struct gv_allocation){
        .size_bytes = size_column(row, 3),
        .begin_seq = gp_column_int64(row, 1),
        .traits = gv_column_u32(row, 4),
        .stack_id = gv_column_u32(row, 5),
        .scope_id = gv_column_u32(row, 6),
        .step_id = gv_column_u32(row, 7),
        .name_id = gv_column_u32(row, 8),
        .live = live,
    };
    rows->allocations[index->count].parent_id = gp_column_int64(row, 9);
    return gv_index_add(index, gp_column_int64(row, 0));
}

static int node_row(struct gp_statement *row, void *user)
{
    struct gv_rows *rows = user;
    struct gv_index *index = &rows->node_index;
    uint8_t live = lives_at(rows, row, 1);
    if (!live)
        return 0;
    int r = gv_reserve(&rows->nodes, &rows->node_capacity, index->count, sizeof(*rows->nodes));
    if (r < 0)
        return r;
    rows->nodes[index->count] = (struct gv_node){
        .begin_seq = gp_column_int64(row, 1),
        .backward_seq = gp_column_int64(row, 7),
        .op_id = gv_column_u32(row, 3),
        .step_id = gv_column_u32(row, 4),
        .scope_id = gv_column_u32(row, 5),
        .stack_id = gv_column_u32(row, 6),
        .live = live,
    };
    return gv_index_add(index, gp_column_int64(row, 0));
}

static uint32_t find_column(const struct gv_index *index, struct gp_statement *row, int column)
{
    return gv_index_find(index, gp_column_int64(row, column)); /* no row has the id 0 */
}

static int edge_row(struct gp_statement *row, void *user)
{
    struct gv_rows *rows = user;
    uint32_t node = find_column(&rows->node_index, row, 0);
    uint32_t input = node == GV_NONE ? GV_NONE : find_column(&rows->node_index, row, 1);
    if (input == GV_NONE)
        return 0;
    int r = gv_reserve(&rows->edges, &rows->edge_capacity, rows->edge_count, sizeof(*rows->edges));
    if (r == 0)
        rows->edges[rows->edge_count++] = (struct gv_edge){node, input};
    return r;
}

static int saved_row(struct gp_statement *row, void *user)
{
    struct gv_rows *rows = user;
    uint8_t live = lives_at(rows, row, 1);
    uint32_t node = live ? find_column(&rows->node_index, row, 3) : GV_NONE;
    if (node == GV_NONE || !(live &= rows->nodes[node].live))
        return 0;
    int r =
        gv_reserve(&rows->saved, &rows->saved_capacity, rows->saved_count, sizeof(*rows->saved));
    if (r < 0)
        return r;
    uint32_t allocation = find_column(&rows->allocation_index, row, 5);
    if (allocation != GV_NONE)
        rows->allocations[allocation].saved |= live & rows->allocations[allocation].live;
    rows->saved[rows->saved_count++] = (struct gv_saved){
        node, allocation, find_column(&rows->node_index, row, 6), gv_column_u32(row, 4), live};
    return 0;
}

static int handle_row(struct gp_statement *row, void *user)
{
    struct gv_rows *rows = user;
    uint8_t live = lives_at(rows, row, 1);
    if (!live)
        return 0;
    int r = gv_reserve(&rows->handles, &rows->handle_capacity, rows->handle_count,
                       sizeof(*rows->handles));
    if (r < 0)
        return r;
    uint32_t allocation = find_column(&rows->allocation_index, row, 4);
    if (allocation != GV_NONE)
        rows->allocations[allocation].held |= live & rows->allocations[allocation].live;
    rows->handles[rows->handle_count++] = (struct gv_handle){
        .name_id = gv_column_u32(row, 3),
        .allocation = allocation,
        .node = find_column(&rows->node_index, row, 5),
        .stack_id = gv_column_u32(row, 6),
        .step_id = gv_column_u32(row, 7),
        .live = live,
    };
    return 0;
}

/* ?1, ?2, ?3: the moments. What lives at none is left out by SQLite itself, which is several times
 * cheaper than fetching it. */
#define LIVES_AT(begin, end, at) "(" begin " <= " at " AND (" end " IS NULL OR " end " > " at "))"
#define LIVES(begin, end)                                                                          \
    "(" LIVES_AT(begin, end, "?1") " OR " LIVES_AT(begin, end, "?2") " OR " LIVES_AT(begin, end,   \
                                                                                     "?3") ")"

static const struct {
    const char *sql;
    gv_row_function *function;
    int binds;
} tables[] = {
    {"SELECT id, alloc_seq, free_seq, size_bytes, traits, stack_id, scope_id, step_id, name_id, "
     "parent_id FROM allocation WHERE " LIVES("alloc_seq", "free_seq") " ORDER BY id",
     allocation_row, 3},
    {"SELECT id, create_seq, destroy_seq, op_id, step_id, scope_id, stack_id, backward_seq "
     "FROM node WHERE " LIVES("create_seq", "destroy_seq") " ORDER BY id",
     node_row, 3},
    {"SELECT node_id, input_node_id FROM edge WHERE node_id >= ?1 AND node_id <= ?2", edge_row, 2},
    {"SELECT id, save_seq, release_seq, node_id, slot_id, allocation_id, source_node_id "
     "FROM saved WHERE " LIVES("save_seq", "release_seq") " ORDER BY id",
     saved_row, 3},
    {"SELECT id, create_seq, destroy_seq, name_id, allocation_id, node_id, stack_id, step_id "
     "FROM handle WHERE " LIVES("create_seq", "destroy_seq") " ORDER BY id",
     handle_row, 3},
};

/* Takes each block out of its parent at the moments when both live. A block that does not fit is damage
 * and stays out of it. */
static void carve_blocks(struct gv_rows *rows)
{
    for (uint32_t i = 0; i < rows->allocation_index.count; i++) {
        const struct gv_allocation *block = &rows->allocations[i];
        if (!block->parent_id || !gv_is_block(block))
            continue;
        uint32_t parent = gv_index_find(&rows->allocation_index, block->parent_id);
        struct gv_allocation *from = parent == GV_NONE ? NULL : &rows->allocations[parent];
        if (from && gv_is_physical_memory(from)) /* the block may lie in several: rows_mapped.c */
            continue;
        for (int m = 0; from && m < rows->moments; m++)
            if ((from->live & block->live) >> m & 1 && block->size_bytes <= gv_bytes_at(from, m))
                from->carved_bytes[m] += block->size_bytes;
    }
}

static int load_table(struct gv_query *query, size_t table, struct gv_rows *rows)
{
    int64_t binds[GV_MOMENTS_MAX];
    for (int m = 0; m < GV_MOMENTS_MAX; m++)
        binds[m] = rows->seq[m < rows->moments ? m : 0];
    const struct gv_index *nodes = &rows->node_index;
    if (tables[table].function == edge_row) {
        if (nodes->count == 0)
            return 0;
        binds[0] = nodes->ids[0];
        binds[1] = nodes->ids[nodes->count - 1];
    }
    int r =
        gv_each(query, tables[table].sql, binds, tables[table].binds, tables[table].function, rows);
    if (r == 0 && tables[table].function == allocation_row)
        r = gv_index_finish(&rows->allocation_index);
    if (r == 0 && tables[table].function == allocation_row) {
        carve_blocks(rows);
        r = gv_rows_carve_mapped(query, rows);
    }
    if (r == 0 && tables[table].function == node_row)
        r = gv_index_finish(&rows->node_index);
    return r;
}

int gv_rows_load(struct gv_query *query, const int64_t *seqs, int moments, struct gv_rows *ret_rows)
{
    struct gv_rows rows = {.moments = moments};
    memcpy(rows.seq, seqs, (size_t)moments * sizeof(*seqs));
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        int r = load_table(query, i, &rows);
        if (r < 0) {
            gv_rows_free(&rows);
            return query->error[0] ? r : gv_fail(query, r, "%s: not enough memory", query->path);
        }
    }
    *ret_rows = rows;
    return 0;
}

void gv_rows_free(struct gv_rows *rows)
{
    gv_index_free(&rows->allocation_index);
    gv_index_free(&rows->node_index);
    free(rows->allocations);
    free(rows->nodes);
    free(rows->edges);
    free(rows->saved);
    free(rows->handles);
    memset(rows, 0, sizeof(*rows));
}
