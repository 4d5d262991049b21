/* SPDX-License-Identifier: MIT */
/*
 * Invariants: every live allocation is in by_address under its start, and in `ranges` once they are
 * made; every live block (level 1) is in `blocks` instead, and counts in no total: its parent does; live_bytes = sum of its devices' live_bytes (+ device memory without a device) = sum of
 * size_bytes of live allocations whose kind is device memory.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "libgradprof/store/ingest_private.h"

/* cudaErrorInvalidValue and cudaErrorInvalidDevicePointer: the pointer was not one of the runtime's. */
#define ERROR_INVALID_VALUE 1u
#define ERROR_INVALID_DEVICE_POINTER 17u

static void allocation_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_allocation *a = (const struct gp_allocation *)object;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = a->traits;
    ret_values[2] = (int64_t)a->address;
    ret_values[3] = (int64_t)a->size_bytes;
    ret_values[4] = gp_row_value(a->stream);
    ret_values[5] = gp_row_value(a->thread_id);
    ret_values[6] = gp_row_value(a->stack_id);
    ret_values[7] = gp_row_value(a->scope_id);
    ret_values[8] = gp_row_value(a->step_id);
    ret_values[9] = gp_row_value(a->name_id);
    ret_values[10] = (int64_t)object->begin_seq;
    ret_values[11] = gp_row_value(object->end_seq);
    ret_values[12] = gp_row_value(a->parent_id);
}

static const struct gp_table_kind allocation_kind = {
    .name = "allocation",
    .columns = "id, traits, address, size_bytes, stream, thread_id, stack_id, scope_id, step_id, "
               "name_id, alloc_seq, free_seq, parent_id",
    .object_bytes = sizeof(struct gp_allocation),
    .state_offset = offsetof(struct gp_allocation, state),
    .values = allocation_values,
};

