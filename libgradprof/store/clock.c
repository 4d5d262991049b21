/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/ingest_private.h"

/* A time is at most this far from a row, whichever comes first. */
#define SAMPLE_EVENTS 1024
#define SAMPLE_NS 1000000

int gp_clock_init(struct gp_clock *clock, struct gp_db *db)
{
    return gp_rows_init(&clock->rows, db, GP_ROWS_INSERT, "clock", "seq, t_ns");
}

void gp_clock_finish(struct gp_clock *clock)
{
    gp_rows_finish(&clock->rows);
}

int gp_clock_sample(struct gp_clock *clock, uint64_t seq, uint64_t t_ns, bool exact)
{
    if (clock->started) {
        if (seq <= clock->last_seq)
            return 0;
        if (!exact && seq - clock->last_seq < SAMPLE_EVENTS && t_ns - clock->last_ns < SAMPLE_NS)
            return 0;
    }
    clock->started = true;
    clock->last_seq = seq;
    clock->last_ns = t_ns;
    int64_t values[] = {(int64_t)seq, (int64_t)t_ns};
    return gp_rows_put(&clock->rows, values);
}
