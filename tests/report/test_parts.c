/* SPDX-License-Identifier: MIT */
/* The small parts: numbers, indices, tallies, text, moments' syntax. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "viewer/memory.h"
#include "viewer/moment.h"
#include "viewer/names.h"
#include "viewer/tally.h"
#include "viewer/text.h"
#include "viewer/units.h"

static void numbers(void **state)
{
    assert_string_equal(gv_size(0).text, "0 B");
    assert_string_equal(gv_size(1023).text, "1023 B");
    assert_string_equal(gv_size(1024).text, "1.00 KB");
    assert_string_equal(gv_size(792985600).text, "0.74 GB");
    assert_string_equal(gv_size(536870911).text, "512.00 MB");
    assert_string_equal(gv_size(536870912).text, "0.50 GB");
    assert_string_equal(gv_size(UINT64_C(7584251904)).text, "7.06 GB");
    assert_string_equal(gv_size(UINT64_MAX).text, "17179869184.00 GB");
    assert_string_equal(gv_size_like(144716640, UINT64_C(8) << 30).text, "0.13 GB");
    assert_string_equal(gv_count(0).text, "0");
    assert_string_equal(gv_count(-1234567).text, "-1,234,567");
    assert_string_equal(gv_count(INT64_MIN).text, "-9,223,372,036,854,775,808");
    assert_string_equal(gv_duration(UINT64_C(125000000000)).text, "2 min 5 s");
    assert_string_equal(gv_duration(450000000).text, "450 ms");
    assert_string_equal(gv_share(1, 3).text, "33.3 %");
    assert_string_equal(gv_share(1, 0).text, "");
}

static void percent_is_never_rounded_up(void **state)
{
    uint64_t whole = UINT64_C(1) << 50;
    assert_true(gv_percent(whole, whole) == 100.0);
    assert_true(gv_percent(whole - 1, whole) == 99.99);
    assert_true(gv_percent(0, whole) == 0.0);
    assert_true(gv_percent(0, 0) == 100.0);
    assert_true(gv_percent(1, 3) == 33.33);
}

static void index_finds(const int64_t *ids, uint32_t count)
{
    struct gv_index index = {0};
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(gv_index_add(&index, ids[i]), 0);
    assert_int_equal(gv_index_finish(&index), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(gv_index_find(&index, ids[i]), i);
        if (i + 1 < count && ids[i] + 1 < ids[i + 1])
            assert_int_equal(gv_index_find(&index, ids[i] + 1), GV_NONE);
    }
    assert_int_equal(gv_index_find(&index, count && ids[0] == INT64_MIN ? 7 : INT64_MIN), GV_NONE);
    assert_int_equal(gv_index_find(&index, INT64_MAX - 1), GV_NONE);
    gv_index_free(&index);
}

static void indices(void **state)
{
    int64_t dense[1000];
    for (int i = 0; i < 1000; i++)
        dense[i] = i + 1;
    index_finds(dense, 1000);
    index_finds(dense, 1);
    index_finds(dense, 0);
    const int64_t sparse[] = {INT64_MIN, -5, 0, 1, 2, 1000000007, INT64_MAX};
    index_finds(sparse, 7);
    struct gv_index index = {0};
    assert_int_equal(gv_index_add(&index, 5), 0);
    assert_int_equal(gv_index_add(&index, 5), -22); /* EINVAL: not ascending */
    gv_index_free(&index);
}

static void tallies(void **state)
{
    struct gv_tally tally = {0};
    for (uint32_t i = 0; i < 30000; i++)
        assert_int_equal(gv_tally_add(&tally, i % 1000, i % 3, 7, i % 1000), 0);
    assert_int_equal(tally.count, 3000);
    struct gv_tally_row *row = gv_tally_row(&tally, 999, 0, 7);
    assert_int_equal(row->count, 10);
    assert_int_equal(row->bytes, 9990);
    gv_tally_sort(&tally);
    assert_int_equal(tally.rows[0].key[0], 999);
    assert_int_equal(tally.rows[0].key[1], 0);
    assert_int_equal(tally.rows[2999].key[0], 0);
    gv_tally_free(&tally);
}

static void cleaned(const char *in, const char *out)
{
    char *clean = gv_clean(in);
    assert_non_null(clean);
    assert_string_equal(clean, out);
    free(clean);
}

#define REPLACED "\xef\xbf\xbd"

static void only_utf8_remains(void **state)
{
    cleaned("", "");
    cleaned("plain \xe5\x90\x8d \xf0\x9f\x98\x80", "plain \xe5\x90\x8d \xf0\x9f\x98\x80");
    cleaned("\xff", REPLACED);
    cleaned("\xc0\x80", REPLACED REPLACED);                           /* overlong NUL */
    cleaned("\xe0\x9f\xbf", REPLACED REPLACED REPLACED);              /* overlong */
    cleaned("\xed\xa0\x80", REPLACED REPLACED REPLACED);              /* surrogate */
    cleaned("\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED); /* beyond Unicode */
    cleaned("a\xe5\x90", "a" REPLACED REPLACED);                      /* cut off */
}

static void text_fits(void **state)
{
    char out[64];
    assert_string_equal(gv_fit("short", 10, out, sizeof(out)), "short");
    assert_string_equal(gv_fit("0123456789ab", 10, out, sizeof(out)), "0123456...");
    assert_string_equal(gv_fit_left("/a/long/path.c", 9, out, sizeof(out)), "...path.c");
    assert_string_equal(gv_fit("a\033[31m\n", 40, out, sizeof(out)), "a\\x1b[31m\\x0a");
    assert_string_equal(gv_fit("\xe2\x80\xae", 40, out, sizeof(out)), "\\u202e"); /* turns text */
    assert_string_equal(gv_pad("\xe5\x90\x8d", 4, out, sizeof(out)), "\xe5\x90\x8d  ");
    assert_int_equal(gv_columns("\xe5\x90\x8d\x7f"), 6);
    char tiny[4];
    assert_string_equal(gv_fit("\xe5\x90\x8d\xe5\x90\x8d", 10, tiny, sizeof(tiny)), "\xe5\x90\x8d");
}

static void moment_syntax(void **state)
{
    struct gv_at at;
    assert_int_equal(gv_at_parse("peak", &at), 0);
    assert_int_equal(at.kind, GV_AT_PEAK);
    assert_int_equal(gv_at_parse("step:12", &at), 0);
    assert_int_equal(at.kind, GV_AT_STEP);
    assert_int_equal(at.step, 12);
    assert_int_equal(gv_at_parse("+1.5", &at), 0);
    assert_int_equal(at.kind, GV_AT_TIME);
    assert_int_equal(at.t_ns, 1500000000);
    static const char *const bad[] = {"",
                                      "Peak",
                                      "step",
                                      "step:",
                                      "step:0",
                                      "step:-1",
                                      "step:1x",
                                      "step: 1",
                                      "step:99999999999",
                                      "+",
                                      "+-1",
                                      "+1e3",
                                      "+nan",
                                      "+inf",
                                      "+0x10",
                                      "+1.2.3",
                                      "1.5",
                                      "peak ",
                                      "+99999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(gv_at_parse(bad[i], &at), -22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),           cmocka_unit_test(percent_is_never_rounded_up),
        cmocka_unit_test(indices),           cmocka_unit_test(tallies),
        cmocka_unit_test(only_utf8_remains), cmocka_unit_test(text_fits),
        cmocka_unit_test(moment_syntax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
