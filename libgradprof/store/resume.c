/* SPDX-License-Identifier: MIT */
/* What an interrupted import had in memory, from the rows it committed. */
#include <errno.h>
#include <stddef.h>

#include "libgradprof/store/ingest_private.h"

/* Runs `row` for each row of `sql`. */
static int for_each(struct gp_ingest *ingest, const char *sql, void *user,
                    int (*row)(struct gp_ingest *ingest, struct gp_statement *columns, void *user))
{
    struct gp_statement *statement;
    int status = gp_db_prepare(ingest->db, sql, &statement);
    if (status < 0)
        return status;
    while ((status = gp_step(statement)) == 1) {
        status = row(ingest, statement, user);
        if (status < 0)
            break;
    }
    gp_statement_destroy(statement);
    return status;
}

static uint64_t column(struct gp_statement *columns, int i)
{
    return (uint64_t)gp_column_int64(columns, i);
}

static uint32_t column32(struct gp_statement *columns, int i)
{
    return (uint32_t)gp_column_int64(columns, i);
}

static int load_number(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    uint64_t *number = user;
    *number = column(columns, 0);
    return 0;
}

static int load_last_ids(struct gp_ingest *ingest)
{
    const struct {
        const char *sql;
        uint64_t *last_id;
    } tables[] = {
        {"SELECT max(id) FROM allocation", &ingest->ledger.allocations.last_id},
        {"SELECT max(id) FROM mapping", &ingest->mappings.table.last_id},
        {"SELECT max(id) FROM node", &ingest->graph.nodes.last_id},
        {"SELECT max(id) FROM saved", &ingest->graph.saved.last_id},
        {"SELECT max(id) FROM handle", &ingest->handles.handles.last_id},
        {"SELECT max(id) FROM step", &ingest->steps.table.last_id},
        {"SELECT max(id) FROM frame", &ingest->definitions.last_frame_id},
    };
    int status = 0;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && status == 0; i++)
        status = for_each(ingest, tables[i].sql, tables[i].last_id, load_number);
    return status;
}

/* --- ledger ------------------------------------------------------------------------------------ */

static int load_device(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    uint64_t id = column(columns, 0);
    if (id >= GP_DEVICES_MAX)
        return -EBADMSG;
    ingest->ledger.devices[id] = (struct gp_device){.peak_bytes = column(columns, 1),
                                                    .peak_seq = column(columns, 2),
                                                    .live_bytes = column(columns, 3),
                                                    .known = true};
    return 0;
}

static int load_allocation(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_ledger *ledger = &ingest->ledger;
    struct gp_allocation *a =
        gp_table_adopt(&ledger->allocations, column(columns, 0), column(columns, 10));
    if (!a)
        return -ENOMEM;
    a->traits = column32(columns, 1);
    a->address = column(columns, 2);
    a->size_bytes = column(columns, 3);
    a->stream = column(columns, 4);
    a->thread_id = column32(columns, 5);
    a->stack_id = column32(columns, 6);
    a->scope_id = column32(columns, 7);
    a->step_id = column32(columns, 8);
    a->name_id = column32(columns, 9);
    a->parent_id = column(columns, 11);
    if (!gp_allocation_is_block(a) &&
        gp_kind_is_device_memory((enum gp_kind)(a->traits >> 10 & 0x3f)))
        ledger->live_bytes += a->size_bytes;
    return gp_ledger_adopt(ledger, a);
}

static int load_mapping(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_mappings *mappings = &ingest->mappings;
    struct gp_mapping *mapping =
        gp_table_adopt(&mappings->table, column(columns, 0), column(columns, 4));
    if (!mapping)
        return -ENOMEM;
    mapping->allocation_id = column(columns, 1);
    mapping->address = column(columns, 2);
    mapping->size_bytes = column(columns, 3);
    mapping->key = column(columns, 5);
    return gp_mappings_adopt(mappings, mapping);
}

/* --- graph and handles ------------------------------------------------------------------------- */

static int load_node(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_map *by_id = user;
    struct gp_node *node =
        gp_table_adopt(&ingest->graph.nodes, column(columns, 0), column(columns, 7));
    if (!node)
        return -ENOMEM;
    node->key = column(columns, 1);
    node->op_id = column32(columns, 2);
    node->scope_id = column32(columns, 3);
    node->step_id = column32(columns, 4);
    node->thread_id = column32(columns, 5);
    node->stack_id = column32(columns, 6);
    node->backward_seq = column(columns, 8);
    int status = gp_map_put_pointer(by_id, node->object.id, node);
    return status < 0 ? status : gp_graph_adopt(&ingest->graph, node);
}

/* In id order, so that each node's list is newest first again. */
static int load_saved(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    const struct gp_map *by_id = user;
    struct gp_node *node = gp_map_get_pointer(by_id, column(columns, 1));
    if (!node)
        return -EBADMSG;
    struct gp_saved *saved =
        gp_table_adopt(&ingest->graph.saved, column(columns, 0), column(columns, 5));
    if (!saved)
        return -ENOMEM;
    saved->node_id = node->object.id;
    saved->slot_id = column32(columns, 2);
    saved->allocation_id = column(columns, 3);
    saved->source_node_id = column(columns, 4);
    saved->next = node->saved;
    node->saved = saved;
    return 0;
}

