/* SPDX-License-Identifier: MIT */
/*
 * Ingest: events in seq order -> rows of run.db (schema.sql). Used by the ingest thread inside the
 * profiled process and by gradprof-report for a log that a killed process left behind.
 *
 * Memory: O(live objects) + one transaction; never O(history). All memory is malloc'd: call from a
 * thread whose hooks are guarded. Threads: one caller at a time. Errors: 0 or negative errno, text
 * in gp_ingest_error.
 *
 * Resume: each transaction stores meta.ingested_seq (first position not yet in the database), so a
 * process may die at any point, and gp_ingest_open continues without a gap and without a duplicate.
 */
#ifndef GP_STORE_INGEST_H
#define GP_STORE_INGEST_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/log/format.h"

struct gp_ingest;

struct gp_ingest_summary { /* what the exit line needs; all since the run's start */
    uint64_t events;
    uint64_t peak_bytes, live_bytes; /* all devices, device kinds only (no pinned host memory) */
    uint64_t live_nodes, completed_steps, failures;
    /* Steps that had nodes although a later step had begun: at the close of the last top-level step,
     * or at the last refused allocation if that came later (both before the exit handlers). */
    uint64_t retained_graph_steps;
};

/* A new database for the run described by `header`. -EEXIST when there is one. */
int gp_ingest_create(const char *db_path, const struct gp_log_header *header,
                     struct gp_ingest **ret_ingest, char *error, size_t error_size);
/* Continue an unfinished database: rebuilds the live set from its rows. -EINVAL: the log belongs to
 * another run (run_id differs). -EALREADY: gp_ingest_finish was done, there is nothing to go on with. */
int gp_ingest_open(const char *db_path, const struct gp_log_header *header,
                   struct gp_ingest **ret_ingest, char *error, size_t error_size);

uint64_t gp_ingest_next_seq(const struct gp_ingest *ingest); /* where to go on in the log */

/* One event; `payload` = the continuation bytes joined, `payload_bytes` = 56 * extra. Begins a
 * transaction when none is open. Malformed events are counted (counter malformed_events), not fatal. */
int gp_ingest_event(struct gp_ingest *ingest, uint64_t seq, const struct gp_record *record,
                    const unsigned char *payload, size_t payload_bytes);
/* Positions [gp_ingest_next_seq, next_seq) are holes. */
int gp_ingest_skip(struct gp_ingest *ingest, uint64_t next_seq);
/* ... of which `lost` were written, but are no longer in the log. */
int gp_ingest_skip_lost(struct gp_ingest *ingest, uint64_t next_seq, uint64_t lost);

/* Commits what is pending; afterwards the log before gp_ingest_next_seq may be recycled. */
int gp_ingest_commit(struct gp_ingest *ingest);
/* A counter kept outside the log (dropped_events, ...). */
int gp_ingest_counter(struct gp_ingest *ingest, const char *name, uint64_t value);
int gp_ingest_meta(struct gp_ingest *ingest, const char *key, const char *value);
void gp_ingest_get_summary(const struct gp_ingest *ingest, struct gp_ingest_summary *ret_summary);
const char *gp_ingest_error(const struct gp_ingest *ingest);

/* Final commit, closes open steps, moments, WAL checkpoint -> one plain file; `clean`: the process
 * exited in order. meta.finished is set. Frees the ingest whatever it returns. */
int gp_ingest_finish(struct gp_ingest *ingest, int clean);
/* Without finishing: as if the process died here. Accepts NULL. */
void gp_ingest_abandon(struct gp_ingest *ingest);

#endif
