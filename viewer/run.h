/* SPDX-License-Identifier: MIT */
/* What a database says about the run as a whole: program, devices, steps, refusals, problems. */
#ifndef GV_RUN_H
#define GV_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/memory.h"
#include "viewer/names.h"
#include "viewer/query.h"

struct gv_meta {
    char *key, *value; /* safe to show */
};

#define GV_DEVICE_CPU 254 /* PyTorch's CPU allocator (docs/FORMAT.md) */

struct gv_device {
    uint32_t id, name_id, runtime;
    uint64_t total_bytes, limit_bytes; /* 0: not known, no limit */
    uint64_t peak_bytes;
    int64_t context_bytes; /* -1: not known */
};

struct gv_step {
    uint32_t id, parent_id, label_id;
    int64_t begin_seq, end_seq; /* inclusive; end_seq INT64_MAX while not completed */
    bool completed;
    uint64_t begin_ns, end_ns;
    uint64_t begin_bytes, end_bytes, peak_bytes;
    uint64_t begin_nodes, end_nodes;
};

struct gv_failure {
    int64_t seq;
    uint64_t t_ns, asked_bytes, live_bytes, limit_bytes; /* limit 0: the device's own */
    uint32_t device_id, api_id, error, stack_id, scope_id, step_id;
};

struct gv_counter {
    char *name;
    int64_t value;
};

struct gv_run {
    struct gv_meta *meta;
    struct gv_device *devices;
    struct gv_step *steps;       /* by id */
    struct gv_failure *failures; /* by seq */
    struct gv_counter *counters;
    uint32_t meta_count, device_count, step_count, failure_count, counter_count, child_count;
    uint32_t meta_capacity, device_capacity, step_capacity, failure_capacity, counter_capacity;
    uint32_t completed_steps;
};

int gv_run_load(struct gv_query *query, struct gv_run *ret_run);
void gv_run_free(struct gv_run *run);

/* NULL when there is no such key. */
const char *gv_meta_text(const struct gv_run *run, const char *key);
int64_t gv_meta_integer(const struct gv_run *run, const char *key, int64_t fallback);
int64_t gv_counter_value(const struct gv_run *run, const char *name); /* 0 when not there */

const struct gv_device *gv_device_find(const struct gv_run *run, uint32_t id); /* may be NULL */
/* What the device may hold at most: its limit, else its size; 0: not known. */
uint64_t gv_device_capacity(const struct gv_device *device);

const struct gv_step *gv_step_find(const struct gv_run *run, uint32_t id); /* may be NULL */
/* The innermost step that `seq` lies in, NULL: between steps. */
const struct gv_step *gv_step_at(const struct gv_run *run, int64_t seq);
const struct gv_step *gv_last_completed_step(const struct gv_run *run); /* by its end; or NULL */

#endif
