/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

static uint64_t add_alloc(struct log_builder *log, unsigned device, enum gp_kind kind,
                          uint64_t address, uint64_t size_bytes)
{
    return log_builder_add(log, (struct gp_record){.type = GP_EV_ALLOC,
                                                   .device_plus_1 = (uint8_t)(device + 1),
                                                   .key = address,
                                                   .a = size_bytes,
                                                   .b = 7,
                                                   .stack_id = 3,
                                                   .scope_id = 4,
                                                   .detail = GP_DETAIL(kind, 0)});
}

static void test_row_of_an_allocation(void **state)
{
    struct store_fixture *fixture = *state;
    uint64_t a = add_alloc(&fixture->log, 2, GP_KIND_ASYNC, 0x7f0000001000, 4096);
    uint64_t f = log_builder_free(&fixture->log, 0x7f0000001000);
    add_alloc(&fixture->log, 2, GP_KIND_DEVICE, 0x7f0000001000, 8192);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT count(*) FROM allocation", 2);
    assert_query(db, "SELECT traits FROM allocation WHERE id = 1", 2 | GP_KIND_ASYNC << 10);
    assert_query(db, "SELECT address FROM allocation WHERE id = 1", 0x7f0000001000);
    assert_query(db, "SELECT size_bytes FROM allocation WHERE id = 1", 4096);
    assert_query(db, "SELECT stream FROM allocation WHERE id = 1", 7);
    assert_query(db, "SELECT thread_id FROM allocation WHERE id = 1", 100);
    assert_query(db, "SELECT stack_id FROM allocation WHERE id = 1", 3);
    assert_query(db, "SELECT scope_id FROM allocation WHERE id = 1", 4);
    assert_query(db, "SELECT step_id FROM allocation WHERE id = 1", -1);
    assert_query(db, "SELECT alloc_seq FROM allocation WHERE id = 1", a);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 1", f);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 2", -1);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 2", 8192);
    assert_query(db, "SELECT count(*) FROM allocations WHERE kind = 'async' AND device_id = 2", 1);
    gp_db_close(db);
}

static void test_peaks(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    add_alloc(log, 0, GP_KIND_DEVICE, 0x1000, 100);
    uint64_t first = add_alloc(log, 0, GP_KIND_DEVICE, 0x2000, 50);
    log_builder_free(log, 0x1000);
    uint64_t both = add_alloc(log, 1, GP_KIND_DEVICE, 0x3000, 140);
    log_builder_free(log, 0x2000);
    add_alloc(log, 0, GP_KIND_DEVICE, 0x4000, 50); /* equals the peak again: the first one counts */
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT peak_bytes FROM device WHERE id = 0", 150);
    assert_query(db, "SELECT peak_seq FROM device WHERE id = 0", first);
    assert_query(db, "SELECT peak_bytes FROM device WHERE id = 1", 140);
    assert_query(db, "SELECT value FROM meta WHERE key = 'peak_bytes'", 190);
    assert_query(db, "SELECT value FROM meta WHERE key = 'peak_seq'", both);
    gp_db_close(db);
}

/* Pinned and imported memory has rows, but is no device memory. */
static void test_kinds_that_do_not_count(void **state)
{
    struct store_fixture *fixture = *state;
    add_alloc(&fixture->log, 0, GP_KIND_HOST, 0x1000, 100);
    add_alloc(&fixture->log, 0, GP_KIND_HOST_REGISTERED, 0x2000, 100);
    add_alloc(&fixture->log, 0, GP_KIND_IMPORTED, 0x3000, 100);
    add_alloc(&fixture->log, 0, GP_KIND_MANAGED, 0x4000, 7);
    add_alloc(&fixture->log, 0, GP_KIND_ARRAY, 0x5000, 11);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT count(*) FROM allocation", 5);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 0", 18);
    gp_db_close(db);
}

/* The device of a free is the allocation's own, whatever device was current. */
static void test_free_from_another_device(void **state)
{
    struct store_fixture *fixture = *state;
    add_alloc(&fixture->log, 1, GP_KIND_DEVICE, 0x1000, 100);
    log_builder_free(&fixture->log, 0x1000); /* device 0 is current */
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 1", 0);
    assert_query(db, "SELECT count(*) FROM device WHERE id = 0", 0);
    gp_db_close(db);
}

