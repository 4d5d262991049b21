/* SPDX-License-Identifier: MIT */
/*
 * Events per second from an event log to a finished SQLite file on one core, and bytes per row.
 *
 *   bench_ingest [EVENTS [SCENARIO]]        default 2,000,000 events, all scenarios
 *
 * Scenarios:
 *   short     allocations that are freed 1,000 events later (a caching allocator's churn)
 *   long      all allocations live until the end: each row is inserted, and updated much later
 *   training  a graph per step: nodes, edges, saved tensors, handles, allocations, all of it freed
 *   retained  the same graphs, never freed
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

#define COMMIT_EVENTS 200000

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t events_in(struct log_builder *log)
{
    return atomic_load(&log_builder_header(log)->next);
}

static uint64_t address_of(uint64_t i)
{
    return UINT64_C(0x7f3a00000000) + i * 512;
}

static void add_alloc(struct log_builder *log, uint64_t i)
{
    log_builder_add(log, (struct gp_record){.type = GP_EV_ALLOC,
                                            .device_plus_1 = 1,
                                            .key = address_of(i),
                                            .a = 4096 + i % 7 * 70000,
                                            .stack_id = 300 + (uint32_t)(i % 100),
                                            .scope_id = 40,
                                            .detail = GP_DETAIL(GP_KIND_ASYNC, 0)});
}

static void fill_short(struct log_builder *log, uint64_t events)
{
    for (uint64_t i = 0; i < events / 2; i++) {
        add_alloc(log, i % 1000);
        log_builder_free(log, address_of((i + 1) % 1000));
    }
}

static void fill_long(struct log_builder *log, uint64_t events)
{
    for (uint64_t i = 0; i < events / 2; i++)
        add_alloc(log, i);
    for (uint64_t i = 0; i < events / 2; i++)
        log_builder_free(log, address_of(i));
}

#define NODES 26

static void add_step(struct log_builder *log, uint64_t step, int freed)
{
    uint64_t first = step * NODES;
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    for (uint64_t i = first; i < first + NODES; i++) {
        uint64_t key = UINT64_C(0x55aa00000000) + i * 96;
        add_alloc(log, i);
        log_builder_node(log, key, 5);
        if (i > first)
            log_builder_add(log, (struct gp_record){.type = GP_EV_EDGE, .key = key, .a = key - 96});
        log_builder_save(log, key, 6, address_of(i), 0);
        log_builder_handle(log, key + 8, 7, address_of(i), key);
        if (freed)
            log_builder_key(log, GP_EV_HANDLE_DESTROY, key + 8);
    }
    for (uint64_t i = first; freed && i < first + NODES; i++) {
        log_builder_key(log, GP_EV_NODE_DESTROY, UINT64_C(0x55aa00000000) + i * 96);
        log_builder_free(log, address_of(i));
    }
    log_builder_mark(log, GP_EV_STEP_END);
}

static void fill_training(struct log_builder *log, uint64_t events)
{
    for (uint64_t step = 0; events_in(log) < events; step++)
        add_step(log, step, 1);
}

static void fill_retained(struct log_builder *log, uint64_t events)
{
    for (uint64_t step = 0; events_in(log) < events; step++)
        add_step(log, step, 0);
}

static void ingest(struct store_fixture *fixture)
{
    char error[256];
    struct gp_ingest *ingest;
    struct gp_log_header *header = log_builder_header(&fixture->log);
    uint64_t end = events_in(&fixture->log);
    if (gp_ingest_create(fixture->db_path, header, &ingest, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    for (uint64_t until = COMMIT_EVENTS; gp_ingest_next_seq(ingest) < end; until += COMMIT_EVENTS) {
        if (log_builder_replay(&fixture->log, ingest, until < end ? until : end) < 0 ||
            gp_ingest_commit(ingest) < 0)
            fail_msg("%s", gp_ingest_error(ingest));
    }
    assert_int_equal(gp_ingest_finish(ingest, 1), 0);
}

/* Of a table or an index on it, for each row of the table. */
static double bytes_per_row(struct gp_db *db, const char *table, const char *btree)
{
    char sql[160];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    int64_t rows = store_int(db, sql);
    snprintf(sql, sizeof(sql), "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = '%s'",
             btree);
    return rows ? (double)store_int(db, sql) / (double)rows : 0;
}

static void print_sizes(const char *path)
{
    static const char *const tables[] = {"allocation", "node", "edge", "saved", "handle"};
    struct gp_db *db;
    if (gp_db_open(path, GP_DB_READ_WRITE, &db, NULL, 0) < 0 ||
        gp_db_execute(db, "CREATE INDEX by_seq ON allocation(alloc_seq, free_seq)") < 0)
        fail_msg("%s", path);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        double bytes = bytes_per_row(db, tables[i], tables[i]);
        if (bytes > 0)
            printf("  %s %.1f", tables[i], bytes);
    }
    printf("  index on allocation %.1f bytes per row\n", bytes_per_row(db, "allocation", "by_seq"));
    gp_db_close(db);
}

static void run(const char *name, void (*fill)(struct log_builder *log, uint64_t events),
                uint64_t events)
{
    void *state;
    if (store_setup(&state) < 0)
        exit(1);
    struct store_fixture *fixture = state;
    fill(&fixture->log, events);
    double start = cpu_seconds();
    ingest(fixture);
    double seconds = cpu_seconds() - start;
    uint64_t count = events_in(&fixture->log);
    printf("%-9s %9" PRIu64 " events  %.3f s of CPU  %.2f M events/s\n", name, count, seconds,
           (double)count / seconds * 1e-6);
    print_sizes(fixture->db_path);
    store_teardown(&state);
}

static const struct {
    const char *name;
    void (*fill)(struct log_builder *log, uint64_t events);
} scenarios[] = {
    {"short", fill_short},
    {"long", fill_long},
    {"training", fill_training},
    {"retained", fill_retained},
};

int main(int argc, char **argv)
{
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
    const char *only = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
        if (!only || strcmp(only, scenarios[i].name) == 0)
            run(scenarios[i].name, scenarios[i].fill, events);
    }
    return 0;
}
