/* SPDX-License-Identifier: MIT */
/*
 * The host backend against the reference backend, on the shapes where fast code goes wrong and on
 * random ones. `test_backends [SHAPES]` sets how many random shapes each operation gets.
 *
 * Tolerance. Both round inputs and outputs to float32; the reference adds in double, the other one in
 * float32 in some order of its own. For a sum of k products of about unit size, errors grow like
 * sqrt(k) * 2^-24 with a result of size sqrt(k); 16 times that per element, against the size of the
 * sum of absolute values, is far below any mistake of indexing.
 */
#include "tests/engine/engine_test.h"

#include <math.h>

static struct {
    ag_context *reference, *host;
    int random_shapes;
    uint64_t random;
} test = {.random_shapes = 40, .random = 88172645463325252ull};

/* xorshift64 */
static int64_t random_between(int64_t low, int64_t high)
{
    test.random ^= test.random << 13;
    test.random ^= test.random >> 7;
    test.random ^= test.random << 17;
    return low + (int64_t)(test.random % (uint64_t)(high - low + 1));
}

static float *random_floats(int64_t count)
{
    float *values = malloc((size_t)count * sizeof(*values));

    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)random_between(-1000000, 1000000) * 1e-6f;
    return values;
}

/* The same random tensor on both devices. */
struct pair {
    ag_tensor *reference, *host;
};

static struct pair pair_random(int dims, const int64_t *shape)
{
    int64_t count = 1;
    float *values;
    struct pair pair;

    for (int i = 0; i < dims; i++)
        count *= shape[i];
    values = random_floats(count);
    pair.reference = ag_from_floats(test.reference, dims, shape, values);
    pair.host = ag_from_floats(test.host, dims, shape, values);
    free(values);
    assert_fine(test.reference);
    assert_fine(test.host);
    return pair;
}

static void pair_release(struct pair pair)
{
    ag_release(pair.reference);
    ag_release(pair.host);
}

static float *floats_of(const ag_tensor *tensor)
{
    float *values = malloc((size_t)ag_count(tensor) * sizeof(*values));

    assert_non_null(values);
    assert_int_equal(ag_to_floats(tensor, values), AG_OK);
    return values;
}

/* `terms`: products in each element's sum; 0: the values must be equal. Releases the pair. */
static void pair_compare(struct pair pair, int64_t terms, const char *what)
{
    float *reference, *host;
    double bound = 16 * sqrt((double)terms) * 0x1p-24 * sqrt((double)terms);

    assert_fine(test.reference);
    assert_fine(test.host);
    assert_int_equal(ag_count(pair.reference), ag_count(pair.host));
    reference = floats_of(pair.reference);
    host = floats_of(pair.host);
    for (int64_t i = 0; i < ag_count(pair.host); i++)
        if (!(fabs((double)reference[i] - (double)host[i]) <= bound))
            fail_msg("%s: element %lld is %.9g, reference %.9g, allowed difference %.3g", what,
                     (long long)i, (double)host[i], (double)reference[i], bound);
    free(reference);
    free(host);
    pair_release(pair);
}

struct conv_case {
    int64_t n, c_in, h, w, c_out, kernel_h, kernel_w, stride, padding;
};

static void conv_check(const struct conv_case *c)
{
    struct pair x = pair_random(SHAPE(c->n, c->c_in, c->h, c->w));
    struct pair w = pair_random(SHAPE(c->c_out, c->c_in, c->kernel_h, c->kernel_w));
    struct pair b = pair_random(SHAPE(c->c_out));
    char what[160];
    struct pair y = {ag_conv2d(x.reference, w.reference, b.reference, c->stride, c->padding),
                     ag_conv2d(x.host, w.host, b.host, c->stride, c->padding)};

    snprintf(what, sizeof(what),
             "conv2d n=%d c_in=%d h=%d w=%d c_out=%d kernel=%dx%d stride=%d padding=%d", (int)c->n,
             (int)c->c_in, (int)c->h, (int)c->w, (int)c->c_out, (int)c->kernel_h, (int)c->kernel_w,
             (int)c->stride, (int)c->padding);
    pair_compare(y, c->c_in * c->kernel_h * c->kernel_w + 1, what);
    pair_release(x);
    pair_release(w);
    pair_release(b);
}

