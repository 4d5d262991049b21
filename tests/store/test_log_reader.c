/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

static struct gp_log_event event;

static enum gp_log_next read_at(struct store_fixture *fixture, uint64_t position)
{
    struct gp_log_view view = log_builder_view(&fixture->log);
    return gp_log_read(&view, position, &event);
}

static void test_events_and_payloads(void **state)
{
    struct store_fixture *fixture = *state;
    char text[200];
    memset(text, 'a', sizeof(text));
    struct gp_record record = {.type = GP_EV_STRING, .define_id = 1, .length = sizeof(text)};
    log_builder_add_payload(&fixture->log, record, text, sizeof(text));
    uint64_t seq = log_builder_alloc(&fixture->log, 0x1000, 5);
    assert_int_equal(seq, 5);
    assert_int_equal(read_at(fixture, 0), GP_LOG_EVENT);
    assert_int_equal(event.record.extra, 4);
    assert_int_equal(event.payload_bytes, 4 * GP_CONTINUATION_BYTES);
    assert_memory_equal(event.payload, text, sizeof(text));
    assert_int_equal(event.payload[sizeof(text)], 0);
    assert_int_equal(read_at(fixture, seq), GP_LOG_EVENT);
    assert_int_equal(event.seq, seq);
    assert_int_equal(event.record.key, 0x1000);
    assert_int_equal(event.payload_bytes, 0);
    assert_int_equal(read_at(fixture, seq + 1), GP_LOG_END);
}

/* Continuations whose head never came are not events. */
static void test_uncommitted(void **state)
{
    struct store_fixture *fixture = *state;
    log_builder_string(&fixture->log, "a name");
    uint64_t seq = log_builder_alloc(&fixture->log, 0x1000, 5);
    atomic_store(&log_builder_at(&fixture->log, 0)->commit, 0);
    assert_int_equal(read_at(fixture, 0), GP_LOG_PENDING);
    assert_int_equal(read_at(fixture, 1), GP_LOG_PENDING);
    assert_int_equal(read_at(fixture, seq), GP_LOG_EVENT);
    atomic_store(&log_builder_at(&fixture->log, 0)->commit, 1);
    /* a continuation without its mark */
    atomic_store(&log_builder_at(&fixture->log, 1)->commit, 2);
    assert_int_equal(read_at(fixture, 0), GP_LOG_PENDING);
}

static void test_segment_table(void **state)
{
    struct store_fixture *fixture = *state;
    for (unsigned i = 0; i < GP_SEGMENT_RECORDS - 1; i++)
        log_builder_free(&fixture->log, 1);
    const uint64_t last = GP_SEGMENT_RECORDS - 1;
    log_builder_string(&fixture->log, "crosses into the next segment");
    struct gp_segment_entry *segment = log_builder_header(&fixture->log)->segment;
    assert_int_equal(read_at(fixture, last), GP_LOG_EVENT);
    assert_string_equal(event.payload, "crosses into the next segment");
    atomic_store(&segment[1].slot, 2); /* beyond the file */
    assert_int_equal(read_at(fixture, last + 1), GP_LOG_LOST);
    assert_int_equal(read_at(fixture, last), GP_LOG_PENDING);
    atomic_store(&segment[0].number_plus_1, 1 + GP_SEGMENT_TABLE); /* the table came round */
    assert_int_equal(read_at(fixture, 0), GP_LOG_LOST);
    atomic_store(&segment[0].number_plus_1, 0); /* recycled, or not there yet */
    assert_int_equal(read_at(fixture, 0), GP_LOG_PENDING);
}

/* What a recycled slot held before names other positions. */
static void test_stale_records(void **state)
{
    struct store_fixture *fixture = *state;
    log_builder_alloc(&fixture->log, 0x1000, 5);
    struct gp_log_header *header = log_builder_header(&fixture->log);
    atomic_store(&header->segment[0].number_plus_1, 0);
    atomic_store(&header->segment[1].number_plus_1, 2);
    atomic_store(&header->segment[1].slot, 0);
    atomic_store(&header->next, GP_SEGMENT_RECORDS + 1);
    assert_int_equal(read_at(fixture, GP_SEGMENT_RECORDS), GP_LOG_PENDING);
    assert_int_equal(read_at(fixture, GP_SEGMENT_RECORDS + 1), GP_LOG_END);
}

static void expect_error(struct store_fixture *fixture, const char *text)
{
    struct gp_log_view view;
    char error[256];
    log_builder_write(&fixture->log, fixture->log_path);
    assert_int_equal(gp_log_open(fixture->log_path, &view, error, sizeof(error)), -EINVAL);
    if (!strstr(error, text) || !strstr(error, fixture->log_path) || strchr(error, '\n'))
        fail_msg("expected '%s' in '%s'", text, error);
}

static void test_files_that_are_no_logs(void **state)
{
    struct store_fixture *fixture = *state;
    struct gp_log_header *header = log_builder_header(&fixture->log);
    struct gp_log_view view;
    char error[256];
    header->magic++;
    expect_error(fixture, "not a gradprof event log");
    header->magic = 0;
    expect_error(fixture, "never written");
    header->magic = GP_LOG_MAGIC;
    header->version++;
    expect_error(fixture, "version 2");
    header->version--;
    header->record_bytes++;
    expect_error(fixture, "another size");
    header->record_bytes--;
    log_builder_write(&fixture->log, fixture->log_path);
    assert_int_equal(truncate(fixture->log_path, GP_LOG_HEADER_BYTES - 1), 0);
    assert_int_equal(gp_log_open(fixture->log_path, &view, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "truncated"));
    assert_int_equal(gp_log_open(fixture->folder, &view, error, sizeof(error)), -EINVAL);
    assert_int_equal(gp_log_open("/nonexistent", &view, error, sizeof(error)), -ENOENT);
}

/* A slot that is cut off is read as far as it goes. */
static void test_truncated_slot(void **state)
{
    struct store_fixture *fixture = *state;
    struct gp_log_view view;
    char error[256];
    log_builder_alloc(&fixture->log, 0x1000, 5);
    log_builder_alloc(&fixture->log, 0x2000, 5);
    log_builder_write(&fixture->log, fixture->log_path);
    assert_int_equal(truncate(fixture->log_path, GP_LOG_HEADER_BYTES + 100), 0);
    assert_int_equal(gp_log_open(fixture->log_path, &view, error, sizeof(error)), 0);
    assert_int_equal(gp_log_read(&view, 0, &event), GP_LOG_EVENT);
    assert_int_equal(gp_log_read(&view, 1, &event), GP_LOG_LOST);
    gp_log_close(&view);
    gp_log_close(&view); /* a closed one may be closed again */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_events_and_payloads),    TEST(test_uncommitted),
        TEST(test_segment_table),          TEST(test_stale_records),
        TEST(test_files_that_are_no_logs), TEST(test_truncated_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
