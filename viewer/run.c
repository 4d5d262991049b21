/* SPDX-License-Identifier: MIT */
#include "viewer/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int meta_row(struct gp_statement *row, void *user)
{
    struct gv_run *run = user;
    int r = gv_reserve(&run->meta, &run->meta_capacity, run->meta_count, sizeof(*run->meta));
    if (r < 0)
        return r;
    const char *value = gp_column_text(row, 1);
    struct gv_meta meta = {.value = gv_clean(value ? value : "")};
    const char *key = gp_column_text(row, 0);
    meta.key = gv_clean(key ? key : "");
    run->meta[run->meta_count++] = meta;
    return meta.key && meta.value ? 0 : -ENOMEM;
}

static int device_row(struct gp_statement *row, void *user)
{
    struct gv_run *run = user;
    int r =
        gv_reserve(&run->devices, &run->device_capacity, run->device_count, sizeof(*run->devices));
    if (r == 0)
        run->devices[run->device_count++] = (struct gv_device){
            .id = gv_column_u32(row, 0),
            .name_id = gv_column_u32(row, 1),
            .runtime = gv_column_u32(row, 2),
            .total_bytes = gv_column_bytes(row, 3),
            .limit_bytes = gv_column_bytes(row, 4),
            .context_bytes = gp_column_is_null(row, 5) ? -1 : gp_column_int64(row, 5),
            .peak_bytes = gv_column_bytes(row, 6),
        };
    return r;
}

static int step_row(struct gp_statement *row, void *user)
{
    struct gv_run *run = user;
    int r = gv_reserve(&run->steps, &run->step_capacity, run->step_count, sizeof(*run->steps));
    if (r < 0)
        return r;
    bool completed = !gp_column_is_null(row, 4);
    run->completed_steps += completed;
    run->steps[run->step_count++] = (struct gv_step){
        .id = gv_column_u32(row, 0),
        .parent_id = gv_column_u32(row, 1),
        .label_id = gv_column_u32(row, 2),
        .begin_seq = gp_column_int64(row, 3),
        .end_seq = completed ? gp_column_int64(row, 4) : INT64_MAX,
        .completed = completed,
        .begin_ns = gv_column_bytes(row, 5),
        .end_ns = gv_column_bytes(row, 6),
        .begin_bytes = gv_column_bytes(row, 7),
        .end_bytes = gv_column_bytes(row, 8),
        .peak_bytes = gv_column_bytes(row, 9),
        .begin_nodes = gv_column_bytes(row, 10),
        .end_nodes = gv_column_bytes(row, 11),
    };
    return 0;
}

static int failure_row(struct gp_statement *row, void *user)
{
    struct gv_run *run = user;
    int r = gv_reserve(&run->failures, &run->failure_capacity, run->failure_count,
                       sizeof(*run->failures));
    if (r == 0)
        run->failures[run->failure_count++] = (struct gv_failure){
            .seq = gp_column_int64(row, 0),
            .t_ns = gv_column_bytes(row, 1),
            .device_id = gv_column_u32(row, 2),
            .asked_bytes = gv_column_bytes(row, 3),
            .api_id = gv_column_u32(row, 4),
            .error = gv_column_u32(row, 5),
            .live_bytes = gv_column_bytes(row, 6),
            .limit_bytes = gv_column_bytes(row, 7),
            .stack_id = gv_column_u32(row, 8),
            .scope_id = gv_column_u32(row, 9),
            .step_id = gv_column_u32(row, 10),
        };
    return r;
}

static int counter_row(struct gp_statement *row, void *user)
{
    struct gv_run *run = user;
    int r = gv_reserve(&run->counters, &run->counter_capacity, run->counter_count,
                       sizeof(*run->counters));
    if (r < 0)
        return r;
    const char *name = gp_column_text(row, 0);
    struct gv_counter counter = {gv_clean(name ? name : ""), gp_column_int64(row, 1)};
    run->counters[run->counter_count++] = counter;
    return counter.name ? 0 : -ENOMEM;
}

