/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/log/writer.h"
#include "libgradprof/store/log_reader.h"

#define SMALL (UINT64_C(4) * GP_SEGMENT_BYTES)

static struct gp_log log_under_test;
static struct gp_log_event event; /* 14 KiB */

static int make_log(void **state)
{
    char name[] = "/tmp/gradprof-writer-XXXXXX";
    int fd = mkstemp(name);

    if (fd < 0)
        return -1;
    unlink(name);
    gp_counters_reset();
    return gp_log_create(&log_under_test, fd, SMALL);
}

static int drop_log(void **state)
{
    gp_log_destroy(&log_under_test);
    return 0;
}

static struct gp_log_view view(void)
{
    struct gp_log_view result = {.header = log_under_test.header,
                                 .slots = log_under_test.slots,
                                 .slot_count = log_under_test.header->slots,
                                 .fd = -1};
    return result;
}

static uint64_t append(uint64_t key, const void *payload, size_t bytes)
{
    struct gp_record record = {.type = GP_EV_ALLOC, .key = key, .a = key * 3, .detail = 7};

    return gp_log_append(&log_under_test, &record, payload, bytes);
}

static void header_describes_the_log(void **state)
{
    struct gp_log_header *header = log_under_test.header;

    assert_int_equal(header->magic, GP_LOG_MAGIC);
    assert_int_equal(header->version, GP_LOG_VERSION);
    assert_int_equal(header->record_bytes, sizeof(struct gp_record));
    assert_int_equal(header->segment_records, GP_SEGMENT_RECORDS);
    assert_int_equal(header->pid, getpid());
    assert_int_equal(header->next, 0);
}

static void records_come_back(void **state)
{
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(append(i, NULL, 0), i);
    struct gp_log_view v = view();
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(gp_log_read(&v, i, &event), GP_LOG_EVENT);
        assert_int_equal(event.seq, i);
        assert_int_equal(event.record.type, GP_EV_ALLOC);
        assert_int_equal(event.record.extra, 0);
        assert_int_equal(event.record.key, i);
        assert_int_equal(event.record.a, i * 3);
        assert_int_equal(event.record.detail, 7);
    }
    assert_int_equal(gp_log_read(&v, 100, &event), GP_LOG_END);
}

static void payloads_come_back(void **state)
{
    static const size_t sizes[] = {1, 55, 56, 57, 112, 113, 1000, 14280};
    static unsigned char payload[14280];
    uint64_t seq[sizeof(sizes) / sizeof(sizes[0])];

    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (unsigned char)(i * 7 + 1);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        seq[i] = append(i, payload, sizes[i]);
    struct gp_log_view v = view();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(gp_log_read(&v, seq[i], &event), GP_LOG_EVENT);
        assert_int_equal(event.record.key, i);
        assert_int_equal(event.record.extra, (sizes[i] + 55) / 56);
        assert_memory_equal(event.payload, payload, sizes[i]);
    }
    assert_int_equal(append(1, payload, GP_EXTRA_MAX * GP_CONTINUATION_BYTES + 1), UINT64_MAX);
    assert_int_equal(log_under_test.header->dropped, 1);
}

static void events_straddle_segments(void **state)
{
    char payload[300];
    uint64_t seq;

    memset(payload, 'p', sizeof(payload));
    for (uint64_t i = 0; i < GP_SEGMENT_RECORDS - 3; i++)
        append(i, NULL, 0);
    seq = append(42, payload, sizeof(payload)); /* head and 2 lines here, 4 in the next segment */
    assert_int_equal(seq, GP_SEGMENT_RECORDS - 3);
    assert_int_equal(append(43, NULL, 0), seq + 7);
    struct gp_log_view v = view();
    assert_int_equal(gp_log_read(&v, seq, &event), GP_LOG_EVENT);
    assert_memory_equal(event.payload, payload, sizeof(payload));
    assert_int_equal(gp_log_read(&v, seq + 7, &event), GP_LOG_EVENT);
    assert_int_equal(event.record.key, 43);
}

static void without_ingest_a_full_log_drops(void **state)
{
    uint64_t room = SMALL / GP_RECORD_BYTES;

    for (uint64_t i = 0; i < room; i++)
        assert_int_equal(append(i, NULL, 0), i);
    assert_int_equal(append(0, NULL, 0), UINT64_MAX);
    assert_int_equal(append(0, NULL, 0), UINT64_MAX);
    assert_int_equal(log_under_test.header->dropped, 2);
    assert_int_equal(gp_counters[GP_COUNTER_dropped_events], 2);
    struct gp_log_view v = view();
    assert_int_equal(gp_log_read(&v, room - 1, &event), GP_LOG_EVENT);
    assert_int_equal(event.record.key, room - 1);
}