static int load_handle(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_handle *handle =
        gp_table_adopt(&ingest->handles.handles, column(columns, 0), column(columns, 9));
    if (!handle)
        return -ENOMEM;
    handle->object_id = column(columns, 1);
    handle->key = column(columns, 2);
    handle->name_id = column32(columns, 3);
    handle->allocation_id = column(columns, 4);
    handle->node_id = column(columns, 5);
    handle->stack_id = column32(columns, 6);
    handle->scope_id = column32(columns, 7);
    handle->step_id = column32(columns, 8);
    return gp_map_put_pointer(&ingest->handles.by_key, handle->key, handle);
}

static int load_graph(struct gp_ingest *ingest)
{
    struct gp_map by_id = {0};
    int status = for_each(ingest,
                          "SELECT id, key, op_id, scope_id, step_id, thread_id, stack_id, "
                          "create_seq, backward_seq FROM node WHERE destroy_seq IS NULL",
                          &by_id, load_node);
    if (status == 0)
        status = for_each(ingest,
                          "SELECT id, node_id, slot_id, allocation_id, source_node_id, save_seq "
                          "FROM saved WHERE release_seq IS NULL ORDER BY id",
                          &by_id, load_saved);
    gp_map_finish(&by_id);
    return status;
}

/* --- steps, clock, definitions ----------------------------------------------------------------- */

static int load_step(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_step *step =
        gp_table_adopt(&ingest->steps.table, column(columns, 0), column(columns, 4));
    if (!step)
        return -ENOMEM;
    step->parent_id = column(columns, 1);
    step->label_id = column32(columns, 2);
    step->thread_id = column32(columns, 3);
    step->begin_ns = column(columns, 5);
    step->begin_bytes = column(columns, 6);
    step->peak_bytes = column(columns, 7);
    step->peak_seq = column(columns, 8);
    step->begin_nodes = column(columns, 9);
    return gp_steps_adopt(&ingest->steps, step);
}

static int load_clock(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    ingest->clock.started = true;
    ingest->clock.last_seq = column(columns, 0);
    ingest->clock.last_ns = column(columns, 1);
    return 0;
}

static int load_module(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_module module = {
        .id = column(columns, 0), .base = column(columns, 1), .end = column(columns, 2)};
    return gp_definitions_add_module(&ingest->definitions, module);
}

/* Only frames whose module is still the one at their address. */
static int load_frame(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    struct gp_definitions *definitions = &ingest->definitions;
    uint64_t address = column(columns, 1), base;
    if (gp_definitions_module_at(definitions, address, &base) != column(columns, 2))
        return 0;
    return gp_map_put(&definitions->frames, address, column(columns, 0));
}

static int load_stack(struct gp_ingest *ingest, struct gp_statement *columns, void *user)
{
    return gp_definitions_add_stack(&ingest->definitions, column(columns, 1), column(columns, 2),
                                    column(columns, 0));
}

int gp_resume(struct gp_ingest *ingest)
{
    const struct {
        const char *sql;
        int (*row)(struct gp_ingest *ingest, struct gp_statement *columns, void *user);
    } loads[] = {
        {"SELECT id, peak_bytes, peak_seq, live_bytes FROM device", load_device},
        {"SELECT id, traits, address, size_bytes, stream, thread_id, stack_id, scope_id, step_id, "
         "name_id, alloc_seq, parent_id FROM allocation WHERE free_seq IS NULL",
         load_allocation},
        {"SELECT m.id, m.allocation_id, m.address, m.size_bytes, m.map_seq, a.address "
         "FROM mapping m JOIN allocation a ON a.id = m.allocation_id WHERE m.unmap_seq IS NULL",
         load_mapping},
        {"SELECT id, object_id, key, name_id, allocation_id, node_id, stack_id, scope_id, step_id, "
         "create_seq FROM handle WHERE destroy_seq IS NULL",
         load_handle},
        {"SELECT id, parent_id, label_id, thread_id, begin_seq, begin_ns, begin_bytes, peak_bytes, "
         "peak_seq, begin_nodes FROM step WHERE end_seq IS NULL ORDER BY id",
         load_step},
        {"SELECT seq, t_ns FROM clock ORDER BY seq DESC LIMIT 1", load_clock},
        {"SELECT id, base, end FROM module ORDER BY id", load_module},
        {"SELECT id, address, module_id FROM frame ORDER BY id", load_frame},
        {"SELECT id, parent_id, frame_id FROM stack ORDER BY id", load_stack},
    };
    int status = gp_state_load(ingest);
    if (status == 0)
        status = load_last_ids(ingest);
    for (size_t i = 0; i < sizeof(loads) / sizeof(*loads) && status == 0; i++)
        status = for_each(ingest, loads[i].sql, NULL, loads[i].row);
    return status < 0 ? status : load_graph(ingest);
}
