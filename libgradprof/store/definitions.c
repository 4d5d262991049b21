/* SPDX-License-Identifier: MIT */
/*
 * Ids are the profiler's own (define_id) wherever a record refers to them, so nothing has to be
 * translated: string.id, scope.id, and stack.id of a whole stack. A stack is stored as a path in a
 * tree; inner points of the tree that the profiler never named get ids from GP_OWN_ID_BASE on.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/ingest_private.h"

int gp_definitions_init(struct gp_definitions *definitions, struct gp_db *db)
{
    const struct {
        const char *sql;
        struct gp_statement **statement;
    } statements[] = {
        /* a define_id that comes twice is damage: the first one stays */
        {"INSERT OR IGNORE INTO string VALUES(?,?)", &definitions->insert_string},
        {"UPDATE string SET text = ?2 WHERE id = ?1", &definitions->update_string},
        {"INSERT INTO module VALUES(?,?,?,?,?,?)", &definitions->insert_module},
        {"INSERT INTO frame(id, address, module_id, offset) VALUES(?,?,?,?)",
         &definitions->insert_frame},
        {"INSERT INTO frame(id, address, function, file, line) VALUES(?1, ?2, "
         "(SELECT text FROM string WHERE id = ?3), (SELECT text FROM string WHERE id = ?4), ?5)",
         &definitions->insert_source},
        {"INSERT OR IGNORE INTO stack VALUES(?,?,?)", &definitions->insert_stack},
        {"INSERT OR IGNORE INTO scope VALUES(?,?,?,?)", &definitions->insert_scope},
    };
    int status = 0;
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && status == 0; i++)
        status = gp_db_prepare(db, statements[i].sql, statements[i].statement);
    definitions->last_own_stack_id = GP_OWN_ID_BASE;
    return status;
}

void gp_definitions_finish(struct gp_definitions *definitions)
{
    gp_map_finish(&definitions->frames);
    gp_map_finish(&definitions->stacks);
    free(definitions->modules);
    gp_statement_destroy(definitions->insert_string);
    gp_statement_destroy(definitions->update_string);
    gp_statement_destroy(definitions->insert_module);
    gp_statement_destroy(definitions->insert_frame);
    gp_statement_destroy(definitions->insert_source);
    gp_statement_destroy(definitions->insert_stack);
    gp_statement_destroy(definitions->insert_scope);
}

static int run(struct gp_statement *statement)
{
    int status = gp_step(statement);
    gp_reset(statement);
    return status;
}

static int insert_string(struct gp_definitions *definitions, uint64_t id, const void *text,
                         size_t length)
{
    gp_bind_int64(definitions->insert_string, 1, (int64_t)id);
    gp_bind_text(definitions->insert_string, 2, length ? text : "", length);
    return run(definitions->insert_string);
}

static int on_string_text(struct gp_definitions *definitions, const struct gp_event *event)
{
    gp_bind_int64(definitions->update_string, 1, event->record->define_id);
    gp_bind_text(definitions->update_string, 2,
                 event->record->length ? (const char *)event->payload : "", event->record->length);
    return run(definitions->update_string);
}

static int on_scope(struct gp_definitions *definitions, const struct gp_record *record)
{
    struct gp_statement *insert = definitions->insert_scope;
    gp_bind_int64(insert, 1, record->define_id);
    if (record->parent_id)
        gp_bind_int64(insert, 2, record->parent_id);
    gp_bind_int64(insert, 3, record->detail);
    if (record->name_id)
        gp_bind_int64(insert, 4, record->name_id);
    return run(insert);
}

/* --- modules ----------------------------------------------------------------------------------- */

int gp_definitions_add_module(struct gp_definitions *definitions, struct gp_module module)
{
    if (definitions->module_count == definitions->module_capacity) {
        size_t capacity = definitions->module_capacity ? definitions->module_capacity * 2 : 64;
        void *modules = realloc(definitions->modules, capacity * sizeof(module));
        if (!modules)
            return -ENOMEM;
        definitions->modules = modules;
        definitions->module_capacity = capacity;
    }
    definitions->modules[definitions->module_count++] = module;
    return 0;
}

