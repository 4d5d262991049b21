/* SPDX-License-Identifier: MIT */
/* Map and ranges against a plain array that is searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "libgradprof/store/map.h"
#include "libgradprof/store/ranges.h"
#include "libgradprof/store/slab.h"

#define KEYS 3000
#define ROUNDS 60000

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

/* Multiples of 2 MiB, as device allocators return: nothing but zeros in the low bits. */
static uint64_t key_of(uint64_t i)
{
    return i << 21;
}

static void test_map_against_array(void **state)
{
    static uint64_t expected[KEYS];
    struct gp_map map = {0};
    size_t count = 0;
    random_state = 1;
    assert_int_equal(gp_map_get(&map, 5), 0);
    assert_int_equal(gp_map_remove(&map, 5), 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t i = next_random() % KEYS;
        if (next_random() % 2) {
            count += expected[i] == 0;
            expected[i] = next_random() + 1;
            assert_int_equal(gp_map_put(&map, key_of(i), expected[i]), 0);
        } else {
            count -= expected[i] != 0;
            assert_int_equal(gp_map_remove(&map, key_of(i)), expected[i]);
            expected[i] = 0;
        }
        uint64_t other = next_random() % KEYS;
        assert_int_equal(gp_map_get(&map, key_of(other)), expected[other]);
        assert_int_equal(map.count, count);
    }
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(gp_map_get(&map, key_of(i)), expected[i]);
    gp_map_finish(&map);
}

static void *floor_in_array(const uint8_t *present, int *owners, uint64_t at)
{
    for (uint64_t i = at + 1; i-- > 0;) {
        if (present[i])
            return &owners[i];
    }
    return NULL;
}

static void test_ranges_against_array(void **state)
{
    static uint8_t present[KEYS];
    static int owners[KEYS];
    struct gp_ranges ranges = {0};
    random_state = 2;
    assert_null(gp_ranges_floor(&ranges, 77));
    gp_ranges_remove(&ranges, 77);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t i = next_random() % KEYS;
        if (next_random() % 5 < (round < ROUNDS / 2 ? 3u : 1u)) { /* first it grows, then shrinks */
            present[i] = 1;
            assert_int_equal(gp_ranges_put(&ranges, key_of(i), &owners[i]), 0);
        } else {
            present[i] = 0;
            gp_ranges_remove(&ranges, key_of(i));
        }
        uint64_t other = next_random() % KEYS;
        void *expected = floor_in_array(present, owners, other);
        assert_ptr_equal(gp_ranges_floor(&ranges, key_of(other)), expected);
        assert_ptr_equal(gp_ranges_floor(&ranges, key_of(other) + 1000), expected);
    }
    for (uint64_t i = 0; i < KEYS; i++)
        gp_ranges_remove(&ranges, key_of(i));
    assert_null(gp_ranges_floor(&ranges, UINT64_MAX));
    assert_int_equal(ranges.count, 0);
    gp_ranges_finish(&ranges);
}

static void test_slab_reuses_and_zeroes(void **state)
{
    struct gp_slab slab = {.object_bytes = 24};
    uint64_t *first = gp_slab_take(&slab), *second = gp_slab_take(&slab);
    assert_ptr_not_equal(first, second);
    first[0] = first[1] = first[2] = 7;
    gp_slab_give(&slab, first);
    uint64_t *again = gp_slab_take(&slab);
    assert_ptr_equal(again, first);
    assert_int_equal(again[0] | again[1] | again[2], 0);
    gp_slab_finish(&slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_against_array),
        cmocka_unit_test(test_ranges_against_array),
        cmocka_unit_test(test_slab_reuses_and_zeroes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
