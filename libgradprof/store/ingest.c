/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libgradprof/store/ingest_private.h"
#include "libgradprof/store/meta.h"
#include "libgradprof/store/schema.h"

/* Objects that wait for their row: more are written out early, so that memory stays bounded whatever
 * the caller's commits. 65,536 allocations are 7 MiB. */
#define FRESH_MAX 65536

/*
 * synchronous=OFF: what is promised is to survive the death of the process, and the page cache does;
 * surviving a power cut would cost an fsync in the profiled program's disk queue, and the event log
 * could not keep that promise anyway. Pages of 8 KiB: a fifth faster to fill than 4 KiB.
 */
static const char pragmas[] = "PRAGMA page_size = 8192;"
                              "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = OFF;"
                              "PRAGMA cache_size = -16384;"
                              "PRAGMA wal_autocheckpoint = 2000;"
                              "PRAGMA temp_store = MEMORY;";

static int set_error(struct gp_ingest *ingest, int status)
{
    if (status < 0 && ingest->status == 0) {
        ingest->status = status;
        const char *text = ingest->db ? gp_db_error(ingest->db) : "";
        if (status == -ENOMEM)
            text = "out of memory";
        snprintf(ingest->error, sizeof(ingest->error), "%s", *text ? text : strerror(-status));
    }
    return status;
}

const char *gp_ingest_error(const struct gp_ingest *ingest)
{
    return ingest->error;
}

/* --- opening ----------------------------------------------------------------------------------- */

static void destroy(struct gp_ingest *ingest)
{
    gp_definitions_finish(&ingest->definitions);
    gp_ledger_finish(&ingest->ledger);
    gp_mappings_finish(&ingest->mappings);
    gp_samples_finish(&ingest->samples);
    gp_graph_finish(&ingest->graph);
    gp_handles_finish(&ingest->handles);
    gp_steps_finish(&ingest->steps);
    gp_clock_finish(&ingest->clock);
    gp_db_close(ingest->db);
    free(ingest);
}

static int prepare_parts(struct gp_ingest *ingest)
{
    int status = gp_definitions_init(&ingest->definitions, ingest->db);
    if (status == 0)
        status = gp_ledger_init(&ingest->ledger, ingest->db);
    if (status == 0)
        status = gp_mappings_init(&ingest->mappings, ingest->db);
    if (status == 0)
        status = gp_samples_init(&ingest->samples, ingest->db);
    if (status == 0)
        status = gp_graph_init(&ingest->graph, ingest->db);
    if (status == 0)
        status = gp_handles_init(&ingest->handles, ingest->db);
    if (status == 0)
        status = gp_steps_init(&ingest->steps, ingest->db);
    if (status == 0)
        status = gp_clock_init(&ingest->clock, ingest->db);
    return status;
}

static int put_first_meta(struct gp_db *db, const struct gp_log_header *header)
{
    char run_id[17];
    gp_run_id_text(header, run_id);
    int status = gp_meta_put_int64(db, "schema", GP_SCHEMA_VERSION);
    if (status == 0)
        status = gp_meta_put_text(db, "run_id", 6, run_id, 16);
    if (status == 0)
        status = gp_meta_put_int64(db, "pid", header->pid);
    if (status == 0)
        status = gp_meta_put_int64(db, "start_unix_ns", (int64_t)header->start_unix_ns);
    if (status == 0)
        status = gp_meta_put_int64(db, "start_monotonic_ns", (int64_t)header->start_ns);
    if (status == 0)
        status = gp_meta_put_int64(db, "finished", 0);
    return status;
}

/* In one transaction: a database is either empty or one of ours. */
static int create_schema(struct gp_db *db, const struct gp_log_header *header)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             GP_APPLICATION_ID, GP_SCHEMA_VERSION);
    int status = gp_db_begin(db);
    if (status == 0)
        status = gp_db_execute(db, sql);
    if (status == 0)
        status = gp_db_execute(db, gp_schema_sql);
    if (status == 0)
        status = gp_db_execute(db, gp_schema_added_sql);
    if (status == 0)
        status = put_first_meta(db, header);
    return status < 0 ? status : gp_db_commit(db);
}