int gp_ledger_init(struct gp_ledger *ledger, struct gp_db *db)
{
    int status = gp_table_init(&ledger->allocations, db, &allocation_kind);
    if (status == 0)
        status = gp_db_prepare(db,
                               "INSERT INTO device(id, name_id, runtime, total_bytes, limit_bytes) "
                               "VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE SET "
                               "name_id = ?2, runtime = ?3, total_bytes = ?4, limit_bytes = ?5",
                               &ledger->insert_device);
    if (status == 0)
        status = gp_db_prepare(
            db, "UPDATE device SET peak_bytes = ?2, peak_seq = ?3, live_bytes = ?4 WHERE id = ?1",
            &ledger->update_device);
    if (status == 0)
        status = gp_db_prepare(db, "INSERT INTO failure VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                               &ledger->insert_failure);
    return status;
}

void gp_ledger_finish(struct gp_ledger *ledger)
{
    gp_table_finish(&ledger->allocations);
    gp_map_finish(&ledger->by_address);
    gp_map_finish(&ledger->blocks);
    gp_ranges_finish(&ledger->ranges);
    gp_statement_destroy(ledger->insert_device);
    gp_statement_destroy(ledger->update_device);
    gp_statement_destroy(ledger->insert_failure);
}

static unsigned device_of(const struct gp_allocation *allocation)
{
    return allocation->traits & 0xff;
}

static enum gp_kind kind_of(const struct gp_allocation *allocation)
{
    return (enum gp_kind)(allocation->traits >> 10 & 0x3f);
}

/* Handles are not the start of size_bytes addressable bytes. */
static bool has_range(const struct gp_allocation *allocation)
{
    return kind_of(allocation) != GP_KIND_ARRAY && kind_of(allocation) != GP_KIND_PHYSICAL;
}

/* --- devices ----------------------------------------------------------------------------------- */

static int put_device(struct gp_ledger *ledger, unsigned device, const struct gp_record *record)
{
    struct gp_statement *insert = ledger->insert_device;
    gp_bind_int64(insert, 1, device);
    if (record && record->name_id)
        gp_bind_int64(insert, 2, record->name_id);
    gp_bind_int64(insert, 3, record ? record->detail : GP_RUNTIME_UNKNOWN);
    if (record && record->a)
        gp_bind_int64(insert, 4, (int64_t)record->a);
    if (record && record->b)
        gp_bind_int64(insert, 5, (int64_t)record->b);
    int status = gp_step(insert);
    gp_reset(insert);
    ledger->devices[device].known = status == 0;
    return status;
}

/* Adds `bytes` (or takes them away) to the totals that this allocation counts in. */
static int account(struct gp_ingest *ingest, const struct gp_allocation *allocation, bool live,
                   uint64_t seq)
{
    struct gp_ledger *ledger = &ingest->ledger;
    if (!gp_kind_is_device_memory(kind_of(allocation)))
        return 0;
    uint64_t change = live ? allocation->size_bytes : -allocation->size_bytes;
    ledger->live_bytes += change;
    if (ledger->live_bytes > ingest->state.peak_bytes) {
        ingest->state.peak_bytes = ledger->live_bytes;
        ingest->state.peak_seq = seq;
    }
    gp_steps_live_bytes(&ingest->steps, ledger->live_bytes, seq);
    if (device_of(allocation) == GP_DEVICE_NONE)
        return 0;
    struct gp_device *device = &ledger->devices[device_of(allocation)];
    device->live_bytes += change;
    device->changed = true;
    if (device->live_bytes > device->peak_bytes) {
        device->peak_bytes = device->live_bytes;
        device->peak_seq = seq;
    }
    return device->known ? 0 : put_device(ledger, device_of(allocation), NULL);
}

static int flush_device(struct gp_ledger *ledger, unsigned id)
{
    struct gp_device *device = &ledger->devices[id];
    if (!device->changed)
        return 0;
    gp_bind_int64(ledger->update_device, 1, id);
    gp_bind_int64(ledger->update_device, 2, (int64_t)device->peak_bytes);
    gp_bind_int64(ledger->update_device, 3, (int64_t)device->peak_seq);
    gp_bind_int64(ledger->update_device, 4, (int64_t)device->live_bytes);
    int status = gp_step(ledger->update_device);
    gp_reset(ledger->update_device);
    device->changed = false;
    return status;
}

int gp_ledger_flush(struct gp_ledger *ledger)
{
    int status = gp_table_flush(&ledger->allocations);
    for (unsigned id = 0; id < GP_DEVICES_MAX && status == 0; id++)
        status = flush_device(ledger, id);
    return status;
}

static int on_device(struct gp_ingest *ingest, const struct gp_record *record)
{
    if (record->device_plus_1 == 0) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    return put_device(&ingest->ledger, record->device_plus_1 - 1u, record);
}

/* --- allocations ------------------------------------------------------------------------------- */

int gp_ledger_adopt(struct gp_ledger *ledger, struct gp_allocation *allocation)
{
    if (gp_allocation_is_block(allocation))
        return gp_map_put_pointer(&ledger->blocks, allocation->address, allocation);
    int status = gp_map_put_pointer(&ledger->by_address, allocation->address, allocation);
    if (status == 0 && ledger->ranges_made && has_range(allocation))
        status = gp_ranges_put(&ledger->ranges, allocation->address, allocation);
    return status;
}

/* It leaves the live set at `seq`. */
static int end_allocation(struct gp_ingest *ingest, struct gp_allocation *allocation, uint64_t seq)
{
    struct gp_ledger *ledger = &ingest->ledger;
    if (gp_allocation_is_block(allocation)) {
        gp_map_remove(&ledger->blocks, allocation->address);
        return gp_table_end(&ledger->allocations, &allocation->object, seq);
    }
    gp_map_remove(&ledger->by_address, allocation->address);
    if (ledger->ranges_made && has_range(allocation))
        gp_ranges_remove(&ledger->ranges, allocation->address);
    int status = account(ingest, allocation, false, seq);
    return status < 0 ? status : gp_table_end(&ledger->allocations, &allocation->object, seq);
}

/* An allocation where one is still live means that its free was not seen. */
static int end_previous(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_allocation *previous =
        gp_map_get_pointer(&ingest->ledger.by_address, event->record->key);
    if (!previous)
        return 0;
    /* A graph that is launched again has freed what it allocated before, if it may. */
    if (GP_DETAIL_KIND(event->record->detail) != GP_KIND_GRAPH)
        gp_tally(ingest, GP_TALLY_missed_frees);
    return end_allocation(ingest, previous, event->seq);
}

static uint32_t traits_of(const struct gp_record *record)
{
    uint32_t device = record->device_plus_1 ? record->device_plus_1 - 1u : GP_DEVICE_NONE;
    uint32_t context = GP_DETAIL_ERROR(record->detail) & 0xff;
    return device | ((uint32_t)GP_DETAIL_KIND(record->detail) & 0x3f) << 10 | context << 24;
}

static struct gp_allocation *new_allocation(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    struct gp_allocation *a = gp_table_create(&ingest->ledger.allocations, event->seq);
    if (!a)
        return NULL;
    a->address = record->key;
    a->size_bytes = record->a;
    a->stream = record->b;
    a->traits = traits_of(record);
    a->thread_id = record->thread_id;
    a->stack_id = record->stack_id;
    a->scope_id = record->scope_id;
    a->step_id = gp_steps_current(&ingest->steps, record->thread_id);
    return a;
}

static int on_alloc(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_ledger *ledger = &ingest->ledger;
    const struct gp_record *record = event->record;
    if (record->key == 0 || record->key >> 63 || record->a > GP_SIZE_MAX_BYTES) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    int status = end_previous(ingest, event);
    struct gp_allocation *a = status < 0 ? NULL : new_allocation(ingest, event);
    if (!a)
        return status < 0 ? status : -ENOMEM;
    if (device_of(a) == GP_DEVICE_NONE && gp_kind_is_device_memory(kind_of(a)))
        gp_tally(ingest, GP_TALLY_no_device);
    status = gp_ledger_adopt(ledger, a);
    return status < 0 ? status : account(ingest, a, true, event->seq);
}

static int on_free(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_allocation *allocation =
        gp_map_get_pointer(&ingest->ledger.by_address, event->record->key);
    if (allocation)
        return end_allocation(ingest, allocation, event->seq);
    gp_tally(ingest, GP_TALLY_unknown_frees);
    return 0;
}

/* The free was logged before the call. Whatever the call returned, the allocation stays freed: a free
 * may return the error of an earlier kernel although it freed. */
static void on_free_result(struct gp_ingest *ingest, const struct gp_record *record)
{
    bool invalid =
        record->detail == ERROR_INVALID_VALUE || record->detail == ERROR_INVALID_DEVICE_POINTER;
    gp_tally(ingest, invalid ? GP_TALLY_invalid_frees : GP_TALLY_failed_frees);
}

/* hooks/contexts.h. Pools and physical memory are the process's, whatever context is current. */
static bool dies_with(const struct gp_allocation *allocation, uint32_t context)
{
    uint32_t own = allocation->traits >> 24;
    enum gp_kind kind = kind_of(allocation);
    if (context == 0)
        return true;
    if (kind == GP_KIND_PHYSICAL ||
        (context > 1 && (kind == GP_KIND_ASYNC || kind == GP_KIND_GRAPH)))
        return false;
    return own == context || (own == 0 && context == 1);
}

static int on_reset(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_map *map = &ingest->ledger.by_address;
    unsigned device = event->record->device_plus_1 - 1u; /* without a device: matches none */
    size_t count = 0;
    struct gp_allocation **gone = calloc(map->count + 1, sizeof(*gone));
    if (!gone)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        struct gp_allocation *allocation = (void *)(uintptr_t)map->entries[i].value;
        if (allocation && device_of(allocation) == device &&
            dies_with(allocation, event->record->detail))
            gone[count++] = allocation;
    }
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = end_allocation(ingest, gone[i], event->seq);
    free(gone);
    return status;
}