/* The newest one that covers it: a later module replaces what it overlaps. */
uint64_t gp_definitions_module_at(const struct gp_definitions *definitions, uint64_t address,
                                  uint64_t *ret_base)
{
    for (size_t i = definitions->module_count; i-- > 0;) {
        const struct gp_module *module = &definitions->modules[i];
        if (module->base <= address && address < module->end) {
            *ret_base = module->base;
            return module->id;
        }
    }
    return 0;
}

/* Addresses in the new module mean other frames from now on. */
static int forget_frames(struct gp_definitions *definitions, const struct gp_module *module)
{
    struct gp_map kept = {0};
    const struct gp_map *frames = &definitions->frames;
    for (size_t i = 0; i < frames->capacity; i++) {
        const struct gp_map_entry *entry = &frames->entries[i];
        bool stays = entry->key < module->base || entry->key >= module->end;
        if (entry->value && stays && gp_map_put(&kept, entry->key, entry->value) < 0) {
            gp_map_finish(&kept);
            return -ENOMEM;
        }
    }
    gp_map_finish(&definitions->frames);
    definitions->frames = kept;
    return 0;
}

static int on_module(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_definitions *definitions = &ingest->definitions;
    const struct gp_record *record = event->record;
    size_t id_bytes = record->b, length = record->length;
    if (id_bytes > length || record->a < record->key || record->a >> 63) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    struct gp_module module = {
        .id = definitions->module_count + 1, .base = record->key, .end = record->a};
    uint64_t path_id = GP_OWN_ID_BASE + module.id;
    int status = insert_string(definitions, path_id, event->payload + id_bytes, length - id_bytes);
    if (status == 0)
        status = gp_definitions_add_module(definitions, module);
    if (status == 0)
        status = forget_frames(definitions, &module);
    if (status < 0)
        return status;
    struct gp_statement *insert = definitions->insert_module;
    gp_bind_int64(insert, 1, (int64_t)module.id);
    gp_bind_int64(insert, 2, (int64_t)path_id);
    gp_bind_int64(insert, 3, (int64_t)module.base);
    gp_bind_int64(insert, 4, (int64_t)module.end);
    if (id_bytes)
        gp_bind_blob(insert, 5, event->payload, id_bytes);
    gp_bind_int64(insert, 6, (int64_t)event->seq);
    return run(insert);
}

/* --- stacks ------------------------------------------------------------------------------------ */

/* The row for a return address in the modules now loaded. 0: `*ret_status` says why. */
static uint64_t intern_frame(struct gp_definitions *definitions, uint64_t address, int *ret_status)
{
    uint64_t id = gp_map_get(&definitions->frames, address);
    if (id)
        return id;
    uint64_t base = 0, module_id = gp_definitions_module_at(definitions, address, &base);
    struct gp_statement *insert = definitions->insert_frame;
    id = ++definitions->last_frame_id;
    gp_bind_int64(insert, 1, (int64_t)id);
    gp_bind_int64(insert, 2, (int64_t)address);
    if (module_id) {
        gp_bind_int64(insert, 3, (int64_t)module_id);
        gp_bind_int64(insert, 4, (int64_t)(address - base));
    }
    *ret_status = run(insert);
    if (*ret_status == 0)
        *ret_status = gp_map_put(&definitions->frames, address, id);
    return *ret_status < 0 ? 0 : id;
}

/* A line of source: nothing is left to resolve. */
static int on_frame(struct gp_ingest *ingest, const struct gp_record *record)
{
    struct gp_definitions *definitions = &ingest->definitions;
    struct gp_statement *insert = definitions->insert_source;
    if (record->key >> 63 || !(record->key & GP_FRAME_SOURCE)) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    if (gp_map_get(&definitions->frames, record->key)) /* defined twice: damage */
        return 0;
    uint64_t id = ++definitions->last_frame_id;
    gp_bind_int64(insert, 1, (int64_t)id);
    gp_bind_int64(insert, 2, (int64_t)record->key);
    gp_bind_int64(insert, 3, record->name_id);
    gp_bind_int64(insert, 4, record->parent_id);
    gp_bind_int64(insert, 5, record->detail);
    int status = run(insert);
    return status < 0 ? status : gp_map_put(&definitions->frames, record->key, id);
}