static void test_what_does_not_fit_is_counted(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_free(log, 0x1000);
    log_builder_add(log,
                    (struct gp_record){.type = GP_EV_FREE_RESULT, .key = 0x1000, .detail = 17});
    log_builder_alloc(log, 0x2000, 10);
    uint64_t again = log_builder_alloc(log, 0x2000, 20);
    log_builder_free(log, 0x2000);
    log_builder_add(log,
                    (struct gp_record){.type = GP_EV_FREE_RESULT, .key = 0x2000, .detail = 700});
    log_builder_alloc(log, 0, 5);
    log_builder_alloc(log, 0x3000, UINT64_MAX);
    log_builder_mark(log, (enum gp_event_type)999);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_frees'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'invalid_frees'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'failed_frees'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'missed_frees'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'malformed_events'", 2);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_events'", 1);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 1", again);
    assert_query(db, "SELECT count(*) FROM allocation WHERE free_seq IS NULL", 0);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 0", 0);
    gp_db_close(db);
}

static void test_reset_frees_one_device(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    add_alloc(log, 0, GP_KIND_DEVICE, 0x1000, 100);
    add_alloc(log, 1, GP_KIND_DEVICE, 0x2000, 200);
    add_alloc(log, 1, GP_KIND_HOST, 0x3000, 300);
    uint64_t reset =
        log_builder_add(log, (struct gp_record){.type = GP_EV_RESET, .device_plus_1 = 2});
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 1", -1);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 2", reset);
    assert_query(db, "SELECT free_seq FROM allocation WHERE id = 3", reset);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 0", 100);
    assert_query(db, "SELECT live_bytes FROM device WHERE id = 1", 0);
    gp_db_close(db);
}

static void test_role_by_interior_address(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    uint32_t name = log_builder_string(log, "features.0.weight");
    log_builder_alloc(log, 0x1000, 0x100);
    log_builder_alloc(log, 0x2000, 0x100);
    log_builder_add(
        log, (struct gp_record){.type = GP_EV_ROLE, .key = 0x20ff, .detail = 1, .name_id = name});
    log_builder_add(log, (struct gp_record){.type = GP_EV_ROLE, .key = 0x2100, .detail = 1});
    log_builder_free(log, 0x1000);
    log_builder_add(log, (struct gp_record){.type = GP_EV_ROLE, .key = 0x1010, .detail = 1});
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT traits >> 16 FROM allocation WHERE id = 2", 1);
    assert_query(db, "SELECT name_id FROM allocation WHERE id = 2", name);
    assert_query(db, "SELECT traits >> 16 FROM allocation WHERE id = 1", 0);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_addresses'", 2);
    gp_db_close(db);
}

static void test_refused(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    uint32_t api = log_builder_string(log, "cudaMalloc");
    log_builder_add(log, (struct gp_record){.type = GP_EV_DEVICE,
                                            .device_plus_1 = 1,
                                            .a = 8000,
                                            .b = 4000,
                                            .detail = GP_RUNTIME_HOSTCUDA});
    log_builder_alloc(log, 0x1000, 3000);
    add_alloc(log, 1, GP_KIND_DEVICE, 0x9000, 500);
    struct gp_record refused = {.type = GP_EV_REFUSED,
                                .device_plus_1 = 1,
                                .a = 2000,
                                .b = 4000,
                                .name_id = api,
                                .detail = GP_DETAIL(GP_KIND_DEVICE, 2)};
    uint64_t first = log_builder_add(log, refused);
    refused.device_plus_1 = 0;
    refused.a = UINT64_MAX;
    uint64_t last = log_builder_add(log, refused);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT live_bytes FROM failure ORDER BY seq", 3000);
    assert_query(db, "SELECT asked_bytes FROM failure ORDER BY seq", 2000);
    assert_query(db, "SELECT error FROM failure ORDER BY seq", 2);
    assert_query(db, "SELECT limit_bytes FROM failure ORDER BY seq", 4000);
    assert_query(db, "SELECT live_bytes FROM failure ORDER BY seq DESC", 3500);
    assert_query(db, "SELECT asked_bytes FROM failure ORDER BY seq DESC", INT64_MAX);
    assert_query(db, "SELECT count(*) FROM failures WHERE api = 'cudaMalloc'", 2);
    assert_query(db, "SELECT value FROM meta WHERE key = 'oom_first_seq'", first);
    assert_query(db, "SELECT value FROM meta WHERE key = 'oom_seq'", last);
    assert_query(db, "SELECT count(*) FROM clock JOIN failure USING(seq, t_ns)", 2);
    assert_query(db, "SELECT limit_bytes FROM device WHERE id = 0", 4000);
    assert_query(db, "SELECT total_bytes FROM device WHERE id = 0", 8000);
    gp_db_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_row_of_an_allocation),         TEST(test_peaks),
        TEST(test_kinds_that_do_not_count),      TEST(test_free_from_another_device),
        TEST(test_what_does_not_fit_is_counted), TEST(test_reset_frees_one_device),
        TEST(test_role_by_interior_address),     TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