static int make_ranges(struct gp_ledger *ledger)
{
    const struct gp_map *map = &ledger->by_address;
    int status = 0;
    for (size_t i = 0; i < map->capacity && status == 0; i++) {
        struct gp_allocation *allocation = (void *)(uintptr_t)map->entries[i].value;
        if (allocation && has_range(allocation))
            status = gp_ranges_put(&ledger->ranges, allocation->address, allocation);
    }
    ledger->ranges_made = status == 0;
    return status;
}

static struct gp_allocation *find_mapped(struct gp_ingest *ingest, uint64_t address)
{
    const struct gp_mapping *mapping = gp_mappings_find(&ingest->mappings, address);
    return mapping ? gp_map_get_pointer(&ingest->ledger.by_address, mapping->key) : NULL;
}

/* The device allocation that `address` lies in, or NULL. */
static int find_range(struct gp_ingest *ingest, uint64_t address,
                      struct gp_allocation **ret_allocation)
{
    struct gp_ledger *ledger = &ingest->ledger;
    int status = ledger->ranges_made ? 0 : make_ranges(ledger);
    if (status < 0)
        return status;
    struct gp_allocation *found = gp_ranges_floor(&ledger->ranges, address);
    if (found && address - found->address >= found->size_bytes)
        found = NULL;
    if (!found)
        found = find_mapped(ingest, address);
    *ret_allocation = found;
    return 0;
}

