/* SPDX-License-Identifier: MIT */
/* Mappings of physical memory: through them addresses find the allocation they lie in. */
#include <errno.h>
#include <stddef.h>

#include "libgradprof/store/ingest_private.h"

static void mapping_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_mapping *mapping = (const struct gp_mapping *)object;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = (int64_t)mapping->allocation_id;
    ret_values[2] = (int64_t)mapping->address;
    ret_values[3] = (int64_t)mapping->size_bytes;
    ret_values[4] = (int64_t)object->begin_seq;
    ret_values[5] = gp_row_value(object->end_seq);
}

static const struct gp_table_kind mapping_kind = {
    .name = "mapping",
    .columns = "id, allocation_id, address, size_bytes, map_seq, unmap_seq",
    .object_bytes = sizeof(struct gp_mapping),
    .state_offset = offsetof(struct gp_mapping, state),
    .values = mapping_values,
};

int gp_mappings_init(struct gp_mappings *mappings, struct gp_db *db)
{
    return gp_table_init(&mappings->table, db, &mapping_kind);
}

void gp_mappings_finish(struct gp_mappings *mappings)
{
    gp_table_finish(&mappings->table);
    gp_map_finish(&mappings->by_address);
    gp_ranges_finish(&mappings->ranges);
}

int gp_mappings_adopt(struct gp_mappings *mappings, struct gp_mapping *mapping)
{
    int status = gp_map_put_pointer(&mappings->by_address, mapping->address, mapping);
    return status < 0 ? status : gp_ranges_put(&mappings->ranges, mapping->address, mapping);
}

static int end_mapping(struct gp_mappings *mappings, struct gp_mapping *mapping, uint64_t seq)
{
    gp_map_remove(&mappings->by_address, mapping->address);
    gp_ranges_remove(&mappings->ranges, mapping->address);
    return gp_table_end(&mappings->table, &mapping->object, seq);
}

static int on_map(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    struct gp_mappings *mappings = &ingest->mappings;
    struct gp_allocation *physical = gp_map_get_pointer(&ingest->ledger.by_address, record->b);
    struct gp_mapping *previous = gp_map_get_pointer(&mappings->by_address, record->key);
    if (!physical || record->key == 0 || record->key >> 63 || record->a > GP_SIZE_MAX_BYTES) {
        gp_tally(ingest, physical ? GP_TALLY_malformed_events : GP_TALLY_unknown_addresses);
        return 0;
    }
    int status = previous ? end_mapping(mappings, previous, event->seq) : 0;
    struct gp_mapping *mapping = status < 0 ? NULL : gp_table_create(&mappings->table, event->seq);
    if (!mapping)
        return status < 0 ? status : -ENOMEM;
    mapping->allocation_id = physical->object.id;
    mapping->key = physical->address;
    mapping->address = record->key;
    mapping->size_bytes = record->a;
    return gp_mappings_adopt(mappings, mapping);
}

int gp_mappings_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_mappings *mappings = &ingest->mappings;
    struct gp_mapping *mapping;
    if (event->record->type == GP_EV_MAP)
        return on_map(ingest, event);
    mapping = gp_map_get_pointer(&mappings->by_address, event->record->key);
    return mapping ? end_mapping(mappings, mapping, event->seq) : 0;
}

struct gp_mapping *gp_mappings_find(const struct gp_mappings *mappings, uint64_t address)
{
    struct gp_mapping *found = gp_ranges_floor(&mappings->ranges, address);
    return found && address - found->address < found->size_bytes ? found : NULL;
}