static uint64_t stack_key(uint64_t parent_id, uint64_t frame_id)
{
    return parent_id << 32 | frame_id;
}

int gp_definitions_add_stack(struct gp_definitions *definitions, uint64_t parent_id,
                             uint64_t frame_id, uint64_t stack_id)
{
    uint64_t key = stack_key(parent_id, frame_id);
    uint64_t known = gp_map_get(&definitions->stacks, key);
    if (stack_id > definitions->last_own_stack_id)
        definitions->last_own_stack_id = stack_id;
    /* An own id is only made for a pair that has none yet, so it is the first where there is one. */
    bool known_stays =
        known >= GP_OWN_ID_BASE || (known && known < stack_id && stack_id < GP_OWN_ID_BASE);
    return known_stays ? 0 : gp_map_put(&definitions->stacks, key, stack_id);
}

static int insert_stack(struct gp_definitions *definitions, uint64_t parent_id, uint64_t frame_id,
                        uint64_t stack_id)
{
    gp_bind_int64(definitions->insert_stack, 1, (int64_t)stack_id);
    if (parent_id)
        gp_bind_int64(definitions->insert_stack, 2, (int64_t)parent_id);
    gp_bind_int64(definitions->insert_stack, 3, (int64_t)frame_id);
    int status = run(definitions->insert_stack);
    if (status < 0)
        return status;
    return gp_definitions_add_stack(definitions, parent_id, frame_id, stack_id);
}

/* The stack of a caller, as an inner point of the tree. */
static uint64_t intern_stack(struct gp_definitions *definitions, uint64_t parent_id,
                             uint64_t frame_id, int *ret_status)
{
    uint64_t id = gp_map_get(&definitions->stacks, stack_key(parent_id, frame_id));
    if (id)
        return id;
    id = definitions->last_own_stack_id + 1;
    *ret_status = insert_stack(definitions, parent_id, frame_id, id);
    return *ret_status < 0 ? 0 : id;
}

static int on_stack(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_definitions *definitions = &ingest->definitions;
    size_t depth = event->record->length;
    if (depth == 0 || depth > event->payload_bytes / sizeof(uint64_t)) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    uint64_t parent_id = 0;
    int status = 0;
    for (size_t i = depth; i-- > 0 && status == 0;) {
        uint64_t address;
        memcpy(&address, event->payload + i * sizeof(address), sizeof(address));
        uint64_t frame_id = intern_frame(definitions, address, &status);
        if (status < 0)
            break;
        if (i == 0)
            status = insert_stack(definitions, parent_id, frame_id, event->record->define_id);
        else
            parent_id = intern_stack(definitions, parent_id, frame_id, &status);
    }
    return status;
}

int gp_definitions_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_record *record = event->record;
    bool needs_id = record->type != GP_EV_MODULE;
    bool bad_id = record->define_id == 0 || record->define_id >= GP_OWN_ID_BASE;
    bool bad_length = (record->type == GP_EV_STRING || record->type == GP_EV_STRING_TEXT) &&
                      record->length > event->payload_bytes;
    bool bad_module = record->type == GP_EV_MODULE && record->length > event->payload_bytes;
    if ((needs_id && bad_id) || bad_length || bad_module) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    switch (record->type) {
    case GP_EV_STRING:
        return insert_string(&ingest->definitions, record->define_id, event->payload,
                             record->length);
    case GP_EV_STACK:
        return on_stack(ingest, event);
    case GP_EV_MODULE:
        return on_module(ingest, event);
    case GP_EV_STRING_TEXT:
        return on_string_text(&ingest->definitions, event);
    case GP_EV_FRAME:
        return on_frame(ingest, record);
    default:
        return on_scope(&ingest->definitions, record);
    }
}
