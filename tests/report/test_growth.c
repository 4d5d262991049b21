/* SPDX-License-Identifier: MIT */
/* The judgement of survivors: each string is a run, a character for each step, and how many objects of
 * that step still live ('.' = none). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "viewer/growth.h"

#define SPANS_MAX 128

static enum gv_trend trend_of(const char *run, uint32_t recycled, uint32_t life, bool all_differ)
{
    static uint32_t counts[SPANS_MAX];
    struct gv_survivors s = {counts, NULL, (uint32_t)strlen(run), recycled, life, all_differ};
    memset(counts, 0, sizeof(counts));
    for (size_t k = 0; run[k]; k++)
        counts[k + 1] = run[k] == '.' ? 0 : (uint32_t)(run[k] - '0');
    return gv_trend_of(&s);
}

static void growing(void **state)
{
    (void)state;
    assert_int_equal(trend_of("1111111111", 0, 0, false), GV_GROWS);
    assert_int_equal(trend_of("..1..1..1..1..1", 0, 0, true), GV_GROWS);         /* every third */
    assert_int_equal(trend_of("........1.1.1.1.1", 0, 0, false), GV_GROWS);      /* begins late */
    assert_int_equal(trend_of("..1...1..1....1...1..1", 0, 0, false), GV_GROWS); /* steps between */
    assert_int_equal(trend_of("11111111111111", 5, 2, false), GV_GROWS); /* others are recycled */
}

static void quiet(void **state)
{
    (void)state;
    assert_int_equal(trend_of("..........", 0, 0, false), GV_STEADY);
    assert_int_equal(trend_of(".........1", 0, 0, false), GV_STEADY); /* a loop variable */
    assert_int_equal(trend_of("....1....1", 0, 0, false), GV_STEADY);
    assert_int_equal(trend_of("2.........", 0, 0, false), GV_ONE_OFF);
    assert_int_equal(trend_of("13.......1", 0, 0, false), GV_ONE_OFF);
    assert_int_equal(trend_of("1111............", 0, 0, false), GV_ONE_OFF);
    assert_int_equal(trend_of("111111..........", 0, 0, false), GV_FULL);
    assert_int_equal(trend_of("............1111", 9, 4, false), GV_WINDOW);
    assert_int_equal(trend_of("1.11.1....1......1...", 0, 0, true),
                     GV_UNSURE); /* keys of a cache */
    assert_int_equal(trend_of("1.11.11..1....1......1", 0, 0, false), GV_UNSURE);
}

static void unbroken(void **state)
{
    (void)state;
    uint32_t counts[] = {0, 5, 5, 1}, gaps[] = {0, 1, 0, 1, 0, 1, 1}, first;
    struct gv_survivors s = {.counts = counts, .spans = 3};
    assert_true(gv_is_unbroken(&s, &first)); /* died in step 3, two graphs of earlier ones */
    assert_int_equal(first, 1);
    s.spans = 2;
    assert_false(gv_is_unbroken(&s, &first)); /* one earlier graph is no evidence */
    struct gv_survivors odd = {.counts = gaps, .spans = 6};
    assert_false(gv_is_unbroken(&odd, &first));
}

static void slopes(void **state)
{
    (void)state;
    uint64_t same[] = {0, 9, 4, 4, 4, 4}, odd[] = {0, 0, 6, 0, 0, 6, 0, 0}, one[] = {7};
    assert_int_equal(gv_slope(same, 1, 5), 4); /* most agree */
    assert_int_equal(gv_slope(odd, 2, 7), 2);  /* every third step */
    assert_int_equal(gv_slope(one, 0, 0), 7);
    assert_int_equal(gv_slope(one, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(growing), cmocka_unit_test(quiet),
                                       cmocka_unit_test(unbroken), cmocka_unit_test(slopes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
