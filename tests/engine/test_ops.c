/* SPDX-License-Identifier: MIT */
/* The reference backend, which defines what is correct, against values worked out by hand. */
#include "tests/engine/engine_test.h"

#include <math.h>

static ag_context *context;

static int setup(void **state)
{
    context = open_context("reference", "real", 0);
    return 0;
}

static int teardown(void **state)
{
    close_context(context);
    return 0;
}

static void expect(ag_tensor *tensor, const float *expected, size_t count)
{
    float values[64];

    assert_fine(context);
    assert_non_null(tensor);
    assert_int_equal(ag_count(tensor), count);
    assert_int_equal(ag_to_floats(tensor, values), AG_OK);
    for (size_t i = 0; i < count; i++)
        if (!(values[i] == expected[i] || (isnan(values[i]) && isnan(expected[i]))))
            fail_msg("element %zu is %.9g, not %.9g", i, (double)values[i], (double)expected[i]);
}

#define EXPECT(tensor, ...)                                                                        \
    expect(tensor, (const float[]){__VA_ARGS__}, COUNT(((float[]){__VA_ARGS__})))

#define TENSOR(shape, ...) ag_from_floats(context, shape, (const float[]){__VA_ARGS__})

static void conv2d_by_hand(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
    ag_tensor *w = TENSOR(SHAPE(1, 1, 2, 2), 1, 10, 100, 1000);
    ag_tensor *b = TENSOR(SHAPE(1), 0.5f), *y;

    /* cross-correlation: the kernel is not turned round */
    y = ag_conv2d(x, w, b, 1, 0);
    EXPECT(y, 5421.5f, 6532.5f, 8754.5f, 9865.5f);
    ag_release(y);
    /* padding adds zeros around; stride 2 takes every other place */
    y = ag_conv2d(x, w, b, 2, 1);
    EXPECT(y, 1000.5f, 3200.5f, 7040.5f, 9865.5f);
    ag_release(y);
    ag_release(x);
    ag_release(w);
    ag_release(b);
}

static void conv2d_adds_over_channels(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(2, 2, 1, 2), 1, 2, 3, 4, 5, 6, 7, 8);
    ag_tensor *w = TENSOR(SHAPE(2, 2, 1, 1), 1, 10, 100, 1000);
    ag_tensor *b = TENSOR(SHAPE(2), 0.25f, 0.5f), *y = ag_conv2d(x, w, b, 1, 0);

    EXPECT(y, 31.25f, 42.25f, 3100.5f, 4200.5f, 75.25f, 86.25f, 7500.5f, 8600.5f);
    ag_release(y);
    ag_release(x);
    ag_release(w);
    ag_release(b);
}

static void linear_by_hand(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    ag_tensor *w = TENSOR(SHAPE(2, 3), 1, 10, 100, 2, 20, 200);
    ag_tensor *b = TENSOR(SHAPE(2), 0.5f, -0.5f), *y = ag_linear(x, w, b);

    EXPECT(y, 321.5f, 641.5f, 654.5f, 1307.5f);
    ag_release(y);
    ag_release(x);
    ag_release(w);
    ag_release(b);
}

static void relu_by_hand(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(5), -1, 0, 2, NAN, -INFINITY), *y = ag_relu_(x);

    EXPECT(y, 0, 0, 2, NAN, 0);
    EXPECT(x, 0, 0, 2, NAN, 0); /* in place */
    ag_release(y);
    ag_release(x);
}