static void conv2d_agrees(void **state)
{
    static const struct conv_case cases[] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 0},      /* nothing but one product */
        {1, 1, 7, 5, 1, 7, 5, 1, 0},      /* kernel = input */
        {1, 3, 9, 13, 5, 2, 3, 5, 0},     /* stride > kernel, not square */
        {2, 1, 8, 8, 3, 3, 3, 1, 2},      /* padding of kernel - 1 */
        {3, 17, 6, 31, 19, 1, 5, 2, 1},   /* channels that fill no vector */
        {1, 16, 5, 5, 16, 3, 3, 7, 3},    /* one place of the output, mostly padding */
        {2, 3, 67, 67, 64, 11, 11, 4, 2}, /* AlexNet's layers, smaller */
        {2, 64, 13, 13, 48, 5, 5, 1, 2},  {1, 96, 7, 7, 32, 3, 3, 1, 1},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        conv_check(&cases[i]);
    for (int i = 0; i < test.random_shapes; i++) {
        struct conv_case c = {.n = random_between(1, 4),
                              .c_in = random_between(1, 20),
                              .h = random_between(1, 24),
                              .w = random_between(1, 24),
                              .c_out = random_between(1, 20),
                              .stride = random_between(1, 5),
                              .padding = random_between(0, 4)};

        c.kernel_h = random_between(1, c.h + 2 * c.padding < 8 ? c.h + 2 * c.padding : 8);
        c.kernel_w = random_between(1, c.w + 2 * c.padding < 8 ? c.w + 2 * c.padding : 8);
        conv_check(&c);
    }
}

static void linear_check(int64_t n, int64_t in, int64_t out)
{
    struct pair x = pair_random(SHAPE(n, in)), w = pair_random(SHAPE(out, in));
    struct pair b = pair_random(SHAPE(out));
    struct pair y = {ag_linear(x.reference, w.reference, b.reference),
                     ag_linear(x.host, w.host, b.host)};
    char what[96];

    snprintf(what, sizeof(what), "linear n=%d in=%d out=%d", (int)n, (int)in, (int)out);
    pair_compare(y, in + 1, what);
    pair_release(x);
    pair_release(w);
    pair_release(b);
}

static void linear_agrees(void **state)
{
    linear_check(1, 1, 1);
    linear_check(1, 4096, 3);
    linear_check(17, 1, 5);
    linear_check(3, 9, 1000);
    linear_check(64, 129, 65);
    for (int i = 0; i < test.random_shapes; i++)
        linear_check(random_between(1, 70), random_between(1, 300), random_between(1, 70));
}

/* c = op(a) op(b), through the backend: the engine itself only asks for one of the four. */
static void gemm_check(const struct ag_gemm *gemm, bool with_bias)
{
    struct pair a = pair_random(SHAPE(gemm->m * gemm->k)),
                b = pair_random(SHAPE(gemm->k * gemm->n));
    struct pair bias = pair_random(SHAPE(gemm->n));
    struct pair c = {ag_zeros(test.reference, SHAPE(gemm->m, gemm->n)),
                     ag_zeros(test.host, SHAPE(gemm->m, gemm->n))};
    struct ag_backend *reference = test.reference->backend, *host = test.host->backend;
    char what[96];

    assert_int_equal(reference->ops->gemm(reference, gemm, ag_value_floats(a.reference->value),
                                          ag_value_floats(b.reference->value),
                                          with_bias ? ag_value_floats(bias.reference->value) : NULL,
                                          ag_value_floats(c.reference->value)),
                     AG_OK);
    assert_int_equal(host->ops->gemm(host, gemm, ag_value_floats(a.host->value),
                                     ag_value_floats(b.host->value),
                                     with_bias ? ag_value_floats(bias.host->value) : NULL,
                                     ag_value_floats(c.host->value)),
                     AG_OK);
    snprintf(what, sizeof(what), "gemm m=%d n=%d k=%d trans %d %d bias %d", (int)gemm->m,
             (int)gemm->n, (int)gemm->k, gemm->trans_a, gemm->trans_b, with_bias);
    pair_compare(c, gemm->k + 1, what);
    pair_release(a);
    pair_release(b);
    pair_release(bias);
}

