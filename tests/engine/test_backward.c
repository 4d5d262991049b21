/* SPDX-License-Identifier: MIT */
/* How backward runs: order, accumulation, what it releases and when, what it refuses. */
#include "tests/engine/backward_test.h"

#include "tests/engine/alexnet_expected.h"

static ag_tensor *leaf_of(ag_context *context, int dims, const int64_t *shape)
{
    ag_tensor *leaf = ag_randn(context, dims, shape);

    assert_fine(context);
    ag_set_requires_grad(leaf, true);
    return leaf;
}

/* A scalar loss of a [n, c] tensor. */
static ag_tensor *loss_of(ag_tensor *logits)
{
    int64_t targets[64] = {0};
    ag_tensor *target = ag_from_ints(logits->value->context, SHAPE(ag_size(logits, 0)), targets);
    ag_tensor *loss = ag_cross_entropy(logits, target);

    ag_release(target);
    return loss;
}

static void assert_floats(const ag_tensor *tensor, const float *expected, float factor)
{
    float *values = floats_of(tensor);

    for (int64_t i = 0; i < ag_count(tensor); i++)
        assert_float_equal(values[i], factor * expected[i], 1e-6);
    free(values);
}

static void gradients_add_up(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = leaf_of(context, SHAPE(3, 4)), *loss;
    float *once;

    for (int i = 1; i <= 3; i++) {
        loss = loss_of(x);
        assert_int_equal(ag_backward(loss, false), AG_OK);
        if (i == 1)
            once = floats_of(ag_grad(x));
        assert_floats(ag_grad(x), once, (float)i);
        ag_release(loss);
    }
    ag_zero_grad(x);
    assert_null(ag_grad(x));
    free(once);
    ag_release(x);
    close_context(context);
}

static void saved_tensors_go_as_backward_passes(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = ag_randn(context, SHAPE(8, 3, 224, 224)), *y = ag_alexnet_forward(net, x);
    ag_tensor *loss = loss_of(y);
    size_t nodes;

    assert_fine(context);
    nodes = ag_live_nodes(context);
    assert_int_equal(ag_backward(loss, false), AG_OK);
    /* the nodes stay as long as the loss; what they saved has gone: parameters, their gradients, x,
     * the logits (held by y) and the loss are left */
    assert_int_equal(ag_live_nodes(context), nodes);
    assert_int_equal(ag_live_bytes(context),
                     2 * EXPECTED_PARAMETER_BYTES + 8 * 3 * 224 * 224 * 4 + 8 * 1000 * 4 + 4);
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++) {
        const ag_tensor *parameter = ag_alexnet_parameter(net, i);

        assert_non_null(ag_grad(parameter));
        assert_int_equal(ag_count(ag_grad(parameter)), ag_count(parameter));
        assert_false(ag_grad(parameter)->value->transposed);
    }
    ag_release(loss);
    ag_release(y);
    assert_int_equal(ag_live_nodes(context), 0);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
}

static void a_second_backward_needs_retain_graph(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = leaf_of(context, SHAPE(3, 4)), *loss = loss_of(x);
    float *once;

    assert_int_equal(ag_backward(loss, true), AG_OK);
    once = floats_of(ag_grad(x));
    assert_int_equal(ag_backward(loss, false), AG_OK);
    assert_floats(ag_grad(x), once, 2);
    assert_int_equal(ag_backward(loss, false), AG_INVALID_ARGUMENT);
    assert_non_null(strstr(ag_error_text(context), "a second time through NllLossBackward0"));
    assert_floats(ag_grad(x), once, 2); /* as it was */
    ag_clear_error(context);
    free(once);
    ag_release(loss);
    ag_release(x);
    close_context(context);
}

/* AddBackward0 saves nothing: PyTorch lets it pass any number of times, and so do we. */
static void nodes_without_saved_tensors_may_run_again(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = leaf_of(context, SHAPE(1)), *y = ag_add(x, x);
    const float two = 2;

    assert_int_equal(ag_backward(y, false), AG_OK);
    assert_int_equal(ag_backward(y, false), AG_OK);
    assert_floats(ag_grad(x), &two, 2);
    ag_release(y);
    ag_release(x);
    close_context(context);
}

