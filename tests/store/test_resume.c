/* SPDX-License-Identifier: MIT */
/* An ingest that is abandoned anywhere and goes on ends in the same database as one that is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/store/script.h"
#include "tests/store/store_fixture.h"

static struct gp_ingest *start(struct store_fixture *fixture)
{
    char error[256];
    struct gp_ingest *ingest;
    struct gp_log_header *header = log_builder_header(&fixture->log);
    int status = store_file_exists(fixture->db_path)
                     ? gp_ingest_open(fixture->db_path, header, &ingest, error, sizeof(error))
                     : gp_ingest_create(fixture->db_path, header, &ingest, error, sizeof(error));
    if (status < 0)
        fail_msg("%s", error);
    return ingest;
}

static char *dump_and_remove(struct store_fixture *fixture)
{
    char *dump = store_dump(fixture->db_path);
    assert_int_equal(unlink(fixture->db_path), 0);
    return dump;
}

static uint64_t end_of(struct store_fixture *fixture)
{
    return atomic_load(&log_builder_header(&fixture->log)->next);
}

static void replay(struct store_fixture *fixture, struct gp_ingest *ingest, uint64_t until)
{
    if (log_builder_replay(&fixture->log, ingest, until) < 0)
        fail_msg("%s", gp_ingest_error(ingest));
}

/* Commits at `committed`, goes on to `seen`, dies there, and is taken up again. */
static void run_interrupted(struct store_fixture *fixture, uint64_t committed, uint64_t seen)
{
    struct gp_ingest *ingest = start(fixture);
    replay(fixture, ingest, committed);
    assert_int_equal(gp_ingest_commit(ingest), 0);
    replay(fixture, ingest, seen);
    gp_ingest_abandon(ingest);
    ingest = start(fixture);
    assert_in_range(gp_ingest_next_seq(ingest), committed, committed + 12);
    replay(fixture, ingest, end_of(fixture));
    assert_int_equal(gp_ingest_finish(ingest, 1), 0);
}

static void assert_same(const char *expected, const char *found, uint64_t at)
{
    if (strcmp(expected, found) == 0)
        return;
    size_t i = 0;
    while (expected[i] == found[i])
        i++;
    while (i > 0 && expected[i - 1] != '\n')
        i--;
    fail_msg("interrupted after %d:\n  expected %.160s\n  found    %.160s", (int)at, expected + i,
             found + i);
}

static void test_resume_after_every_event(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 4);
    store_ingest_all(fixture);
    char *expected = dump_and_remove(fixture);
    assert_non_null(strstr(expected, "allocation:8,")); /* the dump holds something */
    for (uint64_t at = 0; at <= end_of(fixture); at++) {
        run_interrupted(fixture, at, at + at % 13);
        char *found = dump_and_remove(fixture);
        assert_same(expected, found, at);
        free(found);
    }
    free(expected);
}

/* A commit after each event: every row that changes is written again. */
static void test_commit_after_every_event(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 4);
    store_ingest_all(fixture);
    char *expected = dump_and_remove(fixture);
    struct gp_ingest *ingest = start(fixture);
    for (uint64_t at = 1; at <= end_of(fixture); at++) {
        replay(fixture, ingest, at);
        assert_int_equal(gp_ingest_commit(ingest), 0);
    }
    assert_int_equal(gp_ingest_finish(ingest, 0), 0);
    char *found = dump_and_remove(fixture);
    assert_same(expected, found, 0);
    free(found);
    free(expected);
}