/* An unfinished file of an older profiler gets the tables that it lacks. */
static int upgrade(struct gp_db *db)
{
    struct gp_statement *statement;
    int status =
        gp_db_prepare(db, "SELECT 1 FROM sqlite_schema WHERE name = 'mapping'", &statement);
    if (status < 0)
        return status;
    status = gp_step(statement);
    gp_statement_destroy(statement);
    if (status != 0)
        return status < 0 ? status : 0;
    status = gp_db_begin(db);
    if (status == 0)
        status = gp_db_execute(db, gp_schema_added_sql);
    return status < 0 ? status : gp_db_commit(db);
}

static int check_run(struct gp_ingest *ingest, const struct gp_log_header *header)
{
    enum gp_run_relation relation;
    int status = gp_run_compare(ingest->db, header, &relation);
    if (status < 0 || relation == GP_RUN_UNFINISHED)
        return status;
    ingest->status = relation == GP_RUN_OTHER ? -EINVAL : -EALREADY;
    snprintf(ingest->error, sizeof(ingest->error), "%s",
             relation == GP_RUN_OTHER ? "the log belongs to another run than the database"
                                      : "the import is finished already");
    return ingest->status;
}

static int open_common(const char *db_path, enum gp_db_mode mode,
                       const struct gp_log_header *header, struct gp_ingest **ret_ingest,
                       char *error, size_t error_size)
{
    struct gp_ingest *ingest = calloc(1, sizeof(*ingest));
    if (!ingest)
        return -ENOMEM;
    ingest->start_ns = header->start_ns;
    int status = gp_db_open(db_path, mode, &ingest->db, error, error_size);
    if (status < 0) {
        free(ingest);
        return status;
    }
    status = gp_db_execute(ingest->db, pragmas);
    if (status == 0)
        status =
            mode == GP_DB_CREATE ? create_schema(ingest->db, header) : check_run(ingest, header);
    if (status == 0 && mode != GP_DB_CREATE)
        status = upgrade(ingest->db);
    if (status == 0)
        status = prepare_parts(ingest);
    if (status == 0 && mode != GP_DB_CREATE)
        status = gp_resume(ingest);
    if (status < 0) {
        set_error(ingest, status);
        snprintf(error, error_size, "%s: %s", db_path, ingest->error);
        destroy(ingest);
        return status;
    }
    *ret_ingest = ingest;
    return 0;
}

int gp_ingest_create(const char *db_path, const struct gp_log_header *header,
                     struct gp_ingest **ret_ingest, char *error, size_t error_size)
{
    int status = open_common(db_path, GP_DB_CREATE, header, ret_ingest, error, error_size);
    if (status < 0 && status != -EEXIST)
        unlink(db_path); /* what is left is empty */
    return status;
}

int gp_ingest_open(const char *db_path, const struct gp_log_header *header,
                   struct gp_ingest **ret_ingest, char *error, size_t error_size)
{
    return open_common(db_path, GP_DB_READ_WRITE, header, ret_ingest, error, error_size);
}

/* --- events ------------------------------------------------------------------------------------ */

uint64_t gp_ingest_next_seq(const struct gp_ingest *ingest)
{
    return ingest->state.ingested_seq;
}

static int begin(struct gp_ingest *ingest)
{
    if (ingest->status < 0)
        return ingest->status;
    ingest->changed = true;
    if (ingest->in_transaction)
        return 0;
    int status = gp_db_begin(ingest->db);
    ingest->in_transaction = status == 0;
    return set_error(ingest, status);
}

static int flush(struct gp_ingest *ingest)
{
    int status = gp_ledger_flush(&ingest->ledger);
    if (status == 0)
        status = gp_table_flush(&ingest->mappings.table);
    if (status == 0)
        status = gp_graph_flush(&ingest->graph);
    if (status == 0)
        status = gp_table_flush(&ingest->handles.handles);
    if (status == 0)
        status = gp_steps_flush(&ingest->steps);
    return status < 0 ? status : gp_rows_flush(&ingest->clock.rows);
}

static size_t fresh_objects(const struct gp_ingest *ingest)
{
    return ingest->ledger.allocations.fresh.count + ingest->graph.nodes.fresh.count +
           ingest->graph.saved.fresh.count + ingest->handles.handles.fresh.count;
}

