/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libgradprof/stack/intern.h"

#define THREADS 4
#define CONTENTS 20000

static void equal_contents_share_an_id(void **state)
{
    struct gp_intern table = GP_INTERN_INITIALIZER(2);
    struct gp_entry *a = gp_intern(&table, "input", 5);
    struct gp_entry *b = gp_intern(&table, "weight", 6);

    assert_int_equal(a->id, 1);
    assert_int_equal(b->id, 2);
    assert_ptr_equal(gp_intern(&table, "input", 5), a);
    assert_memory_equal(a->content, "input", 5);
    assert_int_equal(a->content_bytes, 5);
    assert_int_equal(a->epoch, 0);
}

static void prefixes_differ(void **state)
{
    struct gp_intern table = GP_INTERN_INITIALIZER(2);
    static const char zeros[32];

    for (uint32_t bytes = 0; bytes <= sizeof(zeros); bytes++)
        assert_int_equal(gp_intern(&table, zeros, bytes)->id, bytes + 1);
    for (uint32_t bytes = 0; bytes <= sizeof(zeros); bytes++)
        assert_int_equal(gp_intern(&table, zeros, bytes)->id, bytes + 1);
}

static void ids_survive_growth(void **state)
{
    struct gp_intern table = GP_INTERN_INITIALIZER(2);

    for (uint64_t i = 0; i < CONTENTS; i++)
        assert_int_equal(gp_intern(&table, &i, sizeof(i))->id, i + 1);
    for (uint64_t i = 0; i < CONTENTS; i++)
        assert_int_equal(gp_intern(&table, &i, sizeof(i))->id, i + 1);
}

static void large_content(void **state)
{
    static char large[GP_ARENA_CHUNK_BYTES + 100];
    struct gp_intern table = GP_INTERN_INITIALIZER(2);
    struct gp_entry *entry;

    memset(large, 'x', sizeof(large));
    entry = gp_intern(&table, large, sizeof(large));
    assert_memory_equal(entry->content, large, sizeof(large));
    assert_int_equal(gp_intern(&table, "y", 1)->id, 2);
}

static struct gp_intern shared = GP_INTERN_INITIALIZER(2);
static uint32_t seen[THREADS][CONTENTS];

static void *intern_all(void *user)
{
    uint32_t *ids = user;

    for (uint64_t i = 0; i < CONTENTS; i++)
        ids[i] = gp_intern(&shared, &i, sizeof(i))->id;
    return NULL;
}

static void threads_agree(void **state)
{
    pthread_t threads[THREADS];
    unsigned char used[CONTENTS + 1] = {0};

    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, intern_all, seen[t]), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int i = 0; i < CONTENTS; i++) {
        for (int t = 1; t < THREADS; t++)
            assert_int_equal(seen[t][i], seen[0][i]);
        assert_in_range(seen[0][i], 1, CONTENTS);
        assert_int_equal(used[seen[0][i]]++, 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_contents_share_an_id),
        cmocka_unit_test(prefixes_differ),
        cmocka_unit_test(ids_survive_growth),
        cmocka_unit_test(large_content),
        cmocka_unit_test(threads_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
