/* SPDX-License-Identifier: MIT */
/* Strings, modules, frames, stacks, scopes, meta, counters, children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

static void assert_text(struct gp_db *db, const char *sql, const char *expected)
{
    char *text = store_text(db, sql);
    assert_string_equal(text, expected);
    free(text);
}

static void test_strings_and_scopes(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = '\0';
    uint32_t name = log_builder_string(log, text);
    uint32_t empty = log_builder_string(log, "");
    uint32_t outer = log_builder_scope(log, 0, 1, name);
    uint32_t inner = log_builder_scope(log, outer, 2, empty);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_text(db, "SELECT text FROM string WHERE id = 1", text);
    assert_text(db, "SELECT text FROM string WHERE id = 2", "");
    assert_query(db, "SELECT parent_id FROM scope WHERE id = 2", outer);
    assert_query(db, "SELECT kind FROM scope WHERE id = 2", 2);
    assert_query(db, "SELECT name_id FROM scope WHERE id = 1", name);
    assert_int_equal(inner, 2);
    gp_db_close(db);
}

/* main -> f -> g and main -> f -> h share their callers. */
static void test_stacks_are_a_tree(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    const uint64_t g[] = {0x1300, 0x1200, 0x1100}, h[] = {0x1400, 0x1200, 0x1100};
    log_builder_module(log, 0x1000, 0x2000, "/bin/program");
    log_builder_stack(log, g, 3);
    log_builder_stack(log, h, 3);
    log_builder_stack(log, g + 1, 2); /* a caller that gets a name of its own later */
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT count(*) FROM frame", 4);
    assert_query(db, "SELECT count(*) FROM stack", 5);
    assert_query(db,
                 "SELECT a.parent_id = b.parent_id FROM stack a, stack b "
                 "WHERE a.id = 1 AND b.id = 2",
                 1);
    assert_text(db,
                "WITH RECURSIVE up(id, parent_id, frame_id) AS (SELECT * FROM stack WHERE id = 2 "
                "UNION ALL SELECT s.* FROM stack s JOIN up ON s.id = up.parent_id) "
                "SELECT group_concat(printf('%x', f.address)) FROM up JOIN frame f "
                "ON f.id = up.frame_id",
                "1400,1200,1100");
    assert_query(db, "SELECT offset FROM frame WHERE address = 0x1300", 0x300);
    assert_text(db, "SELECT module FROM frames WHERE address = '0x1300'", "/bin/program");
    assert_text(db, "SELECT hex(build_id) FROM module", "ABCDEF01");
    gp_db_close(db);
}

/* The same address is another frame once another module lies there. */
static void test_module_is_replaced(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    const uint64_t address = 0x5010, outside = 0x9000;
    log_builder_module(log, 0x5000, 0x6000, "old.so");
    uint32_t before = log_builder_stack(log, &address, 1);
    log_builder_stack(log, &outside, 1);
    log_builder_module(log, 0x4800, 0x5800, "new.so");
    uint32_t after = log_builder_stack(log, &address, 1);
    assert_int_not_equal(before, after);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_text(db,
                "SELECT module FROM frames JOIN stack ON frame_id = frames.id WHERE stack.id = 1",
                "old.so");
    assert_text(db,
                "SELECT module FROM frames JOIN stack ON frame_id = frames.id WHERE stack.id = 3",
                "new.so");
    assert_query(db, "SELECT offset FROM frame WHERE module_id = 2", 0x810);
    assert_query(db, "SELECT module_id FROM frame WHERE address = 0x9000", -1);
    assert_query(db, "SELECT count(*) FROM frame", 3);
    gp_db_close(db);
}

static void test_meta_counters_children(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    uint32_t name = log_builder_string(log, "late_segments");
    log_builder_meta(log, "argv", "./sample_accumulate --batch 2");
    log_builder_meta(log, "argv", "./sample_accumulate");
    log_builder_meta(log, "run_id", "stolen"); /* ingest's own: refused */
    log_builder_meta(log, "ingested_seq", "7");
    log_builder_meta(log, "", "no key");
    log_builder_add(log, (struct gp_record){.type = GP_EV_COUNTER, .name_id = name, .a = 3});
    log_builder_add(log, (struct gp_record){.type = GP_EV_COUNTER, .name_id = name, .a = 4});
    uint64_t forked = log_builder_key(log, GP_EV_CHILD, 77);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_text(db, "SELECT value FROM meta WHERE key = 'argv'", "./sample_accumulate");
    assert_text(db, "SELECT value FROM meta WHERE key = 'run_id'", "0000000000001234");
    assert_query(db, "SELECT value FROM counter WHERE name = 'malformed_events'", 3);
    assert_query(db, "SELECT value FROM counter WHERE name = 'late_segments'", 4);
    assert_query(db, "SELECT seq FROM child WHERE pid = 77", forked);
    assert_query(db, "PRAGMA user_version", GP_SCHEMA_VERSION);
    assert_query(db, "PRAGMA application_id", GP_APPLICATION_ID);
    gp_db_close(db);
}

/* Lengths that lie beyond the payload, ids that are not the profiler's. */
static void test_damaged_definitions(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    const struct gp_record damaged[] = {
        {.type = GP_EV_STRING, .define_id = 1, .length = 57},
        {.type = GP_EV_STRING, .define_id = 0, .length = 3},
        {.type = GP_EV_STRING, .define_id = 0x80000000, .length = 3},
        {.type = GP_EV_STACK, .define_id = 1, .length = 8},
        {.type = GP_EV_STACK, .define_id = 1, .length = 0},
        {.type = GP_EV_MODULE, .key = 1, .a = 2, .b = 4, .length = 3},
        {.type = GP_EV_MODULE, .key = 1, .a = 2, .b = 0, .length = 57},
        {.type = GP_EV_MODULE, .key = 2, .a = 1, .b = 0, .length = 5},
        {.type = GP_EV_META, .length = 57},
        {.type = GP_EV_META, .length = 0},
    };
    size_t count = sizeof(damaged) / sizeof(*damaged);
    for (size_t i = 0; i < count; i++)
        log_builder_add_payload(log, damaged[i], "payload", 7);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT value FROM counter WHERE name = 'malformed_events'", count);
    assert_query(db,
                 "SELECT (SELECT count(*) FROM string) + (SELECT count(*) FROM stack) + "
                 "(SELECT count(*) FROM module)",
                 0);
    gp_db_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_strings_and_scopes),  TEST(test_stacks_are_a_tree),
        TEST(test_module_is_replaced),  TEST(test_meta_counters_children),
        TEST(test_damaged_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
