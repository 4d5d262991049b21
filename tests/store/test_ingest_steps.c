/* SPDX-License-Identifier: MIT */
/* Steps, moments, times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

static int64_t meta(struct gp_db *db, const char *key)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT (SELECT value FROM meta WHERE key = '%s')", key);
    return store_int(db, sql);
}

static void test_a_step(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_alloc(log, 0x1000, 100);
    uint64_t begun = log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_alloc(log, 0x2000, 50);
    uint64_t peak = log_builder_alloc(log, 0x3000, 30);
    log_builder_free(log, 0x2000);
    uint64_t last = log_builder_node(log, 0x9000, 1);
    uint64_t ended = log_builder_mark(log, GP_EV_STEP_END);
    log_builder_alloc(log, 0x4000, 1000);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT begin_seq FROM step WHERE id = 1", begun);
    assert_query(db, "SELECT end_seq FROM step WHERE id = 1", last);
    assert_query(db, "SELECT begin_ns FROM step WHERE id = 1", begun * 1000);
    assert_query(db, "SELECT end_ns FROM step WHERE id = 1", ended * 1000);
    assert_query(db, "SELECT begin_bytes FROM step WHERE id = 1", 100);
    assert_query(db, "SELECT end_bytes FROM step WHERE id = 1", 130);
    assert_query(db, "SELECT peak_bytes FROM step WHERE id = 1", 180);
    assert_query(db, "SELECT peak_seq FROM step WHERE id = 1", peak);
    assert_query(db, "SELECT begin_nodes FROM step WHERE id = 1", 0);
    assert_query(db, "SELECT end_nodes FROM step WHERE id = 1", 1);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 1", -1);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 2", 1);
    assert_query(db, "SELECT step_id FROM node WHERE id = 1", 1);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 4", -1);
    assert_int_equal(meta(db, "end_seq"), last);
    gp_db_close(db);
}

/* Inner steps' peaks count for the outer one too, also when threads close them out of order. */
static void test_nesting_and_threads(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_mark(log, GP_EV_STEP_BEGIN); /* 1: thread 100 */
    log_builder_alloc(log, 0x1000, 10);
    log_builder_mark(log, GP_EV_STEP_BEGIN); /* 2: inside 1 */
    log->thread_id = 200;
    log_builder_mark(log, GP_EV_STEP_BEGIN); /* 3: another thread, no parent */
    log_builder_alloc(log, 0x2000, 90);
    log_builder_free(log, 0x2000);
    log->thread_id = 300;
    log_builder_alloc(log, 0x3000, 1); /* a worker without steps: the newest open one */
    log->thread_id = 100;
    log_builder_alloc(log, 0x4000, 1);
    log_builder_mark(log, GP_EV_STEP_END); /* 2 */
    log_builder_alloc(log, 0x5000, 200);
    log_builder_free(log, 0x5000);
    log_builder_mark(log, GP_EV_STEP_END); /* 1 */
    log->thread_id = 200;
    log_builder_mark(log, GP_EV_STEP_END); /* 3 */
    log_builder_mark(log, GP_EV_STEP_END); /* none is open */
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT parent_id FROM step WHERE id = 1", -1);
    assert_query(db, "SELECT parent_id FROM step WHERE id = 2", 1);
    assert_query(db, "SELECT parent_id FROM step WHERE id = 3", -1);
    assert_query(db, "SELECT peak_bytes FROM step WHERE id = 1", 212);
    assert_query(db, "SELECT peak_bytes FROM step WHERE id = 2", 100);
    assert_query(db, "SELECT peak_bytes FROM step WHERE id = 3", 212);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 3", 3);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 4", 2);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 5", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unbalanced_steps'", 1);
    assert_int_equal(meta(db, "completed_steps"), 3);
    gp_db_close(db);
}

/* A step that is never closed is not completed, but its peak is known. */
static void test_open_step(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_alloc(log, 0x1000, 10);
    uint64_t last = log_builder_mark(log, GP_EV_STEP_END) - 1;
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_alloc(log, 0x2000, 30);
    log_builder_add(log, (struct gp_record){.type = GP_EV_REFUSED, .device_plus_1 = 1, .a = 5});
    log_builder_free(log, 0x2000);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT end_seq FROM step WHERE id = 2", -1);
    assert_query(db, "SELECT end_ns FROM step WHERE id = 2", -1);
    assert_query(db, "SELECT end_bytes FROM step WHERE id = 2", -1);
    assert_query(db, "SELECT peak_bytes FROM step WHERE id = 2", 40);
    assert_query(db, "SELECT step_id FROM failure", 2);
    assert_int_equal(meta(db, "completed_steps"), 1);
    assert_int_equal(meta(db, "end_seq"), last);
    gp_db_close(db);
}