int gp_ledger_find(struct gp_ingest *ingest, uint64_t address,
                   struct gp_allocation **ret_allocation)
{
    struct gp_ledger *ledger = &ingest->ledger;
    struct gp_allocation *found = address ? gp_map_get_pointer(&ledger->blocks, address) : NULL;
    if (!found && address)
        found = gp_map_get_pointer(&ledger->by_address, address);
    if (!found && address) {
        int status = find_range(ingest, address, &found);
        if (status < 0)
            return status;
        if (!found)
            gp_tally(ingest, GP_TALLY_unknown_addresses);
    }
    *ret_allocation = found;
    return 0;
}

/* --- blocks ------------------------------------------------------------------------------------ */

static int mark_pool(struct gp_ledger *ledger, struct gp_allocation *parent)
{
    if ((parent->traits >> 16 & 0xff) == GP_ROLE_POOL)
        return 0;
    parent->traits = (parent->traits & 0xff00ffff) | GP_ROLE_POOL << 16;
    return gp_table_touch(&ledger->allocations, &parent->object);
}

/* A block may lie in several pieces of physical memory, mapped one after the other. */
static int mark_pools(struct gp_ingest *ingest, struct gp_allocation *parent, uint64_t address,
                      uint64_t bytes)
{
    int status = mark_pool(&ingest->ledger, parent);
    if (kind_of(parent) != GP_KIND_PHYSICAL)
        return status;
    for (uint64_t at = address; status == 0 && at - address < bytes;) {
        const struct gp_mapping *mapping = gp_mappings_find(&ingest->mappings, at);
        struct gp_allocation *piece = mapping ? find_mapped(ingest, at) : NULL;
        if (!piece)
            break;
        status = mark_pool(&ingest->ledger, piece);
        at = mapping->address + mapping->size_bytes;
    }
    return status;
}

/* A block in no device allocation that was seen has no parent: it counts by itself. */
static int on_block(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_ledger *ledger = &ingest->ledger;
    struct gp_record record = *event->record;
    struct gp_event alloc = *event;
    struct gp_allocation *parent, *previous = gp_map_get_pointer(&ledger->blocks, record.key);
    if (record.key == 0 || record.key >> 63 || record.a > GP_SIZE_MAX_BYTES) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    int status = find_range(ingest, record.key, &parent);
    if (status == 0 && previous) {
        gp_tally(ingest, GP_TALLY_missed_frees);
        status = end_allocation(ingest, previous, event->seq);
    }
    if (status < 0)
        return status;
    record.detail = GP_KIND_DEVICE;
    alloc.record = &record;
    if (!parent)
        return on_alloc(ingest, &alloc);
    struct gp_allocation *a = new_allocation(ingest, &alloc);
    if (!a)
        return -ENOMEM;
    a->traits |= GP_LEVEL_BLOCK << 8;
    a->parent_id = parent->object.id;
    status = mark_pools(ingest, parent, record.key, record.a);
    return status < 0 ? status : gp_ledger_adopt(ledger, a);
}