/* "key NUL value". A key that ingest itself keeps would break a later import: damage. */
static int on_meta(struct gp_ingest *ingest, const struct gp_event *event)
{
    size_t length = event->record->length;
    const char *key = (const char *)event->payload;
    const char *nul = length <= event->payload_bytes && length ? memchr(key, 0, length) : NULL;
    if (!nul || nul == key || gp_state_owns(key, (size_t)(nul - key))) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    size_t key_length = (size_t)(nul - key);
    return gp_meta_put_text(ingest->db, key, key_length, nul + 1, length - key_length - 1);
}

/* The name is a string that was defined before: its row is there. */
static int on_counter(struct gp_ingest *ingest, const struct gp_record *record)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(ingest->db,
                               "INSERT OR REPLACE INTO counter SELECT text, ? FROM string "
                               "WHERE id = ?",
                               &statement);
    if (status < 0)
        return status;
    gp_bind_int64(statement, 1, (int64_t)record->a);
    gp_bind_int64(statement, 2, record->name_id);
    status = gp_step(statement);
    gp_statement_destroy(statement);
    return status;
}

static int on_child(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(ingest->db, "INSERT OR REPLACE INTO child VALUES(?,?)", &statement);
    if (status < 0)
        return status;
    gp_bind_int64(statement, 1, (int64_t)event->record->key);
    gp_bind_int64(statement, 2, (int64_t)event->seq);
    status = gp_step(statement);
    gp_statement_destroy(statement);
    return status;
}

static int dispatch(struct gp_ingest *ingest, const struct gp_event *event)
{
    switch (event->record->type) {
    case GP_EV_BLOCK:
    case GP_EV_BLOCK_FREE:
    case GP_EV_ALLOC:
    case GP_EV_FREE:
    case GP_EV_FREE_RESULT:
    case GP_EV_REFUSED:
    case GP_EV_RESET:
    case GP_EV_ROLE:
    case GP_EV_DEVICE:
        return gp_ledger_event(ingest, event);
    case GP_EV_MAP:
    case GP_EV_UNMAP:
        return gp_mappings_event(ingest, event);
    case GP_EV_DEVICE_SAMPLE:
        return gp_samples_event(ingest, event);
    case GP_EV_NODE:
    case GP_EV_EDGE:
    case GP_EV_NODE_BACKWARD:
    case GP_EV_NODE_DESTROY:
    case GP_EV_SAVE:
    case GP_EV_RELEASE:
        return gp_graph_event(ingest, event);
    case GP_EV_HANDLE:
    case GP_EV_HANDLE_NAME:
    case GP_EV_HANDLE_NODE:
    case GP_EV_HANDLE_DESTROY:
        return gp_handles_event(ingest, event);
    case GP_EV_STRING:
    case GP_EV_STACK:
    case GP_EV_MODULE:
    case GP_EV_SCOPE:
    case GP_EV_FRAME:
    case GP_EV_STRING_TEXT:
        return gp_definitions_event(ingest, event);
    case GP_EV_STEP_BEGIN:
    case GP_EV_STEP_END:
    case GP_EV_LOOP_END:
        return gp_steps_event(ingest, event);
    case GP_EV_META:
        return on_meta(ingest, event);
    case GP_EV_COUNTER:
        return on_counter(ingest, event->record);
    case GP_EV_CHILD:
        return on_child(ingest, event);
    case GP_EV_POOL: /* a pool's own bytes are not allocations */
        return 0;
    case GP_EV_EXIT_BEGIN:
        if (!ingest->state.exit_begin_seq)
            ingest->state.exit_begin_seq = event->seq;
        return 0;
    case GP_EV_EXIT:
        ingest->state.exit_event_seq = event->seq;
        return 0;
    default:
        gp_tally(ingest, GP_TALLY_unknown_events);
        return 0;
    }
}

/* Threads take their time before their position: the clock of the run only goes forward. */
static uint64_t run_time(const struct gp_ingest *ingest, uint64_t t_ns)
{
    uint64_t since_start = t_ns > ingest->start_ns ? t_ns - ingest->start_ns : 0;
    since_start &= INT64_MAX;
    return since_start > ingest->state.last_ns ? since_start : ingest->state.last_ns;
}