static void a_saved_tensor_changed_in_place_is_refused(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *w = leaf_of(context, SHAPE(4, 4)), *b = leaf_of(context, SHAPE(4));
    ag_tensor *x = leaf_of(context, SHAPE(2, 4)), *y = ag_linear(x, w, b), *loss = loss_of(y);
    ag_optimizer *sgd = ag_sgd_create(context, &(struct ag_sgd){.lr = 0.1f}, 1, &w);

    assert_int_equal(ag_backward(loss, true), AG_OK);
    assert_int_equal(ag_optimizer_step(sgd), AG_OK);
    assert_int_equal(ag_backward(loss, true), AG_INVALID_ARGUMENT);
    assert_non_null(
        strstr(ag_error_text(context), "\"mat2\", which it had saved, was changed in place"));
    ag_clear_error(context);
    ag_optimizer_destroy(sgd);
    ag_release(loss);
    ag_release(y);
    ag_release(x);
    ag_release(b);
    ag_release(w);
    close_context(context);
}

static void what_has_no_graph_is_refused(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = leaf_of(context, SHAPE(2, 3)), *y = ag_add(x, x), *detached = ag_detach(y);

    assert_int_equal(ag_backward(y, false), AG_INVALID_ARGUMENT);
    assert_non_null(strstr(ag_error_text(context), "one element is needed, this has 6"));
    ag_clear_error(context);
    assert_int_equal(ag_backward(detached, false), AG_INVALID_ARGUMENT);
    assert_non_null(strstr(ag_error_text(context), "has no graph"));
    ag_clear_error(context);
    assert_int_equal(ag_backward(NULL, false), AG_INVALID_ARGUMENT);
    ag_release(detached);
    ag_release(y);
    ag_release(x);
    close_context(context);
}

static void a_target_outside_the_classes_is_refused(void **state)
{
    static const char *const devices[] = {"reference", "host"};
    struct ag_options options = {.seed = 1};
    const int64_t targets[] = {0, 3};

    for (size_t i = 0; i < COUNT(devices); i++) {
        ag_context *context;
        ag_tensor *x, *target;

        options.device = devices[i];
        if (ag_context_create(&options, &context) != AG_OK)
            continue;
        x = leaf_of(context, SHAPE(2, 3));
        target = ag_from_ints(context, SHAPE(2), targets);
        assert_null(ag_cross_entropy(x, target));
        assert_int_equal(ag_error(context), AG_INVALID_ARGUMENT);
        ag_clear_error(context);
        assert_refused(context, ag_cross_entropy(x, x), "target must be int64");
        ag_release(target);
        ag_release(x);
        close_context(context);
    }
}

/* A hundred thousand nodes one behind the other: no recursion. */
static void long_chains_need_no_stack(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    ag_tensor *x = leaf_of(context, SHAPE(1)), *one = ag_scalar(context, 1), *y = ag_add(x, one);
    const float expected = 1;

    for (int i = 0; i < 100000; i++)
        ag_assign(y, ag_add(y, one));
    assert_int_equal(ag_backward(y, false), AG_OK);
    assert_floats(ag_grad(x), &expected, 1);
    ag_release(y);
    ag_release(one);
    ag_release(x);
    close_context(context);
}

/* --- checkpoint ----------------------------------------------------------------------------------------- */

struct part {
    ag_tensor *w, *b;
    int runs;
};

static ag_tensor *run_part(void *data, ag_tensor *input)
{
    struct part *part = data;
    ag_tensor *h = ag_linear(input, part->w, part->b), *r = ag_relu_(h),
              *d = ag_dropout(r, 0.5f, true);

    part->runs++;
    ag_release(h);
    ag_release(r);
    return d;
}

/* Loss and gradients of two parts in a row, with or without their graphs kept. */
static float train_parts(struct part parts[2], ag_tensor *x, bool checkpoint)
{
    ag_context *context = x->value->context;
    ag_tensor *h, *y, *loss;
    float value;

    context->random_offset = 65536;
    h = checkpoint ? ag_checkpoint(run_part, &parts[0], x) : run_part(&parts[0], x);
    y = checkpoint ? ag_checkpoint(run_part, &parts[1], h) : run_part(&parts[1], h);
    ag_release(h);
    loss = loss_of(y);
    ag_release(y);
    assert_fine(context);
    assert_int_equal(ag_backward(loss, false), AG_OK);
    value = ag_item(loss);
    ag_release(loss);
    return value;
}

