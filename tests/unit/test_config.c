/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libgradprof/core/config.h"

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int status;
        uint64_t bytes;
    } rows[] = {
        {"4096", 0, 4096},
        {"8GiB", 0, UINT64_C(8) << 30},
        {"8G", 0, UINT64_C(8) << 30},
        {"8 GiB", 0, UINT64_C(8) << 30},
        {"1.5GiB", 0, UINT64_C(3) << 29},
        {"1GB", 0, 1000000000},
        {"512MiB", 0, UINT64_C(512) << 20},
        {"0", 0, 0},
        {"", -1, 0},
        {"GiB", -1, 0},
        {"-1", -1, 0},
        {"8gib", -1, 0},
        {"8GiBx", -1, 0},
        {"1.GiB", -1, 0},
        {"1e9", -1, 0},
        {"99999999999999999999", -1, 0},
        {"99999999999TiB", -1, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 77;
        int r = gp_parse_size(rows[i].text, strlen(rows[i].text), &bytes);
        assert_int_equal(r == 0 ? 0 : -1, rows[i].status);
        assert_int_equal(bytes, r == 0 ? rows[i].bytes : 77);
    }
}

static void memory_limits(void **state)
{
    static const char *const bad[] = {"8GiB,4GiB",     "0=",      "=8GiB", "x=8GiB", "0=8GiB,",
                                      "0=8GiB,0=4GiB", "64=8GiB", "0=0",   "0"};
    struct gp_memory_limit limit;

    assert_int_equal(gp_parse_memory_limit("", &limit), 0);
    assert_false(limit.any);
    assert_int_equal(gp_parse_memory_limit("8GiB", &limit), 0);
    assert_true(limit.any && limit.all_devices);
    assert_int_equal(limit.bytes[0], UINT64_C(8) << 30);
    assert_int_equal(limit.bytes[63], UINT64_C(8) << 30);
    assert_int_equal(gp_parse_memory_limit("0=8GiB,3=4GiB", &limit), 0);
    assert_true(limit.any && !limit.all_devices);
    assert_int_equal(limit.bytes[0], UINT64_C(8) << 30);
    assert_int_equal(limit.bytes[1], 0);
    assert_int_equal(limit.bytes[3], UINT64_C(4) << 30);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_not_equal(gp_parse_memory_limit(bad[i], &limit), 0);
}

static void defaults(void **state)
{
    static char *const environment[] = {"PATH=/bin", "HOME=/", NULL};
    struct gp_config config;

    gp_config_read(&config, environment);
    assert_int_equal(config.problem_count, 0);
    assert_string_equal(config.db, "");
    assert_false(config.quiet || config.disable || config.memory_limit.any);
    assert_int_equal(config.unwind, GP_UNWIND_AUTO);
    assert_int_equal(config.stack_depth, 128);
    assert_int_equal(config.log_limit, UINT64_C(1) << 30);
}

static void values(void **state)
{
    static char *const environment[] = {"GRADPROF_DB=a/b%p.db",     "GRADPROF_QUIET=1",
                                        "GRADPROF_UNWIND=fp",       "GRADPROF_STACK_DEPTH=1024",
                                        "GRADPROF_LOG_LIMIT=16MiB", "GRADPROF_MEMORY_LIMIT=0=1GiB",
                                        "GRADPROF_DISABLE=",        NULL};
    struct gp_config config;

    gp_config_read(&config, environment);
    assert_int_equal(config.problem_count, 0);
    assert_string_equal(config.db, "a/b%p.db");
    assert_true(config.quiet);
    assert_false(config.disable);
    assert_int_equal(config.unwind, GP_UNWIND_FP);
    assert_int_equal(config.stack_depth, 1024);
    assert_int_equal(config.log_limit, 16 << 20);
    assert_int_equal(config.memory_limit.bytes[0], 1 << 30);
}

static void problems(void **state)
{
    static char *const environment[] = {"GRADPROF_UNWIND=fast",       "GRADPROF_STACK_DEPTH=0",
                                        "GRADPROF_QUITE=1",           "GRADPROF_QUIET=yes",
                                        "GRADPROF_MEMORY_LIMIT=lots", NULL};
    struct gp_config config;

    gp_config_read(&config, environment);
    assert_int_equal(config.problem_count, 5);
    assert_string_equal(config.problem[0], "GRADPROF_UNWIND=fast is not understood (allowed: auto, "
                                           "libunwind, libgcc, fp, off); using auto");
    assert_string_equal(config.problem[1],
                        "GRADPROF_STACK_DEPTH=0 is not understood (allowed: 1 to "
                        "1024); using 128");
    assert_string_equal(config.problem[2],
                        "GRADPROF_QUITE is no variable of gradprof; did you mean GRADPROF_QUIET?");
    assert_string_equal(config.problem[3],
                        "GRADPROF_QUIET=yes is not understood (allowed: 0 or 1); using 0");
    assert_non_null(strstr(config.problem[4], "ignored"));
    assert_int_equal(config.stack_depth, 128);
    assert_false(config.quiet || config.memory_limit.any);
}

static void many_problems(void **state)
{
    char *environment[GP_CONFIG_PROBLEMS_MAX + 5];
    struct gp_config config;

    for (size_t i = 0; i < GP_CONFIG_PROBLEMS_MAX + 4; i++)
        environment[i] = "GRADPROF_NONSENSE=1";
    environment[GP_CONFIG_PROBLEMS_MAX + 4] = NULL;
    gp_config_read(&config, environment);
    assert_int_equal(config.problem_count, GP_CONFIG_PROBLEMS_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),  cmocka_unit_test(memory_limits), cmocka_unit_test(defaults),
        cmocka_unit_test(values), cmocka_unit_test(problems),      cmocka_unit_test(many_problems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