static void test_files_left(void **state)
{
    struct store_fixture *fixture = *state;
    char wal[200], shm[200];
    snprintf(wal, sizeof(wal), "%s-wal", fixture->db_path);
    snprintf(shm, sizeof(shm), "%s-shm", fixture->db_path);
    script_add_run(&fixture->log, 2);
    struct gp_ingest *ingest = start(fixture);
    replay(fixture, ingest, end_of(fixture));
    assert_int_equal(gp_ingest_commit(ingest), 0);
    assert_true(store_file_exists(wal));
    assert_int_equal(gp_ingest_finish(ingest, 1), 0);
    assert_false(store_file_exists(wal));
    assert_false(store_file_exists(shm));
    struct gp_db *db = store_open_plain(fixture->db_path);
    char *mode = store_text(db, "PRAGMA journal_mode");
    assert_string_equal(mode, "delete");
    assert_query(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", 1);
    free(mode);
    gp_db_close(db);
}

static void test_refuses_what_is_not_its_own(void **state)
{
    struct store_fixture *fixture = *state;
    char error[256];
    struct gp_ingest *ingest = start(fixture);
    assert_int_equal(gp_ingest_commit(ingest), 0);
    assert_int_equal(gp_ingest_meta(ingest, "finished", "1"), -EINVAL);
    gp_ingest_abandon(ingest);
    struct gp_log_header *header = log_builder_header(&fixture->log);
    assert_int_equal(gp_ingest_create(fixture->db_path, header, &ingest, error, sizeof(error)),
                     -EEXIST);
    header->run_id++;
    assert_int_equal(gp_ingest_open(fixture->db_path, header, &ingest, error, sizeof(error)),
                     -EINVAL);
    assert_non_null(strstr(error, "another run"));
    header->run_id--;
    assert_int_equal(gp_ingest_finish(start(fixture), 1), 0);
    assert_int_equal(gp_ingest_open(fixture->db_path, header, &ingest, error, sizeof(error)),
                     -EALREADY);
    assert_int_equal(gp_ingest_create("/nonexistent/run.db", header, &ingest, error, sizeof(error)),
                     -ENOENT);
}

static void test_positions_go_forward_only(void **state)
{
    struct store_fixture *fixture = *state;
    uint64_t seq = log_builder_alloc(&fixture->log, 0x1000, 1);
    struct gp_ingest *ingest = start(fixture);
    replay(fixture, ingest, end_of(fixture));
    const struct gp_record *record = log_builder_at(&fixture->log, seq);
    assert_int_equal(gp_ingest_event(ingest, seq, record, NULL, 0), -EINVAL);
    assert_int_equal(gp_ingest_skip(ingest, 10), 0);
    assert_int_equal(gp_ingest_skip(ingest, 5), 0);
    assert_int_equal(gp_ingest_skip_lost(ingest, 14, 3), 0);
    assert_int_equal(gp_ingest_next_seq(ingest), 14);
    assert_int_equal(gp_ingest_event(ingest, 14, record, NULL, 0), 0);
    assert_int_equal(gp_ingest_finish(ingest, 0), 0);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT value FROM counter WHERE name = 'holes'", 10);
    assert_query(db, "SELECT value FROM counter WHERE name = 'lost_events'", 3);
    assert_query(db, "SELECT value FROM meta WHERE key = 'events'", 2);
    gp_db_close(db);
}

static void test_summary(void **state)
{
    struct store_fixture *fixture = *state;
    struct gp_ingest_summary summary;
    script_add_run(&fixture->log, 4);
    struct gp_ingest *ingest = start(fixture);
    replay(fixture, ingest, end_of(fixture));
    gp_ingest_get_summary(ingest, &summary);
    assert_int_equal(summary.peak_bytes, 6 * 4096); /* pinned memory is not counted */
    assert_int_equal(summary.live_bytes, 0);
    assert_int_equal(summary.live_nodes, 2);
    assert_int_equal(summary.completed_steps, 4);
    assert_int_equal(summary.failures, 1);
    assert_int_equal(summary.retained_graph_steps, 1); /* step 4 of 5: the last is the newest */
    gp_ingest_abandon(ingest);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_resume_after_every_event),
        TEST(test_commit_after_every_event),
        TEST(test_files_left),
        TEST(test_refuses_what_is_not_its_own),
        TEST(test_positions_go_forward_only),
        TEST(test_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