static void checkpoint_equals_the_plain_run(void **state)
{
    ag_context *context = open_context("reference", "real", 0);
    struct part parts[2];
    ag_tensor *x = leaf_of(context, SHAPE(8, 6));
    float *expected[3], plain, again;

    for (int i = 0; i < 2; i++)
        parts[i] = (struct part){leaf_of(context, SHAPE(6, 6)), leaf_of(context, SHAPE(6)), 0};
    plain = train_parts(parts, x, false);
    expected[0] = floats_of(ag_grad(x));
    expected[1] = floats_of(ag_grad(parts[0].w));
    expected[2] = floats_of(ag_grad(parts[1].b));
    ag_zero_grad(x);
    for (int i = 0; i < 2; i++) {
        ag_zero_grad(parts[i].w);
        ag_zero_grad(parts[i].b);
        parts[i].runs = 0;
    }
    again = train_parts(parts, x, true);
    assert_float_equal(again, plain, 0);
    assert_int_equal(parts[0].runs, 2);
    assert_int_equal(parts[1].runs, 2);
    assert_floats(ag_grad(x), expected[0], 1);
    assert_floats(ag_grad(parts[0].w), expected[1], 1);
    assert_floats(ag_grad(parts[1].b), expected[2], 1);
    for (int i = 0; i < 3; i++)
        free(expected[i]);
    for (int i = 0; i < 2; i++) {
        ag_release(parts[i].w);
        ag_release(parts[i].b);
    }
    ag_release(x);
    close_context(context);
}

static ag_tensor *forward_net(void *net, ag_tensor *x)
{
    return ag_alexnet_forward(net, x);
}

static void checkpoint_keeps_only_the_input(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = leaf_of(context, SHAPE(8, 3, 224, 224)), *y = ag_checkpoint(forward_net, net, x);

    assert_fine(context);
    assert_int_equal(ag_live_nodes(context), 2); /* the checkpoint and the leaf's AccumulateGrad */
    assert_int_equal(ag_live_bytes(context),
                     EXPECTED_PARAMETER_BYTES + 8 * 3 * 224 * 224 * 4 + 8 * 1000 * 4);
    assert_string_equal(y->value->grad_fn->type->name, "CheckpointFunctionBackward");
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
}

/* --- no memory -------------------------------------------------------------------------------------------- */

/* One training step of AlexNet on a device of so many bytes: it works, or everything is freed again. */
static bool step_within(size_t memory_bytes)
{
    ag_context *context = open_context("reference", "skip", memory_bytes);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = ag_randn(context, SHAPE(8, 3, 224, 224));
    ag_tensor *y = ag_alexnet_forward(net, x), *loss = y ? loss_of(y) : NULL;
    ag_tensor *parameters[AG_ALEXNET_PARAMETERS];
    ag_optimizer *sgd;
    bool ok;

    assert_fine(context);
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        parameters[i] = ag_alexnet_parameter(net, i);
    sgd = ag_sgd_create(context, &(struct ag_sgd){.lr = 0.1f, .momentum = 0.9f},
                        AG_ALEXNET_PARAMETERS, parameters);
    ok = ag_backward(loss, false) == AG_OK && ag_optimizer_step(sgd) == AG_OK;
    if (!ok) {
        assert_int_equal(ag_error(context), AG_OUT_OF_MEMORY);
        assert_non_null(strstr(ag_error_text(context), " refused"));
        ag_clear_error(context);
    }
    ag_optimizer_destroy(sgd);
    ag_release(loss);
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
    return ok;
}

static void refused_memory_in_a_step_leaves_nothing(void **state)
{
    const size_t enough = 800u << 20, forward = 260u << 20;
    int worked = 0, refused = 0;

    for (size_t bytes = forward + (32u << 20); bytes <= enough; bytes += 9999u << 10) {
        if (step_within(bytes))
            worked++;
        else
            refused++;
    }
    assert_true(worked > 0);
    assert_true(refused > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(saved_tensors_go_as_backward_passes),
        cmocka_unit_test(a_second_backward_needs_retain_graph),
        cmocka_unit_test(nodes_without_saved_tensors_may_run_again),
        cmocka_unit_test(a_saved_tensor_changed_in_place_is_refused),
        cmocka_unit_test(what_has_no_graph_is_refused),
        cmocka_unit_test(a_target_outside_the_classes_is_refused),
        cmocka_unit_test(long_chains_need_no_stack),
        cmocka_unit_test(checkpoint_equals_the_plain_run),
        cmocka_unit_test(checkpoint_keeps_only_the_input),
        cmocka_unit_test(refused_memory_in_a_step_leaves_nothing),
    };

    return cmocka_run_group_tests_name("backward", tests, NULL, NULL);
}
