/* SPDX-License-Identifier: MIT */
/*
 * Gradients: each operation of the reference backend against central differences, then the host
 * backend against the reference on odd and on random shapes. `test_gradients [SHAPES]` sets how many
 * random shapes each operation gets.
 *
 * Central differences. With L = sum of w[i] y[i] for random weights w, dL/dx = (L(x+h) - L(x-h)) / 2h
 * up to h^2/6 of the third derivative. y is rounded to float32, 6e-8 of its size, which h = 1/64 turns
 * into 4e-6 for each of the y that x takes part in. The operations are linear, or linear on both sides of
 * kinks that the inputs keep away from, except log_softmax (third derivative below 1: 4e-5): 1e-3 of the
 * gradient's size is allowed, and a wrong index, sign or factor is far off that.
 *
 * Host against reference: as in test_backends.c, 16 sqrt(k) 2^-24 sqrt(k) for a sum of k products.
 */
#include "tests/engine/backward_test.h"

static struct {
    ag_context *reference, *host;
    int random_shapes;
} test = {.random_shapes = 25};

/* --- operations --------------------------------------------------------------------------------- */

static ag_tensor *run_conv(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_conv2d(leaves[0], leaves[1], leaves[2], o->stride, o->padding);
}

static ag_tensor *run_linear(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_linear(leaves[0], leaves[1], leaves[2]);
}

static ag_tensor *run_max_pool(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_max_pool2d(leaves[0], o->kernel, o->stride, o->padding);
}

static ag_tensor *run_average_pool(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_adaptive_avg_pool2d(leaves[0], o->kernel, o->stride);
}

static ag_tensor *run_add(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_add(leaves[0], leaves[1]);
}

/* In place needs something that is no leaf: a sum with nothing. */
static ag_tensor *run_relu(const struct operation *o, ag_tensor *const *leaves)
{
    ag_tensor *zero = ag_scalar(leaves[0]->value->context, 0), *sum = ag_add(leaves[0], zero);
    ag_tensor *y = ag_relu_(sum);

    ag_release(sum);
    ag_release(zero);
    return y;
}

static ag_tensor *run_flatten(const struct operation *o, ag_tensor *const *leaves)
{
    return ag_flatten(leaves[0]);
}

/* The same mask each time. */
static ag_tensor *run_dropout(const struct operation *o, ag_tensor *const *leaves)
{
    leaves[0]->value->context->random_offset = 4096;
    return ag_dropout(leaves[0], 0.3f, true);
}

static ag_tensor *run_cross_entropy(const struct operation *o, ag_tensor *const *leaves)
{
    int64_t rows = o->leaf[0].shape[0], columns = o->leaf[0].shape[1], targets[64];
    ag_tensor *target, *loss;

    for (int64_t i = 0; i < rows; i++)
        targets[i] = (3 * i + 1) % columns;
    target = ag_from_ints(leaves[0]->value->context, SHAPE(rows), targets);
    loss = ag_cross_entropy(leaves[0], target);
    ag_release(target);
    return loss;
}

/* Two users of one tensor, one of them through a sum with itself. */
static ag_tensor *run_shared(const struct operation *o, ag_tensor *const *leaves)
{
    ag_tensor *twice = ag_add(leaves[0], leaves[0]), *thrice = ag_add(twice, leaves[0]);

    ag_release(twice);
    return thrice;
}

static ag_tensor *segment(void *data, ag_tensor *input)
{
    ag_tensor *dropped = ag_dropout(input, 0.5f, true), *sum = ag_add(dropped, input);

    ag_release(dropped);
    return sum;
}

static ag_tensor *run_checkpoint(const struct operation *o, ag_tensor *const *leaves)
{
    leaves[0]->value->context->random_offset = 8192;
    return ag_checkpoint(segment, NULL, leaves[0]);
}

#define L(...)                                                                                     \
    {                                                                                              \
        (int)COUNT(((int64_t[]){__VA_ARGS__})), {__VA_ARGS__}, false                               \
    }
#define DATA(...)                                                                                  \
    {                                                                                              \
        (int)COUNT(((int64_t[]){__VA_ARGS__})), {__VA_ARGS__}, true                                \
    }

