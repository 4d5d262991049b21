/* SPDX-License-Identifier: MIT */
/* The device's own account (device_sample) and its first word on the context. */
#include <string.h>

#include "libgradprof/store/ingest_private.h"

int gp_samples_init(struct gp_samples *samples, struct gp_db *db)
{
    int status =
        gp_db_prepare(db, "INSERT OR REPLACE INTO device_sample VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
                      &samples->insert);
    if (status == 0)
        status = gp_db_prepare(db,
                               "UPDATE device SET context_bytes = ?2 WHERE id = ?1 AND "
                               "context_bytes IS NULL",
                               &samples->set_context);
    return status;
}

void gp_samples_finish(struct gp_samples *samples)
{
    gp_statement_destroy(samples->insert);
    gp_statement_destroy(samples->set_context);
}

static void bind_known(struct gp_statement *statement, int parameter, uint64_t bytes)
{
    if (bytes <= INT64_MAX)
        gp_bind_int64(statement, parameter, (int64_t)bytes);
}

/* Used, but by no allocation of ours, by no pool and by no other process: the context's own. Known only
 * when other processes are. */
static int set_context(struct gp_samples *samples, unsigned device,
                       const struct gp_device_sample *s, uint64_t live_bytes)
{
    uint64_t known = live_bytes, used = s->total - s->free;
    if (s->others == GP_UNKNOWN_BYTES)
        return 0;
    known += s->others;
    if (s->pool_reserved != GP_UNKNOWN_BYTES)
        known += s->pool_reserved - s->pool_used;
    if (known > used)
        return 0;
    gp_bind_int64(samples->set_context, 1, device);
    gp_bind_int64(samples->set_context, 2, (int64_t)(used - known));
    int status = gp_step(samples->set_context);
    gp_reset(samples->set_context);
    return status;
}

static int put(struct gp_ingest *ingest, const struct gp_event *event, unsigned device,
               const struct gp_device_sample *s)
{
    struct gp_statement *insert = ingest->samples.insert;
    gp_bind_int64(insert, 1, (int64_t)event->seq);
    gp_bind_int64(insert, 2, (int64_t)event->t_ns);
    gp_bind_int64(insert, 3, device);
    gp_bind_int64(insert, 4, event->record->detail);
    gp_bind_int64(insert, 5, (int64_t)ingest->ledger.devices[device].live_bytes);
    gp_bind_int64(insert, 6, (int64_t)s->free);
    gp_bind_int64(insert, 7, (int64_t)s->total);
    bind_known(insert, 8, s->pool_reserved);
    bind_known(insert, 9, s->pool_used);
    bind_known(insert, 10, s->graph_reserved);
    bind_known(insert, 11, s->graph_used);
    bind_known(insert, 12, s->others);
    int status = gp_step(insert);
    gp_reset(insert);
    return status;
}

int gp_samples_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    unsigned device = event->record->device_plus_1 - 1u;
    struct gp_device_sample s;
    if (event->record->device_plus_1 == 0 || event->payload_bytes < sizeof(s)) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    memcpy(&s, event->payload, sizeof(s));
    if (s.total > GP_SIZE_MAX_BYTES || s.free > s.total) {
        gp_tally(ingest, GP_TALLY_malformed_events);
        return 0;
    }
    int status = put(ingest, event, device, &s);
    if (status < 0)
        return status;
    return set_context(&ingest->samples, device, &s, ingest->ledger.devices[device].live_bytes);
}
