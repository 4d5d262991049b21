/* SPDX-License-Identifier: MIT */
/* Event positions -> time, for many positions: the whole table `clock` in memory. */
#ifndef GV_EXPORT_CLOCK_H
#define GV_EXPORT_CLOCK_H

#include "viewer/query.h"

struct gv_sample {
    int64_t seq, t_ns;
};

struct gv_samples {
    struct gv_sample *samples; /* ascending */
    uint32_t count, capacity;
};

/* 0 or a negative errno. */
int gv_samples_load(struct gv_query *query, struct gv_samples *ret_samples);
void gv_samples_free(struct gv_samples *samples);

/* Interpolated between samples, held at both ends; 0 when there is none. */
int64_t gv_samples_ns(const struct gv_samples *samples, int64_t seq);

#endif