static const struct operation operations[] = {
    {"conv2d", 3, {L(2, 3, 6, 5), L(4, 3, 3, 2), L(4)}, .stride = 1, .padding = 1, .run = run_conv},
    {"conv2d, one product", 3, {L(1, 1, 1, 1), L(1, 1, 1, 1), L(1)}, .stride = 1, .run = run_conv},
    {"conv2d, kernel = input",
     3,
     {L(1, 1, 7, 5), L(1, 1, 7, 5), L(1)},
     .stride = 1,
     .run = run_conv},
    {"conv2d, stride > kernel",
     3,
     {L(1, 3, 9, 13), L(5, 3, 2, 3), L(5)},
     .stride = 5,
     .run = run_conv},
    {"conv2d, mostly padding",
     3,
     {L(1, 2, 5, 5), L(3, 2, 3, 3), L(3)},
     .stride = 4,
     .padding = 3,
     .run = run_conv},
    {"conv2d, input is data",
     3,
     {DATA(2, 2, 5, 5), L(3, 2, 3, 3), L(3)},
     .stride = 2,
     .padding = 1,
     .run = run_conv},
    {"conv2d, frozen weight",
     3,
     {L(2, 2, 5, 5), DATA(3, 2, 3, 3), DATA(3)},
     .stride = 2,
     .padding = 1,
     .run = run_conv},
    {"linear", 3, {L(3, 4), L(5, 4), L(5)}, .run = run_linear},
    {"linear, one", 3, {L(1, 1), L(1, 1), L(1)}, .run = run_linear},
    {"linear, input is data", 3, {DATA(3, 4), L(5, 4), L(5)}, .run = run_linear},
    {"linear, frozen weight", 3, {L(3, 4), DATA(5, 4), L(5)}, .run = run_linear},
    {"max_pool2d",
     1,
     {L(2, 2, 7, 6)},
     .kernel = 3,
     .stride = 2,
     .distinct = true,
     .run = run_max_pool},
    {"max_pool2d, overlapping",
     1,
     {L(1, 1, 6, 6)},
     .kernel = 4,
     .stride = 1,
     .padding = 2,
     .distinct = true,
     .run = run_max_pool},
    {"max_pool2d, one window",
     1,
     {L(1, 1, 3, 3)},
     .kernel = 3,
     .stride = 1,
     .distinct = true,
     .run = run_max_pool},
    {"adaptive_avg_pool2d", 1, {L(2, 2, 7, 5)}, .kernel = 3, .stride = 2, .run = run_average_pool},
    {"adaptive_avg_pool2d, larger",
     1,
     {L(1, 1, 3, 2)},
     .kernel = 5,
     .stride = 4,
     .run = run_average_pool},
    {"add", 2, {L(2, 3), L(2, 3)}, .run = run_add},
    {"add, first broadcast", 2, {L(1), L(2, 3, 4)}, .run = run_add},
    {"add, second broadcast", 2, {L(5, 2), L(1, 1)}, .run = run_add},
    {"add, shared", 1, {L(4, 3)}, .run = run_shared},
    {"relu_", 1, {L(3, 7)}, .distinct = true, .run = run_relu},
    {"flatten", 1, {L(2, 3, 2, 2)}, .run = run_flatten},
    {"dropout", 1, {L(6, 7)}, .run = run_dropout},
    {"cross_entropy", 1, {L(5, 4)}, .run = run_cross_entropy},
    {"cross_entropy, one row", 1, {L(1, 9)}, .run = run_cross_entropy},
    {"checkpoint", 1, {L(4, 5)}, .run = run_checkpoint},
};

/* --- against central differences --------------------------------------------------------------------- */

/* sum of w[i] y[i] for the leaves' present values, without a graph */
static double weighted(const struct operation *o, ag_tensor *const *leaves, const float *w)
{
    ag_context *context = leaves[0]->value->context;
    double sum = 0;
    ag_tensor *y;
    float *values;

    ag_no_grad_begin(context);
    y = o->run(o, leaves);
    ag_no_grad_end(context);
    assert_fine(context);
    values = floats_of(y);
    for (int64_t i = 0; i < ag_count(y); i++)
        sum += (double)w[i] * (double)values[i];
    free(values);
    ag_release(y);
    return sum;
}

static void set_element(ag_tensor *leaf, int64_t i, float value)
{
    ag_value_floats(leaf->value)[i] = value; /* the reference's device memory is the host's */
}

