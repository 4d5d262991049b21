/* SPDX-License-Identifier: MIT */
#include "viewer/moment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/rows.h"

static const struct {
    const char *name;
    enum gv_moment_kind kind;
} named[] = {{"peak", GV_AT_PEAK}, {"end", GV_AT_END}, {"oom", GV_AT_OOM}, {"exit", GV_AT_EXIT}};

static int parse_step(const char *text, struct gv_at *ret_at)
{
    char *end;
    errno = 0;
    unsigned long long step = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || step == 0 || step >= UINT32_MAX)
        return -EINVAL;
    *ret_at = (struct gv_at){.kind = GV_AT_STEP, .step = (uint32_t)step};
    return 0;
}

static int parse_time(const char *text, struct gv_at *ret_at)
{
    char *end;
    double seconds = strtod(text, &end);
    bool plain = isdigit((unsigned char)*text) && strspn(text, "0123456789.") == strlen(text);
    if (!plain || *end || !(seconds <= 1e9)) /* thirty years */
        return -EINVAL;
    *ret_at = (struct gv_at){.kind = GV_AT_TIME, .t_ns = (uint64_t)(seconds * 1e9 + 0.5)};
    return 0;
}

int gv_at_parse(const char *text, struct gv_at *ret_at)
{
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (strcmp(text, named[i].name) == 0) {
            *ret_at = (struct gv_at){.kind = named[i].kind};
            return 0;
        }
    }
    if (strncmp(text, "step:", 5) == 0)
        return parse_step(text + 5, ret_at);
    if (text[0] == '+')
        return parse_time(text + 1, ret_at);
    return -EINVAL;
}

/* Last event that any table tells of. */
static int last_seq(struct gv_query *query, int64_t *ret_seq)
{
    return gv_one(query,
                  "SELECT max(s) FROM ("
                  "SELECT max(alloc_seq) AS s FROM allocation UNION ALL "
                  "SELECT max(free_seq) FROM allocation UNION ALL "
                  "SELECT max(create_seq) FROM node UNION ALL "
                  "SELECT max(destroy_seq) FROM node UNION ALL "
                  "SELECT max(create_seq) FROM handle UNION ALL "
                  "SELECT max(destroy_seq) FROM handle UNION ALL "
                  "SELECT max(seq) FROM failure)",
                  0, ret_seq);
}

static int resolve_exit(struct gv_query *query, const struct gv_run *run, int64_t *ret_seq)
{
    int64_t seq = gv_meta_integer(run, "exit_seq", -1);
    if (seq < 0)
        return last_seq(query, ret_seq);
    *ret_seq = seq;
    return 0;
}

/* The close of the last completed step; without steps, the last device event (before the exit
 * handlers, which only meta.end_seq knows). */
static int resolve_end(struct gv_query *query, const struct gv_run *run, int64_t *ret_seq)
{
    const struct gv_step *step = gv_last_completed_step(run);
    int64_t seq = step ? step->end_seq : gv_meta_integer(run, "end_seq", -1);
    if (seq < 0)
        return gv_one(query,
                      "SELECT max(max(alloc_seq), coalesce(max(free_seq), 0)) FROM allocation", 0,
                      ret_seq);
    *ret_seq = seq;
    return 0;
}

static int resolve_peak(struct gv_query *query, const struct gv_run *run, int64_t *ret_seq)
{
    int64_t seq = gv_meta_integer(run, "peak_seq", -1);
    if (seq < 0)
        return gv_one(query,
                      "WITH event(seq, bytes) AS ("
                      "SELECT alloc_seq, " GV_SQL_SIZE
                      " FROM allocation WHERE " GV_SQL_DEVICE_MEMORY
                      " UNION ALL SELECT free_seq, -" GV_SQL_SIZE " FROM allocation "
                      "WHERE free_seq IS NOT NULL AND " GV_SQL_DEVICE_MEMORY "), "
                      "total(seq, live) AS (SELECT seq, sum(bytes) OVER (ORDER BY seq) FROM event) "
                      "SELECT seq FROM total ORDER BY live DESC, seq LIMIT 1",
                      0, ret_seq);
    *ret_seq = seq;
    return 0;
}

static int resolve_oom(struct gv_query *query, const struct gv_run *run, int64_t *ret_seq)
{
    if (run->failure_count == 0)
        return gv_fail(query, -EINVAL, "--at oom: no allocation was refused in this run");
    *ret_seq = run->failures[run->failure_count - 1].seq;
    return 0;
}

static int resolve_step(struct gv_query *query, const struct gv_run *run, uint32_t id,
                        int64_t *ret_seq)
{
    const struct gv_step *step = gv_step_find(run, id);
    if (run->step_count == 0)
        return gv_fail(query, -EINVAL, "--at step:%" PRIu32 ": this run has no steps", id);
    if (!step)
        return gv_fail(query, -EINVAL,
                       "--at step:%" PRIu32 ": this run has the steps %" PRIu32 " to %" PRIu32, id,
                       run->steps[0].id, run->steps[run->step_count - 1].id);
    if (!step->completed)
        return gv_fail(query, -EINVAL,
                       "--at step:%" PRIu32 ": that step was never completed; try --at %s", id,
                       run->failure_count ? "oom" : "exit");
    *ret_seq = step->end_seq;
    return 0;
}