static int on_block_free(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_allocation *block = gp_map_get_pointer(&ingest->ledger.blocks, event->record->key);
    return block ? end_allocation(ingest, block, event->seq) : on_free(ingest, event);
}

static int on_role(struct gp_ingest *ingest, const struct gp_record *record)
{
    struct gp_allocation *allocation;
    int status = gp_ledger_find(ingest, record->key, &allocation);
    if (status < 0 || !allocation)
        return status;
    allocation->traits = (allocation->traits & 0xff00ffff) | (record->detail & 0xff) << 16;
    if (record->name_id)
        allocation->name_id = record->name_id;
    return gp_table_touch(&ingest->ledger.allocations, &allocation->object);
}

/* --- failures ---------------------------------------------------------------------------------- */

static void bind_optional(struct gp_statement *statement, int parameter, uint64_t value)
{
    if (value)
        gp_bind_int64(statement, parameter, (int64_t)value);
}

static int insert_failure(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_ledger *ledger = &ingest->ledger;
    const struct gp_record *record = event->record;
    struct gp_statement *insert = ledger->insert_failure;
    unsigned device_plus_1 = record->device_plus_1;
    gp_bind_int64(insert, 1, (int64_t)event->seq);
    gp_bind_int64(insert, 2, (int64_t)event->t_ns);
    if (device_plus_1)
        gp_bind_int64(insert, 3, device_plus_1 - 1);
    gp_bind_int64(insert, 4, record->a > INT64_MAX ? INT64_MAX : (int64_t)record->a);
    gp_bind_int64(insert, 5, GP_DETAIL_KIND(record->detail));
    bind_optional(insert, 6, record->name_id);
    gp_bind_int64(insert, 7, GP_DETAIL_ERROR(record->detail));
    gp_bind_int64(insert, 8,
                  (int64_t)(device_plus_1 ? ledger->devices[device_plus_1 - 1].live_bytes
                                          : ledger->live_bytes));
    bind_optional(insert, 9, record->b);
    bind_optional(insert, 10, record->stack_id);
    bind_optional(insert, 11, record->scope_id);
    bind_optional(insert, 12, gp_steps_current(&ingest->steps, record->thread_id));
    bind_optional(insert, 13, record->thread_id);
    int status = gp_step(insert);
    gp_reset(insert);
    return status;
}

static int on_refused(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_state *state = &ingest->state;
    int status = insert_failure(ingest, event);
    if (status == 0)
        status = gp_clock_sample(&ingest->clock, event->seq, event->t_ns, true);
    if (state->failures++ == 0)
        state->oom_first_seq = event->seq;
    state->oom_seq = event->seq;
    if (!state->exit_begin_seq)
        state->retained_graph_steps = gp_graph_retained_steps(ingest);
    return status;
}

static int dispatch(struct gp_ingest *ingest, const struct gp_event *event)
{
    switch (event->record->type) {
    case GP_EV_ALLOC:
        return on_alloc(ingest, event);
    case GP_EV_FREE:
        return on_free(ingest, event);
    case GP_EV_BLOCK:
        return on_block(ingest, event);
    case GP_EV_BLOCK_FREE:
        return on_block_free(ingest, event);
    case GP_EV_REFUSED:
        return on_refused(ingest, event);
    default:
        return on_reset(ingest, event);
    }
}

int gp_ledger_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    switch (event->record->type) {
    case GP_EV_DEVICE:
        return on_device(ingest, event->record);
    case GP_EV_ROLE:
        return on_role(ingest, event->record);
    case GP_EV_FREE_RESULT:
        on_free_result(ingest, event->record);
        return 0;
    default:
        break;
    }
    if (!ingest->state.exit_begin_seq)
        ingest->state.last_ledger_seq = event->seq;
    return dispatch(ingest, event);
}