/* Pool with a graph, to get at the indices it saved. */
static void expect_pool(ag_tensor *x, int64_t kernel, int64_t stride, int64_t padding,
                        const float *values, const int64_t *indices, size_t count)
{
    int64_t saved[16];
    struct ag_backend *backend = context->backend;
    ag_tensor *y;

    ag_set_requires_grad(x, true);
    y = ag_max_pool2d(x, kernel, stride, padding);
    expect(y, values, count);
    assert_int_equal(backend->ops->copy_out(backend, saved,
                                            ag_value_address(y->value->grad_fn->saved[1]),
                                            count * sizeof(int64_t)),
                     AG_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(saved[i], indices[i]);
    ag_release(y);
}

static void max_pool2d_by_hand(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(1, 1, 3, 4), 1, 5, 5, 2, -1, 0, 7, 7, 3, 4, NAN, 6);

    /* the first of equals; NaN wins */
    expect_pool(x, 2, 1, 0, (const float[]){5, 7, 7, 4, NAN, NAN},
                (const int64_t[]){1, 6, 6, 9, 10, 10}, 6);
    /* stride larger than the kernel leaves elements out */
    expect_pool(x, 1, 3, 0, (const float[]){1, 2}, (const int64_t[]){0, 3}, 2);
    ag_release(x);

    /* padding is never the maximum, even where all else is negative; positions count within a plane */
    x = TENSOR(SHAPE(1, 2, 2, 2), -4, -3, -2, -1, -8, -7, -6, -5);
    expect_pool(x, 2, 2, 1, (const float[]){-4, -3, -2, -1, -8, -7, -6, -5},
                (const int64_t[]){0, 1, 2, 3, 0, 1, 2, 3}, 8);
    ag_release(x);
}

static void adaptive_avg_pool2d_by_hand(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9), *y;

    y = ag_adaptive_avg_pool2d(x, 1, 1);
    EXPECT(y, 5);
    ag_release(y);
    /* windows of rows 0-1 and 1-2: they overlap */
    y = ag_adaptive_avg_pool2d(x, 2, 2);
    EXPECT(y, 3, 4, 6, 7);
    ag_release(y);
    y = ag_adaptive_avg_pool2d(x, 3, 1);
    EXPECT(y, 2, 5, 8);
    ag_release(y);
    /* more places than elements: each is seen more than once */
    y = ag_adaptive_avg_pool2d(x, 1, 6);
    EXPECT(y, 4, 4, 5, 5, 6, 6);
    ag_release(y);
    ag_release(x);
}

static void add_by_hand(void **state)
{
    ag_tensor *a = TENSOR(SHAPE(2, 2), 1, 2, 3, 4), *b = TENSOR(SHAPE(2, 2), 10, 20, 30, 40);
    ag_tensor *one = TENSOR(SHAPE(1), 0.5f), *scalar = ag_scalar(context, 0.25f), *y;

    y = ag_add(a, b);
    EXPECT(y, 11, 22, 33, 44);
    ag_release(y);
    y = ag_add(one, b);
    EXPECT(y, 10.5f, 20.5f, 30.5f, 40.5f);
    assert_int_equal(ag_dims(y), 2);
    ag_release(y);
    y = ag_add(a, scalar);
    EXPECT(y, 1.25f, 2.25f, 3.25f, 4.25f);
    ag_release(y);
    y = ag_add(scalar, scalar);
    EXPECT(y, 0.5f);
    ag_release(y);
    ag_release(a);
    ag_release(b);
    ag_release(one);
    ag_release(scalar);
}

static void flatten_and_detach_share(void **state)
{
    ag_tensor *x = TENSOR(SHAPE(2, 1, 1, 2), 1, 2, 3, 4), *y = ag_flatten(x), *z = ag_detach(y);

    EXPECT(y, 1, 2, 3, 4);
    assert_int_equal(ag_size(y, 0), 2);
    assert_int_equal(ag_size(y, 1), 2);
    assert_int_equal(ag_live_bytes(context), 16);
    EXPECT(z, 1, 2, 3, 4);
    ag_release(x);
    ag_release(y);
    ag_release(z);
}

static void dropout_keeps_and_scales(void **state)
{
    enum { N = 10000 };
    static float values[N];
    ag_tensor *x = ag_zeros(context, SHAPE(N)), *one = ag_scalar(context, 1), *y;
    int kept = 0;

    ag_assign(x, ag_add(x, one));
    y = ag_dropout(x, 0.25f, true);
    assert_int_equal(ag_to_floats(y, values), AG_OK);
    for (int i = 0; i < N; i++) {
        if (values[i] != 0.0f)
            assert_true(values[i] == 1.0f / 0.75f);
        kept += values[i] != 0.0f;
    }
    /* 7,500 expected, standard deviation 43: six of them */
    assert_in_range(kept, 7500 - 260, 7500 + 260);
    ag_release(y);
    y = ag_dropout(x, 0.25f, false); /* identity: the same tensor */
    assert_ptr_equal(y->value, x->value);
    ag_release(y);
    ag_release(x);
    ag_release(one);
}

