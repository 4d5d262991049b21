/* SPDX-License-Identifier: MIT */
/*
 * Invariants: every live node is in by_key; every open slot is in its node's list; the sum over
 * nodes_of_step = live nodes. Nodes and saved tensors refer to each other by row id, so that rows can
 * go to the database in any order.
 */
#include <errno.h>
#include <stddef.h>

#include "libgradprof/store/ingest_private.h"

static void node_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_node *node = (const struct gp_node *)object;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = object->end_seq ? GP_ROW_NULL : (int64_t)node->key;
    ret_values[2] = node->op_id;
    ret_values[3] = gp_row_value(node->scope_id);
    ret_values[4] = gp_row_value(node->step_id);
    ret_values[5] = gp_row_value(node->thread_id);
    ret_values[6] = gp_row_value(node->stack_id);
    ret_values[7] = (int64_t)object->begin_seq;
    ret_values[8] = gp_row_value(node->backward_seq);
    ret_values[9] = gp_row_value(object->end_seq);
}

static void saved_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_saved *saved = (const struct gp_saved *)object;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = (int64_t)saved->node_id;
    ret_values[2] = saved->slot_id;
    ret_values[3] = gp_row_value(saved->allocation_id);
    ret_values[4] = gp_row_value(saved->source_node_id);
    ret_values[5] = (int64_t)object->begin_seq;
    ret_values[6] = gp_row_value(object->end_seq);
}

static const struct gp_table_kind node_kind = {
    .name = "node",
    .columns = "id, key, op_id, scope_id, step_id, thread_id, stack_id, create_seq, backward_seq, "
               "destroy_seq",
    .object_bytes = sizeof(struct gp_node),
    .state_offset = offsetof(struct gp_node, state),
    .values = node_values,
};

static const struct gp_table_kind saved_kind = {
    .name = "saved",
    .columns = "id, node_id, slot_id, allocation_id, source_node_id, save_seq, release_seq",
    .object_bytes = sizeof(struct gp_saved),
    .state_offset = offsetof(struct gp_saved, state),
    .values = saved_values,
};

int gp_graph_init(struct gp_graph *graph, struct gp_db *db)
{
    int status = gp_table_init(&graph->nodes, db, &node_kind);
    if (status == 0)
        status = gp_table_init(&graph->saved, db, &saved_kind);
    if (status == 0)
        status =
            gp_rows_init(&graph->edges, db, GP_ROWS_INSERT, "edge", "node_id, slot, input_node_id");
    return status;
}

void gp_graph_finish(struct gp_graph *graph)
{
    gp_table_finish(&graph->nodes);
    gp_table_finish(&graph->saved);
    gp_rows_finish(&graph->edges);
    gp_map_finish(&graph->by_key);
    gp_map_finish(&graph->nodes_of_step);
}

int gp_graph_flush(struct gp_graph *graph)
{
    int status = gp_table_flush(&graph->nodes);
    if (status == 0)
        status = gp_table_flush(&graph->saved);
    return status < 0 ? status : gp_rows_flush(&graph->edges);
}

static struct gp_node *find(struct gp_ingest *ingest, uint64_t key)
{
    struct gp_node *node = key ? gp_map_get_pointer(&ingest->graph.by_key, key) : NULL;
    if (!node && key)
        gp_tally(ingest, GP_TALLY_unknown_nodes);
    return node;
}

uint64_t gp_graph_resolve(struct gp_ingest *ingest, uint64_t key)
{
    struct gp_node *node = find(ingest, key);
    return node ? node->object.id : 0;
}

/* --- nodes ------------------------------------------------------------------------------------- */

static int count_in_step(struct gp_graph *graph, uint32_t step_id, bool live)
{
    uint64_t key = (uint64_t)step_id + 1;
    uint64_t count = gp_map_get(&graph->nodes_of_step, key) + (live ? 1 : -UINT64_C(1));
    if (count)
        return gp_map_put(&graph->nodes_of_step, key, count);
    gp_map_remove(&graph->nodes_of_step, key);
    return 0;
}

int gp_graph_adopt(struct gp_graph *graph, struct gp_node *node)
{
    int status = gp_map_put_pointer(&graph->by_key, node->key, node);
    return status < 0 ? status : count_in_step(graph, node->step_id, true);
}

uint64_t gp_graph_retained_steps(const struct gp_ingest *ingest)
{
    const struct gp_map *counts = &ingest->graph.nodes_of_step;
    const struct gp_steps *steps = &ingest->steps;
    uint64_t newest = steps->table.last_id;
    uint64_t retained = counts->count;
    retained -= gp_map_get(counts, 1) != 0; /* outside of any step */
    bool newest_open = false;
    for (size_t i = 0; i < steps->open_count; i++) {
        uint64_t id = steps->open[i]->object.id;
        newest_open |= id == newest;
        retained -= gp_map_get(counts, id + 1) != 0;
    }
    if (newest && !newest_open)
        retained -= gp_map_get(counts, newest + 1) != 0;
    return retained;
}

