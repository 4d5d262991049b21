/* SPDX-License-Identifier: MIT */
/* Contexts: what may be asked for, what a device's memory allows, several at a time. */
#include "tests/engine/engine_test.h"

static void expect_no_context(struct ag_options options, enum ag_status status, const char *part)
{
    ag_context *context = (ag_context *)&options; /* must stay as it is */

    assert_int_equal(ag_context_create(&options, &context), status);
    assert_ptr_equal(context, &options);
    assert_int_equal(ag_error(NULL), status);
    if (!strstr(ag_error_text(NULL), part))
        fail_msg("\"%s\" is not in \"%s\"", part, ag_error_text(NULL));
    assert_null(strchr(ag_error_text(NULL), '\n'));
}

static void wrong_options_are_told(void **state)
{
    static const char *const devices[] = {"",
                                          "gpu",
                                          "reference:",
                                          "reference:x",
                                          "reference:-1",
                                          "reference:1 ",
                                          "reference:99999",
                                          "a-name-that-is-longer-than-any-device-has"};

    for (size_t i = 0; i < COUNT(devices); i++)
        expect_no_context((struct ag_options){.device = devices[i]}, AG_INVALID_ARGUMENT,
                          "there are auto, cuda, host, reference");
    expect_no_context((struct ag_options){.device = "reference", .compute = "some"},
                      AG_INVALID_ARGUMENT, "compute \"some\": allowed are real and skip");
    expect_no_context((struct ag_options){.device = "reference", .allocator = "pool"},
                      AG_INVALID_ARGUMENT, "allocator \"pool\": allowed are async and malloc");
    expect_no_context((struct ag_options){.device = "reference:1"}, AG_UNAVAILABLE,
                      "has no device of that number");
}

static void success_clears_the_error(void **state)
{
    ag_context *context;

    expect_no_context((struct ag_options){.device = "gpu"}, AG_INVALID_ARGUMENT, "gpu");
    context = open_context("reference", "skip", 0);
    assert_int_equal(ag_error(NULL), AG_OK);
    assert_string_equal(ag_error_text(NULL), "");
    assert_string_equal(ag_device_text(context),
                        "host stand-in, no GPU: reference loops, 1 thread");
    close_context(context);
}

/* A limit is a limit to the byte, and a refusal changes nothing. */
static void memory_is_limited(void **state)
{
    static const char *const allocators[] = {"async", "malloc"};

    for (size_t i = 0; i < COUNT(allocators); i++) {
        struct ag_options options = {.device = "reference",
                                     .compute = "skip",
                                     .allocator = allocators[i],
                                     .memory_bytes = (size_t)64 << 20};
        ag_context *context;
        ag_tensor *half, *rest, *more;

        assert_int_equal(ag_context_create(&options, &context), AG_OK);
        half = ag_zeros(context, SHAPE(8 << 20));
        rest = ag_zeros(context, SHAPE(8 << 20));
        assert_fine(context);
        assert_int_equal(ag_live_bytes(context), 64 << 20);
        more = ag_zeros(context, SHAPE(1));
        assert_null(more);
        assert_int_equal(ag_error(context), AG_OUT_OF_MEMORY);
        assert_string_equal(ag_error_text(context),
                            "4 bytes for the output of zeros refused; 0.06 GB of 0.06 GB in use");
        assert_int_equal(ag_live_bytes(context), 64 << 20);
        ag_clear_error(context);
        assert_int_equal(ag_error(context), AG_OK);
        ag_release(half);
        more = ag_zeros(context, SHAPE(8 << 20)); /* what was freed can be had again */
        assert_fine(context);
        assert_int_equal(ag_peak_bytes(context), 64 << 20);
        ag_release(more);
        ag_release(rest);
        close_context(context);
    }
}

static void contexts_do_not_share(void **state)
{
    ag_context *a = open_context("reference", "real", 0), *b = open_context("reference", "real", 0);
    ag_tensor *x = ag_randn(a, SHAPE(4)), *y;
    float from_a[4], from_b[4];

    assert_int_equal(ag_live_bytes(a), 16);
    assert_int_equal(ag_live_bytes(b), 0);
    assert_null(ag_flatten(x));
    assert_int_equal(ag_error(a), AG_INVALID_ARGUMENT);
    assert_int_equal(ag_error(b), AG_OK);
    ag_clear_error(a);
    y = ag_randn(b, SHAPE(4)); /* the same seed, a stream of its own */
    assert_int_equal(ag_to_floats(x, from_a), AG_OK);
    assert_int_equal(ag_to_floats(y, from_b), AG_OK);
    assert_memory_equal(from_a, from_b, sizeof(from_a));
    ag_release(x);
    close_context(a);
    ag_release(y);
    close_context(b);
}

static void skipping_has_no_values(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_tensor *x = ag_from_floats(context, SHAPE(2), (const float[]){1, 2});
    ag_tensor *scalar = ag_scalar(context, 2.5f);
    float values[2] = {7, 7};

    assert_int_equal(ag_to_floats(x, values), AG_INVALID_ARGUMENT);
    assert_refused(context, NULL, "skips the arithmetic");
    assert_true(values[0] == 7 && values[1] == 7);
    assert_int_equal(ag_to_floats(scalar, values), AG_OK); /* no device tensor */
    assert_true(values[0] == 2.5f);
    ag_release(x);
    ag_release(scalar);
    close_context(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_told), cmocka_unit_test(success_clears_the_error),
        cmocka_unit_test(memory_is_limited),      cmocka_unit_test(contexts_do_not_share),
        cmocka_unit_test(skipping_has_no_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