static void check_leaf(const struct operation *o, ag_tensor *const *leaves, int which,
                       const float *w)
{
    const float h = 0x1p-6f;
    float *values = floats_of(leaves[which]), *grad = floats_of(ag_grad(leaves[which]));

    for (int64_t i = 0; i < ag_count(leaves[which]); i++) {
        double above, below, expected;

        set_element(leaves[which], i, values[i] + h);
        above = weighted(o, leaves, w);
        set_element(leaves[which], i, values[i] - h);
        below = weighted(o, leaves, w);
        set_element(leaves[which], i, values[i]);
        expected = (above - below) / (2.0 * (double)h);
        if (!(fabs(expected - (double)grad[i]) <= 1e-3 * (1 + fabs(expected))))
            fail_msg("%s: gradient %lld of leaf %d is %.6g, central difference %.6g", o->name,
                     (long long)i, which, (double)grad[i], expected);
    }
    free(values);
    free(grad);
}

/* Run `o` on new leaves and backward from it with the gradient `w` (made here if NULL). */
static ag_tensor *forward_and_backward(ag_context *context, const struct operation *o,
                                       float *const values[MAX_LEAVES],
                                       ag_tensor *leaves[MAX_LEAVES], float **w)
{
    ag_tensor *y, *grad;

    for (int i = 0; i < o->leaves; i++)
        leaves[i] = leaf_from(context, o, i, values[i]);
    y = o->run(o, leaves);
    assert_fine(context);
    if (!*w)
        *w = random_floats(ag_count(y), false);
    grad = ag_from_floats(context, y->value->dims, y->value->shape, *w);
    if (!ag_backward_run(y->value, grad->value, false))
        fail_msg("%s: %s", o->name, ag_error_text(context));
    ag_release(grad);
    return y;
}

static void release_all(const struct operation *o, ag_tensor *leaves[MAX_LEAVES])
{
    for (int i = 0; i < o->leaves; i++)
        ag_release(leaves[i]);
}

static void gradients_equal_central_differences(void **state)
{
    for (size_t k = 0; k < COUNT(operations); k++) {
        const struct operation *o = &operations[k];
        float *values[MAX_LEAVES] = {NULL}, *w = NULL;
        ag_tensor *leaves[MAX_LEAVES], *y;

        for (int i = 0; i < o->leaves; i++)
            values[i] = random_floats(count_of(o->leaf[i].dims, o->leaf[i].shape), o->distinct);
        y = forward_and_backward(test.reference, o, values, leaves, &w);
        ag_release(y);
        for (int i = 0; i < o->leaves; i++) {
            if (o->leaf[i].data)
                assert_null(ag_grad(leaves[i]));
            else
                check_leaf(o, leaves, i, w);
            free(values[i]);
        }
        free(w);
        release_all(o, leaves);
        assert_int_equal(ag_live_bytes(test.reference), 0);
        assert_int_equal(ag_live_nodes(test.reference), 0);
    }
}

/* --- host against reference ----------------------------------------------------------------------------- */

/* Products in the longest sum of a gradient: over the output for each leaf of a convolution or product. */
static int64_t terms_of(const ag_tensor *y, const ag_tensor *leaf)
{
    int64_t y_count = ag_count(y), count = ag_count(leaf);

    return 1 + (y_count > count ? y_count : count);
}

static void compare_leaf(const struct operation *o, int which, const ag_tensor *reference,
                         const ag_tensor *host, int64_t terms)
{
    double bound = 16 * 0x1p-24 * (double)terms;
    float *expected = floats_of(ag_grad(reference)), *actual = floats_of(ag_grad(host));

    for (int64_t i = 0; i < ag_count(host); i++)
        if (!(fabs((double)expected[i] - (double)actual[i]) <= bound))
            fail_msg(
                "%s [%lld, %lld, %lld, %lld] kernel %lld stride %lld padding %lld: gradient %lld "
                "of leaf %d is %.9g, reference %.9g, allowed difference %.3g",
                o->name, (long long)o->leaf[0].shape[0], (long long)o->leaf[0].shape[1],
                (long long)o->leaf[0].shape[2], (long long)o->leaf[0].shape[3],
                (long long)o->kernel, (long long)o->stride, (long long)o->padding, (long long)i,
                which, (double)actual[i], (double)expected[i], bound);
    free(expected);
    free(actual);
}

static void compare(const struct operation *o)
{
    ag_tensor *reference[MAX_LEAVES], *host[MAX_LEAVES], *expected, *actual;
    float *values[MAX_LEAVES], *w = NULL;

    for (int i = 0; i < o->leaves; i++)
        values[i] = random_floats(count_of(o->leaf[i].dims, o->leaf[i].shape), o->distinct);
    expected = forward_and_backward(test.reference, o, values, reference, &w);
    actual = forward_and_backward(test.host, o, values, host, &w);
    for (int i = 0; i < o->leaves; i++) {
        if (!o->leaf[i].data)
            compare_leaf(o, i, reference[i], host[i], terms_of(actual, host[i]));
        free(values[i]);
    }
    free(w);
    ag_release(expected);
    ag_release(actual);
    release_all(o, reference);
    release_all(o, host);
    assert_int_equal(ag_live_bytes(test.host), 0);
}