static void gemm_agrees(void **state)
{
    for (int i = 0; i < test.random_shapes; i++) {
        struct ag_gemm gemm = {.m = random_between(1, 40),
                               .n = random_between(1, 40),
                               .k = random_between(1, 100),
                               .trans_a = i & 1,
                               .trans_b = (i >> 1) & 1};

        gemm_check(&gemm, (i >> 2) & 1);
    }
}

static void compare_indices(const ag_tensor *reference, const ag_tensor *host, const char *what)
{
    size_t bytes = (size_t)ag_count(host) * sizeof(int64_t);
    int64_t *expected = malloc(bytes), *actual = malloc(bytes);
    struct ag_backend *a = test.reference->backend, *b = test.host->backend;

    assert_non_null(expected);
    assert_non_null(actual);
    assert_int_equal(
        a->ops->copy_out(a, expected, ag_value_address(reference->value->grad_fn->saved[1]), bytes),
        AG_OK);
    assert_int_equal(
        b->ops->copy_out(b, actual, ag_value_address(host->value->grad_fn->saved[1]), bytes),
        AG_OK);
    for (int64_t i = 0; i < ag_count(host); i++)
        if (expected[i] != actual[i])
            fail_msg("%s: index %lld is %lld, reference %lld", what, (long long)i,
                     (long long)actual[i], (long long)expected[i]);
    free(expected);
    free(actual);
}