static void test_moments_without_steps(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_string(log, "first record");
    uint64_t peak = log_builder_alloc(log, 0x1000, 10);
    uint64_t end = log_builder_free(log, 0x1000);
    log_builder_node(log, 0x9000, 1); /* not a device event */
    uint64_t begins = log_builder_mark(log, GP_EV_EXIT_BEGIN);
    log_builder_free(log, 0x1000);
    uint64_t exit = log_builder_mark(log, GP_EV_EXIT);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_int_equal(meta(db, "peak_seq"), peak);
    assert_int_equal(meta(db, "end_seq"), end);
    assert_int_equal(meta(db, "exit_begin_seq"), begins);
    assert_int_equal(meta(db, "exit_seq"), exit);
    assert_int_equal(meta(db, "last_seq"), exit);
    assert_int_equal(meta(db, "oom_seq"), -1);
    assert_int_equal(meta(db, "clean_exit"), 1); /* by the exit event */
    assert_int_equal(meta(db, "finished"), 1);
    assert_int_equal(meta(db, "pid"), 4321);
    gp_db_close(db);
}

/* A step that the exit handlers close is part of the tear-down. */
static void test_steps_after_exit_began(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    uint64_t last = log_builder_alloc(log, 0x1000, 10);
    log_builder_mark(log, GP_EV_STEP_END);
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_mark(log, GP_EV_EXIT_BEGIN);
    log_builder_free(log, 0x1000);
    log_builder_mark(log, GP_EV_STEP_END);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_int_equal(meta(db, "end_seq"), last);
    assert_int_equal(meta(db, "completed_steps"), 2);
    assert_int_equal(meta(db, "clean_exit"), 0);
    gp_db_close(db);
}

static void add_graph_step(struct log_builder *log, uint64_t node)
{
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_node(log, node, 1);
    log_builder_mark(log, GP_EV_STEP_END);
}

static uint64_t retained(struct store_fixture *fixture, struct gp_ingest *ingest)
{
    struct gp_ingest_summary summary;
    uint64_t end = atomic_load(&log_builder_header(&fixture->log)->next);
    assert_int_equal(log_builder_replay(&fixture->log, ingest, end), 0);
    gp_ingest_get_summary(ingest, &summary);
    return summary.retained_graph_steps;
}

static void test_retained_graphs(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    char error[256];
    struct gp_ingest *ingest;
    assert_int_equal(
        gp_ingest_create(fixture->db_path, log_builder_header(log), &ingest, error, sizeof(error)),
        0);
    log_builder_node(log, 0x1, 1); /* outside of any step */
    add_graph_step(log, 0x100);
    assert_int_equal(retained(fixture, ingest), 0);
    add_graph_step(log, 0x200);
    assert_int_equal(retained(fixture, ingest), 1);
    log_builder_key(log, GP_EV_NODE_DESTROY, 0x100);
    add_graph_step(log, 0x300);
    assert_int_equal(retained(fixture, ingest), 1);
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    log_builder_node(log, 0x400, 1);
    log_builder_add(log, (struct gp_record){.type = GP_EV_REFUSED, .device_plus_1 = 1, .a = 5});
    assert_int_equal(retained(fixture, ingest), 2); /* 2 and 3, while 4 is refused */
    log_builder_key(log, GP_EV_NODE_DESTROY, 0x200);
    log_builder_key(log, GP_EV_NODE_DESTROY, 0x300);
    assert_int_equal(retained(fixture, ingest), 2); /* what the exit line says */
    gp_ingest_abandon(ingest);
}

static void test_clock(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    for (int i = 0; i < 2100; i++) {
        log_builder_alloc(log, 0x1000, 1);
        log_builder_free(log, 0x1000);
        log->t_ns -= 1999; /* 1 ns a pair, and the free's time is before the allocation's */
    }
    log->t_ns += 5000000;
    uint64_t late = log_builder_alloc(log, 0x1000, 1);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT count(*) FROM clock", 6); /* 0, 1024, ..., 4096, late */
    assert_query(db, "SELECT count(*) FROM clock WHERE seq IN (0, 1024, 2048, 3072, 4096)", 5);
    assert_query(db, "SELECT max(seq) FROM clock", late);
    assert_query(
        db, "SELECT count(*) FROM clock a JOIN clock b ON a.seq < b.seq AND a.t_ns > b.t_ns", 0);
    gp_db_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_step),
        TEST(test_nesting_and_threads),
        TEST(test_open_step),
        TEST(test_moments_without_steps),
        TEST(test_steps_after_exit_began),
        TEST(test_retained_graphs),
        TEST(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
