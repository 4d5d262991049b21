/* SPDX-License-Identifier: MIT */
/* Points in a run by name: peak, end, oom, exit, step:N, +SECONDS. */
#ifndef GV_MOMENT_H
#define GV_MOMENT_H

#include <stdint.h>

#include "viewer/query.h"
#include "viewer/run.h"

enum gv_moment_kind {
    GV_AT_DEFAULT, /* the last refused allocation if there is one, else the end */
    GV_AT_PEAK,
    GV_AT_END,
    GV_AT_OOM,
    GV_AT_EXIT,
    GV_AT_STEP,
    GV_AT_TIME
};

struct gv_at { /* what --at says */
    enum gv_moment_kind kind;
    uint32_t step;
    uint64_t t_ns;
};

struct gv_moment {
    enum gv_moment_kind kind; /* never GV_AT_DEFAULT */
    int64_t seq;
    uint32_t step; /* id of the innermost step it lies in; 0: none */
    int64_t t_ns;  /* -1: not known */
};

/* 0, or -EINVAL when `text` is none of the forms. */
int gv_at_parse(const char *text, struct gv_at *ret_at);

/* -EINVAL with one line in query->error when this run has no such moment. */
int gv_moment_resolve(struct gv_query *query, const struct gv_run *run, struct gv_at at,
                      struct gv_moment *ret_moment);

/* "peak", "oom", "step:3", ...: what --at would take. */
const char *gv_moment_name(const struct gv_moment *moment, char *buffer, size_t size);

#endif