static const struct {
    const char *sql;
    gv_row_function *function;
} tables[] = {
    {"SELECT key, value FROM meta ORDER BY key", meta_row},
    {"SELECT id, name_id, runtime, total_bytes, limit_bytes, context_bytes, peak_bytes "
     "FROM device ORDER BY id",
     device_row},
    {"SELECT id, parent_id, label_id, begin_seq, end_seq, begin_ns, end_ns, begin_bytes, "
     "end_bytes, peak_bytes, begin_nodes, end_nodes FROM step ORDER BY id",
     step_row},
    {"SELECT seq, t_ns, device_id, asked_bytes, api_id, error, live_bytes, limit_bytes, stack_id, "
     "scope_id, step_id FROM failure ORDER BY seq",
     failure_row},
    {"SELECT name, value FROM counter ORDER BY name", counter_row},
};

int gv_run_load(struct gv_query *query, struct gv_run *ret_run)
{
    struct gv_run run = {0};
    int r = 0;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && r == 0; i++)
        r = gv_each(query, tables[i].sql, NULL, 0, tables[i].function, &run);
    int64_t children = 0;
    if (r == 0)
        r = gv_one(query, "SELECT count(*) FROM child", 0, &children);
    if (r < 0) {
        gv_run_free(&run);
        return r;
    }
    run.child_count = (uint32_t)children;
    *ret_run = run;
    return 0;
}

void gv_run_free(struct gv_run *run)
{
    for (uint32_t i = 0; i < run->meta_count; i++) {
        free(run->meta[i].key);
        free(run->meta[i].value);
    }
    for (uint32_t i = 0; i < run->counter_count; i++)
        free(run->counters[i].name);
    free(run->meta);
    free(run->devices);
    free(run->steps);
    free(run->failures);
    free(run->counters);
    memset(run, 0, sizeof(*run));
}

const char *gv_meta_text(const struct gv_run *run, const char *key)
{
    for (uint32_t i = 0; i < run->meta_count; i++)
        if (strcmp(run->meta[i].key, key) == 0)
            return run->meta[i].value;
    return NULL;
}

int64_t gv_meta_integer(const struct gv_run *run, const char *key, int64_t fallback)
{
    const char *text = gv_meta_text(run, key);
    if (!text || !*text)
        return fallback;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno || *end ? fallback : value;
}

int64_t gv_counter_value(const struct gv_run *run, const char *name)
{
    for (uint32_t i = 0; i < run->counter_count; i++)
        if (strcmp(run->counters[i].name, name) == 0)
            return run->counters[i].value;
    return 0;
}

const struct gv_device *gv_device_find(const struct gv_run *run, uint32_t id)
{
    for (uint32_t i = 0; i < run->device_count; i++)
        if (run->devices[i].id == id)
            return &run->devices[i];
    return NULL;
}

uint64_t gv_device_capacity(const struct gv_device *device)
{
    if (!device)
        return 0;
    if (device->limit_bytes && (!device->total_bytes || device->limit_bytes < device->total_bytes))
        return device->limit_bytes;
    return device->total_bytes;
}

const struct gv_step *gv_step_find(const struct gv_run *run, uint32_t id)
{
    uint32_t low = 0, high = run->step_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (run->steps[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return id && low < run->step_count && run->steps[low].id == id ? &run->steps[low] : NULL;
}

const struct gv_step *gv_step_at(const struct gv_run *run, int64_t seq)
{
    for (uint32_t i = run->step_count; i > 0; i--) {
        const struct gv_step *step = &run->steps[i - 1];
        if (step->begin_seq <= seq && seq <= step->end_seq)
            return step;
    }
    return NULL;
}

const struct gv_step *gv_last_completed_step(const struct gv_run *run)
{
    const struct gv_step *last = NULL;
    for (uint32_t i = 0; i < run->step_count; i++)
        if (run->steps[i].completed && (!last || run->steps[i].end_seq > last->end_seq))
            last = &run->steps[i];
    return last;
}
