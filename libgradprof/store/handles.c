/* SPDX-License-Identifier: MIT */
/*
 * A handle is one row per unchanged state: a new name or node ends the row and begins another one
 * with the same object_id, at the same seq. by_key holds the row that is now valid.
 */
#include <errno.h>
#include <stddef.h>

#include "libgradprof/store/ingest_private.h"

static void handle_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_handle *handle = (const struct gp_handle *)object;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = (int64_t)handle->object_id;
    ret_values[2] = object->end_seq ? GP_ROW_NULL : (int64_t)handle->key;
    ret_values[3] = gp_row_value(handle->name_id);
    ret_values[4] = gp_row_value(handle->allocation_id);
    ret_values[5] = gp_row_value(handle->node_id);
    ret_values[6] = gp_row_value(handle->stack_id);
    ret_values[7] = gp_row_value(handle->scope_id);
    ret_values[8] = gp_row_value(handle->step_id);
    ret_values[9] = (int64_t)object->begin_seq;
    ret_values[10] = gp_row_value(object->end_seq);
}

static const struct gp_table_kind handle_kind = {
    .name = "handle",
    .columns = "id, object_id, key, name_id, allocation_id, node_id, stack_id, scope_id, step_id, "
               "create_seq, destroy_seq",
    .object_bytes = sizeof(struct gp_handle),
    .state_offset = offsetof(struct gp_handle, state),
    .values = handle_values,
};

int gp_handles_init(struct gp_handles *handles, struct gp_db *db)
{
    return gp_table_init(&handles->handles, db, &handle_kind);
}

void gp_handles_finish(struct gp_handles *handles)
{
    gp_table_finish(&handles->handles);
    gp_map_finish(&handles->by_key);
}

static struct gp_handle *find(struct gp_ingest *ingest, uint64_t key)
{
    struct gp_handle *handle = gp_map_get_pointer(&ingest->handles.by_key, key);
    if (!handle)
        gp_tally(ingest, GP_TALLY_unknown_handles);
    return handle;
}

static int end_handle(struct gp_handles *handles, struct gp_handle *handle, uint64_t seq)
{
    gp_map_remove(&handles->by_key, handle->key);
    return gp_table_end(&handles->handles, &handle->object, seq);
}

static int end_previous(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_handle *previous = gp_map_get_pointer(&ingest->handles.by_key, event->record->key);
    if (!previous)
        return 0;
    gp_tally(ingest, GP_TALLY_missed_handle_ends);
    return end_handle(&ingest->handles, previous, event->seq);
}

/* A look at the program's variables comes just after the refused allocation, or after the end of the
 * loop, whose state it tells. */
static uint64_t told_seq(const struct gp_ingest *ingest, const struct gp_event *event)
{
    switch (event->record->detail) {
    case 1:
        return ingest->state.oom_seq;
    case 2:
        return gp_steps_loop_end(&ingest->steps, event->record->thread_id);
    default:
        return 0;
    }
}

static uint64_t begin_seq(const struct gp_ingest *ingest, const struct gp_event *event,
                          const struct gp_allocation *allocation)
{
    uint64_t seq = told_seq(ingest, event);
    bool there = seq != 0 && (!allocation || allocation->object.begin_seq <= seq);
    return there ? seq : event->seq;
}

static int on_create(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    struct gp_allocation *allocation;
    int status = gp_ledger_find(ingest, record->a, &allocation);
    if (status == 0)
        status = end_previous(ingest, event);
    if (status < 0)
        return status;
    struct gp_handle *handle =
        gp_table_create(&ingest->handles.handles, begin_seq(ingest, event, allocation));
    if (!handle)
        return -ENOMEM;
    handle->object_id = handle->object.id;
    handle->key = record->key;
    handle->name_id = record->name_id;
    handle->allocation_id = allocation ? allocation->object.id : 0;
    handle->node_id = gp_graph_resolve(ingest, record->b);
    handle->stack_id = record->stack_id;
    handle->scope_id = record->scope_id;
    handle->step_id = gp_steps_current(&ingest->steps, record->thread_id);
    return gp_map_put_pointer(&ingest->handles.by_key, record->key, handle);
}

/* Ends the row of `old` and returns the next one, a copy so far. */
static struct gp_handle *next_version(struct gp_handles *handles, struct gp_handle *old,
                                      uint64_t seq)
{
    struct gp_handle *next = gp_table_create(&handles->handles, seq);
    if (!next)
        return NULL;
    struct gp_object object = next->object;
    uint8_t state = next->state;
    *next = *old;
    next->object = object;
    next->state = state;
    if (gp_table_end(&handles->handles, &old->object, seq) < 0 ||
        gp_map_put_pointer(&handles->by_key, next->key, next) < 0)
        return NULL;
    return next;
}

static int on_name(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    struct gp_handle *handle = find(ingest, record->key);
    if (!handle || (handle->name_id == record->name_id && handle->stack_id == record->stack_id))
        return 0;
    handle = next_version(&ingest->handles, handle, event->seq);
    if (!handle)
        return -ENOMEM;
    handle->name_id = record->name_id;
    handle->stack_id = record->stack_id;
    return 0;
}

static int on_new_node(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_handle *handle = find(ingest, event->record->key);
    if (!handle)
        return 0;
    uint64_t node_id = gp_graph_resolve(ingest, event->record->b);
    if (handle->node_id == node_id)
        return 0;
    handle = next_version(&ingest->handles, handle, event->seq);
    if (!handle)
        return -ENOMEM;
    handle->node_id = node_id;
    return 0;
}

static int on_destroy(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_handle *handle = find(ingest, event->record->key);
    uint64_t seq = told_seq(ingest, event);
    if (!handle)
        return 0;
    return end_handle(&ingest->handles, handle, seq > handle->object.begin_seq ? seq : event->seq);
}

int gp_handles_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    if (event->record->key == 0 || event->record->key >> 63) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    switch (event->record->type) {
    case GP_EV_HANDLE:
        return on_create(ingest, event);
    case GP_EV_HANDLE_NAME:
        return on_name(ingest, event);
    case GP_EV_HANDLE_NODE:
        return on_new_node(ingest, event);
    default:
        return on_destroy(ingest, event);
    }
}