struct clock_span {
    int64_t t_ns, seq[2], at_ns[2];
    int have;
};

static int clock_row(struct gp_statement *row, void *user)
{
    struct clock_span *span = user;
    span->seq[span->have] = gp_column_int64(row, 0);
    span->at_ns[span->have++] = gp_column_int64(row, 1);
    return 0;
}

static int resolve_time(struct gv_query *query, uint64_t t_ns, int64_t *ret_seq)
{
    struct clock_span span = {.t_ns = (int64_t)t_ns};
    int64_t end_ns = -1;
    int r = gv_one(query, "SELECT max(t_ns) FROM clock", -1, &end_ns);
    if (r == 0 && end_ns < 0)
        return gv_fail(query, -EINVAL, "--at +SECONDS: this database has no times");
    if (r == 0 && span.t_ns > end_ns)
        return gv_fail(query, -EINVAL, "--at +%g: the run lasted %.3f seconds", (double)t_ns / 1e9,
                       (double)end_ns / 1e9);
    if (r == 0)
        r = gv_each(query, "SELECT seq, t_ns FROM clock WHERE t_ns <= ?1 ORDER BY seq DESC LIMIT 1",
                    &span.t_ns, 1, clock_row, &span);
    int before = span.have;
    if (r == 0)
        r = gv_each(query, "SELECT seq, t_ns FROM clock WHERE t_ns > ?1 ORDER BY seq LIMIT 1",
                    &span.t_ns, 1, clock_row, &span);
    if (r < 0)
        return r;
    *ret_seq = before ? span.seq[0] : 0; /* before the first event nothing lives */
    if (before && span.have == 2)
        *ret_seq +=
            (int64_t)((double)(span.seq[1] - span.seq[0]) * (double)(span.t_ns - span.at_ns[0]) /
                      (double)(span.at_ns[1] - span.at_ns[0]));
    return 0;
}

/* Time of `seq`, interpolated between the samples of the clock; -1: not known. */
static int time_of(struct gv_query *query, int64_t seq, int64_t *ret_ns)
{
    struct clock_span span = {0};
    int r = gv_each(query, "SELECT seq, t_ns FROM clock WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1",
                    &seq, 1, clock_row, &span);
    int before = span.have;
    if (r == 0)
        r = gv_each(query, "SELECT seq, t_ns FROM clock WHERE seq > ?1 ORDER BY seq LIMIT 1", &seq,
                    1, clock_row, &span);
    if (r < 0)
        return r;
    *ret_ns = span.have ? span.at_ns[0] : -1;
    if (before && span.have == 2)
        *ret_ns += (int64_t)((double)(span.at_ns[1] - span.at_ns[0]) * (double)(seq - span.seq[0]) /
                             (double)(span.seq[1] - span.seq[0]));
    return 0;
}

int gv_moment_resolve(struct gv_query *query, const struct gv_run *run, struct gv_at at,
                      struct gv_moment *ret_moment)
{
    struct gv_moment moment = {.kind = at.kind, .t_ns = -1};
    if (at.kind == GV_AT_DEFAULT)
        moment.kind = run->failure_count ? GV_AT_OOM : GV_AT_END;
    int r = -EINVAL;
    switch (moment.kind) {
    case GV_AT_PEAK:
        r = resolve_peak(query, run, &moment.seq);
        break;
    case GV_AT_OOM:
        r = resolve_oom(query, run, &moment.seq);
        break;
    case GV_AT_EXIT:
        r = resolve_exit(query, run, &moment.seq);
        break;
    case GV_AT_STEP:
        r = resolve_step(query, run, at.step, &moment.seq);
        break;
    case GV_AT_TIME:
        r = resolve_time(query, at.t_ns, &moment.seq);
        break;
    case GV_AT_END:
    case GV_AT_DEFAULT:
        r = resolve_end(query, run, &moment.seq);
        break;
    }
    if (r == 0)
        r = time_of(query, moment.seq, &moment.t_ns);
    if (r < 0)
        return r;
    const struct gv_step *step =
        moment.kind == GV_AT_STEP ? gv_step_find(run, at.step) : gv_step_at(run, moment.seq);
    moment.step = step ? step->id : 0;
    *ret_moment = moment;
    return 0;
}

const char *gv_moment_name(const struct gv_moment *moment, char *buffer, size_t size)
{
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (named[i].kind == moment->kind)
            return named[i].name;
    if (moment->kind == GV_AT_STEP)
        snprintf(buffer, size, "step:%" PRIu32, moment->step);
    else
        snprintf(buffer, size, "+%.3f", (double)moment->t_ns / 1e9);
    return buffer;
}