static int end_node(struct gp_graph *graph, struct gp_node *node, uint64_t seq)
{
    int status = 0;
    for (struct gp_saved *saved = node->saved, *next; saved && status == 0; saved = next) {
        next = saved->next;
        status = gp_table_end(&graph->saved, &saved->object, seq);
    }
    gp_map_remove(&graph->by_key, node->key);
    if (status == 0)
        status = count_in_step(graph, node->step_id, false);
    return status < 0 ? status : gp_table_end(&graph->nodes, &node->object, seq);
}

static int on_node(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_graph *graph = &ingest->graph;
    const struct gp_record *record = event->record;
    struct gp_node *previous = gp_map_get_pointer(&graph->by_key, record->key);
    if (previous) {
        gp_tally(ingest, GP_TALLY_missed_node_ends);
        int status = end_node(graph, previous, event->seq);
        if (status < 0)
            return status;
    }
    struct gp_node *node = gp_table_create(&graph->nodes, event->seq);
    if (!node)
        return -ENOMEM;
    node->key = record->key;
    node->op_id = record->name_id;
    node->thread_id = record->thread_id;
    node->stack_id = record->stack_id;
    node->scope_id = record->scope_id;
    if (record->detail != 1)
        node->step_id = gp_steps_current(&ingest->steps, record->thread_id);
    return gp_graph_adopt(graph, node);
}

static int on_backward(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_node *node = find(ingest, event->record->key);
    if (!node)
        return 0;
    node->backward_seq = event->seq;
    return gp_table_touch(&ingest->graph.nodes, &node->object);
}

static int on_destroy(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_node *node = find(ingest, event->record->key);
    return node ? end_node(&ingest->graph, node, event->seq) : 0;
}

static int on_edge(struct gp_ingest *ingest, const struct gp_record *record)
{
    uint64_t node_id = gp_graph_resolve(ingest, record->key);
    uint64_t input_id = gp_graph_resolve(ingest, record->a);
    if (!node_id || !input_id)
        return 0;
    int64_t values[] = {(int64_t)node_id, record->detail, (int64_t)input_id};
    return gp_rows_put(&ingest->graph.edges, values);
}

/* --- saved tensors ----------------------------------------------------------------------------- */

/* Takes the open save of `slot_id` out of the node's list; NULL: there is none. */
static struct gp_saved *take_slot(struct gp_node *node, uint32_t slot_id)
{
    for (struct gp_saved **link = &node->saved; *link; link = &(*link)->next) {
        if ((*link)->slot_id == slot_id) {
            struct gp_saved *saved = *link;
            *link = saved->next;
            return saved;
        }
    }
    return NULL;
}

/* A slot holds one storage: a save into one that is not empty lets go of what it held. */
static int empty_slot(struct gp_ingest *ingest, struct gp_node *node, const struct gp_event *event)
{
    struct gp_saved *held = take_slot(node, event->record->name_id);
    if (!held)
        return 0;
    gp_tally(ingest, GP_TALLY_missed_releases);
    return gp_table_end(&ingest->graph.saved, &held->object, event->seq);
}

static int on_save(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    struct gp_node *node = find(ingest, record->key);
    if (!node)
        return 0;
    struct gp_allocation *allocation;
    int status = gp_ledger_find(ingest, record->a, &allocation);
    if (status == 0)
        status = empty_slot(ingest, node, event);
    if (status < 0)
        return status;
    struct gp_saved *saved = gp_table_create(&ingest->graph.saved, event->seq);
    if (!saved)
        return -ENOMEM;
    saved->node_id = node->object.id;
    saved->allocation_id = allocation ? allocation->object.id : 0;
    saved->source_node_id = gp_graph_resolve(ingest, record->b);
    saved->slot_id = record->name_id;
    saved->next = node->saved;
    node->saved = saved;
    return 0;
}

static int on_release(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_node *node = find(ingest, event->record->key);
    if (!node)
        return 0;
    struct gp_saved *saved = take_slot(node, event->record->name_id);
    if (saved)
        return gp_table_end(&ingest->graph.saved, &saved->object, event->seq);
    gp_tally(ingest, GP_TALLY_unknown_slots);
    return 0;
}

int gp_graph_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    if (event->record->key == 0 || event->record->key >> 63) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    switch (event->record->type) {
    case GP_EV_NODE:
        return on_node(ingest, event);
    case GP_EV_EDGE:
        return on_edge(ingest, event->record);
    case GP_EV_NODE_BACKWARD:
        return on_backward(ingest, event);
    case GP_EV_NODE_DESTROY:
        return on_destroy(ingest, event);
    case GP_EV_SAVE:
        return on_save(ingest, event);
    default:
        return on_release(ingest, event);
    }
}