static void recycled_slots_serve_again(void **state)
{
    uint64_t room = SMALL / GP_RECORD_BYTES;

    for (uint64_t round = 0; round < 5 * room; round++) {
        assert_int_equal(append(round, NULL, 0), round);
        if (round % GP_SEGMENT_RECORDS == GP_SEGMENT_RECORDS - 1)
            gp_log_recycle(&log_under_test, round + 1, 0);
    }
    assert_true(log_under_test.header->slots <= SMALL / GP_SEGMENT_BYTES);
    assert_int_equal(log_under_test.header->dropped, 0);
    assert_int_equal(log_under_test.header->ingested, 5 * room);
}

static void retired_slots_do_not(void **state)
{
    for (uint64_t i = 0; i < 2 * GP_SEGMENT_RECORDS; i++)
        append(i, NULL, 0);
    gp_log_recycle(&log_under_test, 2 * GP_SEGMENT_RECORDS, 1);
    assert_int_equal(log_under_test.free_count, 1); /* segment 0 keeps its slot */
    assert_int_equal(log_under_test.free_slot[0], 1);
}

/* A daemon closes all descriptors and opens files of its own under the numbers. */
static void a_stolen_descriptor_is_left_alone(void **state)
{
    char name[] = "/tmp/gradprof-writer-XXXXXX";
    int other = mkstemp(name);

    assert_true(other >= 0);
    append(0, NULL, 0);
    assert_int_equal(dup2(other, log_under_test.fd), log_under_test.fd);
    for (uint64_t i = 1; i < GP_SEGMENT_RECORDS; i++)
        assert_int_equal(append(i, NULL, 0), i);
    assert_int_equal(append(0, NULL, 0), UINT64_MAX);
    assert_int_equal(lseek(other, 0, SEEK_END), 0);
    close(other);
    unlink(name);
}

/* --- with an ingest thread ----------------------------------------------------------------------------- */

#define WRITERS 4
#define EACH 200000u

static void *write_many(void *user)
{
    uint64_t writer = (uintptr_t)user, last = 0;

    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t seq = append(writer << 32 | i, "payload", i % 8 == 0 ? 7 : 0);
        if (seq == UINT64_MAX || (i > 0 && seq <= last))
            return (void *)1;
        last = seq;
    }
    return NULL;
}

/* The log is far smaller than what is written: writers wait, and nothing is lost or reordered. */
static void writers_wait_for_the_reader(void **state)
{
    uint64_t next[WRITERS] = {0}, position = 0, events = 0;
    pthread_t threads[WRITERS];
    void *failed;

    atomic_store(&log_under_test.draining, true);
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
    while (events < (uint64_t)WRITERS * EACH) {
        struct gp_log_view v = view();
        if (position / GP_SEGMENT_RECORDS >= atomic_load(&log_under_test.provisioned) ||
            gp_log_read(&v, position, &event) != GP_LOG_EVENT) {
            gp_log_recycle(&log_under_test, position, 0);
            continue;
        }
        uint64_t writer = event.record.key >> 32;
        assert_int_equal(event.record.key & UINT32_MAX, next[writer]++);
        if (event.record.extra > 0)
            assert_string_equal((const char *)event.payload, "payload");
        position = event.seq + 1 + event.record.extra;
        events++;
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(log_under_test.header->dropped, 0);
    assert_int_equal(position, log_under_test.header->next);
}

static void provisioning_keeps_ahead(void **state)
{
    assert_false(gp_log_has_room(&log_under_test, 1));
    gp_log_provision_ahead(&log_under_test, GP_LOG_AHEAD);
    assert_int_equal(log_under_test.provisioned, SMALL / GP_SEGMENT_BYTES);
    assert_true(gp_log_has_room(&log_under_test, 1));
    append(1, NULL, 0);
    assert_int_equal(gp_counters[GP_COUNTER_late_segments], 0);
}

#define LOG_TEST(function) cmocka_unit_test_setup_teardown(function, make_log, drop_log)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        LOG_TEST(header_describes_the_log),
        LOG_TEST(records_come_back),
        LOG_TEST(payloads_come_back),
        LOG_TEST(events_straddle_segments),
        LOG_TEST(without_ingest_a_full_log_drops),
        LOG_TEST(recycled_slots_serve_again),
        LOG_TEST(retired_slots_do_not),
        LOG_TEST(a_stolen_descriptor_is_left_alone),
        LOG_TEST(writers_wait_for_the_reader),
        LOG_TEST(provisioning_keeps_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
