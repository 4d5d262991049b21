/* SPDX-License-Identifier: MIT */
/* Random numbers: the generator, the distributions of PyTorch's initialisation, one seed one result. */
#include "tests/engine/engine_test.h"

#include <math.h>

#include "engine/backend/philox.h"
#include "engine/nn/alexnet.h"

/* Known answers of the generator's authors (Random123, kat_vectors). */
static void philox_known_answers(void **state)
{
    static const uint32_t zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    uint32_t words[4], other[4];

    ag_philox_block(0, 0, words);
    assert_memory_equal(words, zeros, sizeof(zeros));
    ag_philox_block(1, 0, other);
    assert_memory_not_equal(words, other, sizeof(words));
    ag_philox_block(0, 1ull << 32, other);
    assert_memory_not_equal(words, other, sizeof(words));
}

struct moments {
    double low, high, mean, variance;
};

static struct moments moments_of(const ag_tensor *tensor)
{
    size_t count = (size_t)ag_count(tensor);
    float *values = malloc(count * sizeof(*values));
    struct moments m = {.low = INFINITY, .high = -INFINITY};
    double sum = 0, squares = 0;

    assert_non_null(values);
    assert_int_equal(ag_to_floats(tensor, values), AG_OK);
    for (size_t i = 0; i < count; i++) {
        double v = (double)values[i];

        m.low = fmin(m.low, v);
        m.high = fmax(m.high, v);
        sum += v;
        squares += v * v;
    }
    free(values);
    m.mean = sum / (double)count;
    m.variance = squares / (double)count - m.mean * m.mean;
    return m;
}

/* Uniform on [-bound, bound): mean 0 with standard error bound / sqrt(3 n), variance bound^2 / 3 with
 * standard error bound^2 * sqrt(4 / 45 n). Six standard errors. */
static void expect_uniform(const ag_tensor *tensor, double bound)
{
    struct moments m = moments_of(tensor);
    double n = (double)ag_count(tensor);

    assert_true(m.low >= -bound * (1 + 1e-6) && m.high <= bound * (1 + 1e-6));
    /* the range is used: (1 - 20/n)^n = e^-20 is the chance to miss the outermost 10/n of it */
    assert_true(m.high > bound * (1 - 40 / n) && m.low < -bound * (1 - 40 / n));
    assert_true(fabs(m.mean) < 6 * bound / sqrt(3 * n));
    assert_true(fabs(m.variance - bound * bound / 3) < 6 * bound * bound * sqrt(4 / (45 * n)));
}

static void initialisation_is_pytorchs(void **state)
{
    static const int64_t fan_in[] = {3 * 11 * 11, 64 * 5 * 5, 192 * 3 * 3, 384 * 3 * 3,
                                     256 * 3 * 3, 9216,       4096,        4096};
    static const char *const names[] = {
        "features.0",  "features.3",   "features.6",   "features.8",
        "features.10", "classifier.1", "classifier.4", "classifier.6",
    };
    ag_context *context = open_context("reference", "real", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    char name[64];

    assert_fine(context);
    for (size_t i = 0; i < COUNT(names); i++) {
        ag_tensor *weight = net->parameters[2 * i], *bias = net->parameters[2 * i + 1];
        double bound = 1 / sqrt((double)fan_in[i]);

        snprintf(name, sizeof(name), "%s.weight", names[i]);
        assert_string_equal(weight->value->name, name);
        snprintf(name, sizeof(name), "%s.bias", names[i]);
        assert_string_equal(bias->value->name, name);
        assert_true(ag_requires_grad(weight) && ag_requires_grad(bias));
        expect_uniform(weight, bound);
        expect_uniform(bias, bound);
    }
    ag_alexnet_destroy(net);
    close_context(context);
}

static void randn_is_normal(void **state)
{
    enum { N = 200001 };
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = ag_randn(context, SHAPE(N));
    struct moments m = moments_of(x);
    static float values[N];
    int beyond = 0;

    assert_true(fabs(m.mean) < 6 / sqrt(N));
    assert_true(fabs(m.variance - 1) < 6 * sqrt(2.0 / N));
    assert_int_equal(ag_to_floats(x, values), AG_OK);
    for (int i = 0; i < N; i++)
        beyond += fabsf(values[i]) > 1.959964f;
    assert_in_range(beyond, N / 20 - 600, N / 20 + 600); /* 5 %, standard deviation 97 */
    ag_release(x);
    close_context(context);
}

static void draw(const char *device, uint64_t seed, int threads, float *ret_values, size_t count)
{
    struct ag_options options = {.device = device, .seed = seed, .threads = threads};
    ag_context *context;
    ag_tensor *skipped, *x, *dropped, *one;

    assert_int_equal(ag_context_create(&options, &context), AG_OK);
    skipped = ag_randn(context, SHAPE(7)); /* the stream goes on behind it, at a multiple of 4 */
    x = ag_randn(context, SHAPE((int64_t)count));
    one = ag_scalar(context, 1);
    ag_assign(x, ag_add(x, one));
    dropped = ag_dropout(x, 0.5f, true);
    assert_fine(context);
    assert_int_equal(ag_to_floats(dropped, ret_values), AG_OK);
    ag_release(skipped);
    ag_release(x);
    ag_release(one);
    ag_release(dropped);
    close_context(context);
}

enum { DRAWN = 100003 };
static float first[DRAWN], second[DRAWN];

static void one_seed_one_result(void **state)
{
    draw("reference", 5, 1, first, DRAWN);
    draw("reference", 5, 2, second, DRAWN);
    assert_memory_equal(first, second, sizeof(first));
    draw("reference", 6, 1, second, DRAWN);
    assert_memory_not_equal(first, second, sizeof(first));
}

static bool have_host(void)
{
    struct ag_options options = {.device = "host", .compute = "skip"};
    ag_context *context;

    if (ag_context_create(&options, &context) != AG_OK)
        return false;
    ag_context_destroy(context);
    return true;
}

static void the_host_draws_the_same_on_any_number_of_threads(void **state)
{
    if (!have_host()) {
        print_message("no host backend: %s\n", ag_error_text(NULL));
        skip();
    }
    draw("host", 5, 1, first, DRAWN);
    for (int threads = 2; threads <= 5; threads++) {
        draw("host", 5, threads, second, DRAWN);
        assert_memory_equal(first, second, sizeof(first));
    }
}

static void draws_never_overlap(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *a = ag_randn(context, SHAPE(6)), *b = ag_randn(context, SHAPE(6));
    float x[6], y[6];

    assert_int_equal(context->random_offset, 16);
    assert_int_equal(ag_to_floats(a, x), AG_OK);
    assert_int_equal(ag_to_floats(b, y), AG_OK);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            assert_true(x[i] != y[k]);
    ag_release(a);
    ag_release(b);
    close_context(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(initialisation_is_pytorchs),
        cmocka_unit_test(randn_is_normal),
        cmocka_unit_test(one_seed_one_result),
        cmocka_unit_test(the_host_draws_the_same_on_any_number_of_threads),
        cmocka_unit_test(draws_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