static void max_pool_check(struct pair x, int64_t kernel, int64_t stride, int64_t padding)
{
    struct pair y;
    char what[128];

    snprintf(what, sizeof(what), "max_pool2d c=%d h=%d w=%d kernel=%d stride=%d padding=%d",
             (int)ag_size(x.host, 1), (int)ag_size(x.host, 2), (int)ag_size(x.host, 3), (int)kernel,
             (int)stride, (int)padding);
    ag_set_requires_grad(x.reference, true);
    ag_set_requires_grad(x.host, true);
    y.reference = ag_max_pool2d(x.reference, kernel, stride, padding);
    y.host = ag_max_pool2d(x.host, kernel, stride, padding);
    assert_fine(test.reference);
    assert_fine(test.host);
    compare_indices(y.reference, y.host, what);
    pair_compare(y, 0, what);
    pair_release(x);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void max_pool2d_agrees(void **state)
{
    struct pair ties = {ag_zeros(test.reference, SHAPE(2, 3, 9, 11)),
                        ag_zeros(test.host, SHAPE(2, 3, 9, 11))};

    max_pool_check(ties, 3, 2, 1); /* equal everywhere: the first one */
    max_pool_check(pair_random(SHAPE(1, 1, 1, 1)), 1, 1, 0);
    max_pool_check(pair_random(SHAPE(1, 1, 6, 6)), 6, 1, 0); /* kernel = input */
    max_pool_check(pair_random(SHAPE(2, 5, 9, 14)), 2, 5, 1);
    max_pool_check(pair_random(SHAPE(2, 64, 27, 27)), 3, 2, 0);
    for (int i = 0; i < test.random_shapes; i++) {
        int64_t h = random_between(1, 20), w = random_between(1, 20);
        int64_t kernel = random_between(1, least(h, w));

        max_pool_check(pair_random(SHAPE(random_between(1, 3), random_between(1, 9), h, w)), kernel,
                       random_between(1, 6), random_between(0, kernel / 2));
    }
}

static void adaptive_avg_pool2d_agrees(void **state)
{
    for (int i = 0; i < test.random_shapes; i++) {
        int64_t h = i ? random_between(1, 20) : 6, w = i ? random_between(1, 20) : 6;
        int64_t h_out = i ? random_between(1, 9) : 6, w_out = i ? random_between(1, 9) : 6;
        struct pair x = pair_random(SHAPE(random_between(1, 3), random_between(1, 9), h, w));
        struct pair y = {ag_adaptive_avg_pool2d(x.reference, h_out, w_out),
                         ag_adaptive_avg_pool2d(x.host, h_out, w_out)};
        char what[96];

        snprintf(what, sizeof(what), "adaptive_avg_pool2d %dx%d to %dx%d", (int)h, (int)w,
                 (int)h_out, (int)w_out);
        pair_compare(y, h == h_out && w == w_out ? 0 : 4, what);
        pair_release(x);
    }
}

static void elementwise_agrees(void **state)
{
    static const int64_t counts[] = {1, 2, 3, 15, 16, 17, 1023, 4096, 100003};

    for (size_t i = 0; i < COUNT(counts); i++) {
        struct pair a = pair_random(SHAPE(counts[i])), b = pair_random(SHAPE(counts[i]));
        struct pair one = pair_random(SHAPE(1)), y;

        y = (struct pair){ag_add(a.reference, b.reference), ag_add(a.host, b.host)};
        pair_compare(y, 0, "add");
        y = (struct pair){ag_add(a.reference, one.reference), ag_add(a.host, one.host)};
        pair_compare(y, 0, "add one element behind");
        y = (struct pair){ag_add(one.reference, a.reference), ag_add(one.host, a.host)};
        pair_compare(y, 0, "add one element in front");
        y = (struct pair){ag_dropout(a.reference, 0.3f, true), ag_dropout(a.host, 0.3f, true)};
        pair_compare(y, 0, "dropout");
        y = (struct pair){ag_relu_(a.reference), ag_relu_(a.host)};
        pair_compare(y, 0, "relu_");
        y = (struct pair){ag_randn(test.reference, SHAPE(counts[i])),
                          ag_randn(test.host, SHAPE(counts[i]))};
        pair_compare(y, 64, "randn"); /* sine and logarithm in float32, not in double */
        pair_release(a);
        pair_release(b);
        pair_release(one);
    }
}

static void special_values_agree(void **state)
{
    const float values[] = {NAN, -1, 0, -0.0f, INFINITY, -INFINITY, 1e-40f, 3, NAN, 2, 7, 7};
    float expected[COUNT(values)], actual[COUNT(values)];
    struct pair x = {ag_from_floats(test.reference, SHAPE(1, 1, 3, 4), values),
                     ag_from_floats(test.host, SHAPE(1, 1, 3, 4), values)};
    ag_tensor *a, *b;

    ag_set_requires_grad(x.reference, true);
    ag_set_requires_grad(x.host, true);
    a = ag_max_pool2d(x.reference, 2, 1, 0);
    b = ag_max_pool2d(x.host, 2, 1, 0);
    compare_indices(a, b, "max_pool2d with NaN");
    ag_release(a);
    ag_release(b);
    ag_set_requires_grad(x.reference, false);
    ag_set_requires_grad(x.host, false);
    a = ag_relu_(x.reference);
    b = ag_relu_(x.host);
    assert_int_equal(ag_to_floats(a, expected), AG_OK);
    assert_int_equal(ag_to_floats(b, actual), AG_OK);
    for (size_t i = 0; i < COUNT(values); i++)
        assert_true(expected[i] == actual[i] || (isnan(expected[i]) && isnan(actual[i])));
    ag_release(a);
    ag_release(b);
    pair_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_agrees),
        cmocka_unit_test(linear_agrees),
        cmocka_unit_test(gemm_agrees),
        cmocka_unit_test(max_pool2d_agrees),
        cmocka_unit_test(adaptive_avg_pool2d_agrees),
        cmocka_unit_test(elementwise_agrees),
        cmocka_unit_test(special_values_agree),
    };
    struct ag_options host = {.device = "host", .seed = 1}, reference = host;
    int failed;

    reference.device = "reference";
    if (argc > 1)
        test.random_shapes = atoi(argv[1]);
    if (ag_context_create(&host, &test.host) != AG_OK) {
        printf("no host backend: %s\n", ag_error_text(NULL));
        return TEST_SKIPPED;
    }
    if (ag_context_create(&reference, &test.reference) != AG_OK) {
        fprintf(stderr, "%s\n", ag_error_text(NULL));
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0 && (ag_live_bytes(test.host) || ag_live_bytes(test.reference) ||
                        ag_context_destroy(test.host) || ag_context_destroy(test.reference))) {
        fprintf(stderr, "tensors were left over\n");
        return 1;
    }
    return failed;
}