static void null_passes_through(void **state)
{
    ag_tensor *a = ag_zeros(context, SHAPE(1, 1, 1, 1));

    assert_null(ag_conv2d(NULL, a, a, 1, 0));
    assert_null(ag_conv2d(a, NULL, a, 1, 0));
    assert_null(ag_conv2d(a, a, NULL, 1, 0));
    assert_null(ag_linear(NULL, a, a));
    assert_null(ag_linear(a, NULL, a));
    assert_null(ag_linear(a, a, NULL));
    assert_null(ag_relu_(NULL));
    assert_null(ag_max_pool2d(NULL, 1, 1, 0));
    assert_null(ag_adaptive_avg_pool2d(NULL, 1, 1));
    assert_null(ag_flatten(NULL));
    assert_null(ag_dropout(NULL, 0.5f, true));
    assert_null(ag_add(NULL, a));
    assert_null(ag_add(a, NULL));
    assert_null(ag_detach(NULL));
    assert_null(ag_retain(NULL));
    assert_null(ag_alexnet_forward(NULL, a));
    ag_set_role_input(NULL, "x");
    assert_fine(context); /* and none of them is a failure of its own */
    ag_release(a);
}

static void wrong_arguments_are_told(void **state)
{
    ag_tensor *x = ag_zeros(context, SHAPE(1, 2, 3, 3)), *w = ag_zeros(context, SHAPE(4, 2, 2, 2));
    ag_tensor *b = ag_zeros(context, SHAPE(4)), *flat = ag_flatten(x);

    assert_refused(context, ag_zeros(context, SHAPE(1, 0)), "impossible shape");
    assert_refused(context, ag_zeros(context, SHAPE(-1)), "impossible shape");
    assert_refused(context, ag_zeros(context, SHAPE(INT64_MAX, INT64_MAX)), "impossible shape");
    assert_refused(context, ag_zeros(context, SHAPE(1, 1, 1, 1, 1)), "impossible shape");
    assert_refused(context, ag_conv2d(flat, w, b, 1, 0), "the input must have 4 dimensions, not 2");
    assert_refused(context, ag_conv2d(x, w, b, 0, 0), "stride");
    assert_refused(context, ag_conv2d(x, w, b, 1, -1), "padding");
    assert_refused(context, ag_conv2d(w, x, b, 1, 0), "do not fit");
    assert_refused(context, ag_linear(flat, flat, b), "do not fit");
    assert_refused(context, ag_max_pool2d(x, 4, 1, 0), "larger than");
    assert_refused(context, ag_max_pool2d(x, 2, 1, 2), "half the kernel");
    assert_refused(context, ag_adaptive_avg_pool2d(x, 0, 1), "impossible shape");
    assert_refused(context, ag_dropout(x, 1.0f, true), "less than 1");
    assert_refused(context, ag_dropout(x, NAN, true), "less than 1");
    assert_refused(context, ag_add(x, b), "same shape");
    assert_refused(context, ag_flatten(b), "2 dimensions");
    /* the first failure is the one that is kept */
    assert_null(ag_flatten(b));
    assert_refused(context, ag_add(x, b), "2 dimensions");
    ag_release(x);
    ag_release(w);
    ag_release(b);
    ag_release(flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_by_hand),
        cmocka_unit_test(conv2d_adds_over_channels),
        cmocka_unit_test(linear_by_hand),
        cmocka_unit_test(relu_by_hand),
        cmocka_unit_test(max_pool2d_by_hand),
        cmocka_unit_test(adaptive_avg_pool2d_by_hand),
        cmocka_unit_test(add_by_hand),
        cmocka_unit_test(flatten_and_detach_share),
        cmocka_unit_test(dropout_keeps_and_scales),
        cmocka_unit_test(null_passes_through),
        cmocka_unit_test(wrong_arguments_are_told),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