static void host_equals_reference(void **state)
{
    for (size_t k = 0; k < COUNT(operations); k++)
        compare(&operations[k]);
}

static void host_equals_reference_on_alexnets_layers(void **state)
{
    static const struct operation layers[] = {
        {"conv2d",
         3,
         {L(3, 3, 67, 67), L(64, 3, 11, 11), L(64)},
         .stride = 4,
         .padding = 2,
         .run = run_conv},
        {"conv2d",
         3,
         {L(2, 64, 13, 13), L(48, 64, 5, 5), L(48)},
         .stride = 1,
         .padding = 2,
         .run = run_conv},
        {"conv2d",
         3,
         {L(2, 96, 7, 7), L(32, 96, 3, 3), L(32)},
         .stride = 1,
         .padding = 1,
         .run = run_conv},
        /* several chunks of the host's workspace, the last one shorter */
        {"conv2d",
         3,
         {L(5, 8, 400, 350), L(2, 8, 3, 3), L(2)},
         .stride = 7,
         .padding = 2,
         .run = run_conv},
        {"max_pool2d", 1, {L(3, 17, 27, 27)}, .kernel = 3, .stride = 2, .run = run_max_pool},
    };

    for (size_t k = 0; k < COUNT(layers); k++)
        compare(&layers[k]);
}

static void random_conv(struct operation *o)
{
    int64_t c_in = random_between(1, 20), h = random_between(1, 16), w = random_between(1, 16);
    int64_t c_out = random_between(1, 20), kernel_h, kernel_w;

    o->padding = random_between(0, 3);
    o->stride = random_between(1, 4);
    kernel_h = random_between(1, h + 2 * o->padding < 6 ? h + 2 * o->padding : 6);
    kernel_w = random_between(1, w + 2 * o->padding < 6 ? w + 2 * o->padding : 6);
    *o = (struct operation){
        "conv2d, random",
        3,
        {L(random_between(1, 4), c_in, h, w), L(c_out, c_in, kernel_h, kernel_w), L(c_out)},
        .stride = o->stride,
        .padding = o->padding,
        .run = run_conv};
}

static void random_pool(struct operation *o)
{
    int64_t h = random_between(2, 30), w = random_between(2, 30), kernel = random_between(1, 5);

    kernel = kernel < h ? kernel : h;
    kernel = kernel < w ? kernel : w;
    *o = (struct operation){"max_pool2d, random",
                            1,
                            {L(random_between(1, 3), random_between(1, 9), h, w)},
                            .kernel = kernel,
                            .stride = random_between(1, 4),
                            .padding = random_between(0, kernel / 2),
                            .run = run_max_pool};
}

static void host_equals_reference_on_random_shapes(void **state)
{
    struct operation o = {.name = NULL};

    for (int i = 0; i < test.random_shapes; i++) {
        int64_t in = random_between(1, 300), out = random_between(1, 70);

        random_conv(&o);
        compare(&o);
        random_pool(&o);
        compare(&o);
        o = (struct operation){"linear, random",
                               3,
                               {L(random_between(1, 70), in), L(out, in), L(out)},
                               .run = run_linear};
        compare(&o);
        o = (struct operation){"cross_entropy, random",
                               1,
                               {L(random_between(1, 64), random_between(1, 200))},
                               .run = run_cross_entropy};
        compare(&o);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest reference_tests[] = {
        cmocka_unit_test(gradients_equal_central_differences),
    };
    const struct CMUnitTest host_tests[] = {
        cmocka_unit_test(host_equals_reference),
        cmocka_unit_test(host_equals_reference_on_alexnets_layers),
        cmocka_unit_test(host_equals_reference_on_random_shapes),
    };
    struct ag_options options = {.device = "host", .seed = 1};
    int failed;

    if (argc > 1)
        test.random_shapes = atoi(argv[1]);
    test.reference = open_context("reference", "real", 0);
    failed = cmocka_run_group_tests_name("central differences", reference_tests, NULL, NULL);
    if (ag_context_create(&options, &test.host) == AG_OK) {
        failed += cmocka_run_group_tests_name("host", host_tests, NULL, NULL);
        close_context(test.host);
    } else {
        printf("no host backend here: %s\n", ag_error_text(NULL));
    }
    close_context(test.reference);
    return failed;
}