int gp_ingest_event(struct gp_ingest *ingest, uint64_t seq, const struct gp_record *record,
                    const unsigned char *payload, size_t payload_bytes)
{
    struct gp_state *state = &ingest->state;
    if (seq < state->ingested_seq)
        return -EINVAL;
    int status = begin(ingest);
    if (status < 0)
        return status;
    struct gp_event event = {.seq = seq,
                             .t_ns = run_time(ingest, record->t_ns),
                             .record = record,
                             .payload = payload,
                             .payload_bytes = payload_bytes};
    status = gp_clock_sample(&ingest->clock, seq, event.t_ns, false);
    if (status == 0)
        status = dispatch(ingest, &event);
    state->events++;
    state->last_seq = seq;
    state->last_ns = event.t_ns;
    state->ingested_seq = seq + 1 + record->extra;
    if (status == 0 && fresh_objects(ingest) > FRESH_MAX)
        status = flush(ingest);
    return set_error(ingest, status);
}

int gp_ingest_skip_lost(struct gp_ingest *ingest, uint64_t next_seq, uint64_t lost)
{
    struct gp_state *state = &ingest->state;
    if (next_seq <= state->ingested_seq)
        return ingest->status;
    uint64_t passed = next_seq - state->ingested_seq;
    lost = lost < passed ? lost : passed;
    ingest->tallies.values[GP_TALLY_holes] += passed - lost;
    ingest->tallies.values[GP_TALLY_lost_events] += lost;
    state->ingested_seq = next_seq;
    ingest->changed = true;
    return ingest->status;
}

int gp_ingest_skip(struct gp_ingest *ingest, uint64_t next_seq)
{
    return gp_ingest_skip_lost(ingest, next_seq, 0);
}

int gp_ingest_counter(struct gp_ingest *ingest, const char *name, uint64_t value)
{
    int status = begin(ingest);
    return status < 0 ? status : set_error(ingest, gp_counter_put(ingest->db, name, value));
}

int gp_ingest_meta(struct gp_ingest *ingest, const char *key, const char *value)
{
    size_t key_length = strlen(key);
    if (gp_state_owns(key, key_length))
        return -EINVAL;
    int status = begin(ingest);
    if (status < 0)
        return status;
    return set_error(ingest, gp_meta_put_text(ingest->db, key, key_length, value, strlen(value)));
}

void gp_ingest_get_summary(const struct gp_ingest *ingest, struct gp_ingest_summary *ret_summary)
{
    const struct gp_state *state = &ingest->state;
    *ret_summary = (struct gp_ingest_summary){
        .events = state->events,
        .peak_bytes = state->peak_bytes,
        .live_bytes = ingest->ledger.live_bytes,
        .live_nodes = ingest->graph.by_key.count,
        .completed_steps = state->completed_steps,
        .failures = state->failures,
        .retained_graph_steps = state->retained_graph_steps,
    };
}

/* --- closing ----------------------------------------------------------------------------------- */

int gp_ingest_commit(struct gp_ingest *ingest)
{
    if (ingest->status < 0 || !ingest->changed)
        return ingest->status;
    int status = begin(ingest);
    if (status == 0)
        status = flush(ingest);
    if (status == 0)
        status = gp_state_save(ingest);
    if (status == 0)
        status = gp_db_commit(ingest->db);
    if (status == 0) {
        ingest->in_transaction = false;
        ingest->changed = false;
    }
    return set_error(ingest, status);
}

static int put_last_rows(struct gp_ingest *ingest, bool clean)
{
    const struct gp_state *state = &ingest->state;
    int status = begin(ingest);
    if (status == 0 && state->events)
        status = gp_clock_sample(&ingest->clock, state->last_seq, state->last_ns, true);
    if (status == 0)
        status = gp_meta_put_int64(ingest->db, "finished", 1);
    if (status == 0)
        status = gp_meta_put_int64(ingest->db, "clean_exit", clean);
    return status;
}

int gp_ingest_finish(struct gp_ingest *ingest, int clean)
{
    int status = put_last_rows(ingest, clean || ingest->state.exit_event_seq);
    if (status == 0)
        status = gp_ingest_commit(ingest);
    /* A reader that has the file open keeps it a WAL database: complete, only not a single file. */
    if (status == 0)
        gp_db_execute(ingest->db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    destroy(ingest);
    return status;
}

void gp_ingest_abandon(struct gp_ingest *ingest)
{
    if (ingest)
        destroy(ingest);
}
