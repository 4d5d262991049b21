/* SPDX-License-Identifier: MIT */
/* The recorded graph: nodes, slots and storages of AlexNet, and how long each part lives. */
#include "tests/engine/engine_test.h"

#include "engine/nn/alexnet.h"
#include "tests/engine/alexnet_expected.h"

static ag_tensor *random_batch(ag_context *context, int64_t batch)
{
    return ag_randn(context, SHAPE(batch, 3, 224, 224));
}

static bool is_op(const struct ag_node *node, const char *op)
{
    return !strcmp(node->type->name, op);
}

/* Every storage has one place in the table, and every place one storage. */
static void note_storage(const void *seen[S_COUNT], enum expected_storage which,
                         const void *storage)
{
    if (!seen[which])
        seen[which] = storage;
    assert_ptr_equal(seen[which], storage);
    for (int i = 0; i < S_COUNT; i++)
        if (i != (int)which)
            assert_ptr_not_equal(seen[i], storage);
}

static void check_node(const struct ag_node *node, const struct expected_node *expected,
                       const void *seen[S_COUNT])
{
    assert_string_equal(node->type->name, expected->op);
    for (int slot = 0; slot < AG_MAX_SAVED; slot++) {
        const struct ag_value *saved = node->saved[slot];

        if (!expected->saved[slot].slot) {
            assert_null(saved);
            continue;
        }
        assert_non_null(saved);
        assert_string_equal(node->type->slots[slot], expected->saved[slot].slot);
        assert_int_equal(saved->storage->size_bytes, expected->saved[slot].storage_bytes);
        note_storage(seen, expected->saved[slot].storage, saved->storage);
    }
}

static void alexnet_graph_equals_pytorchs(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = random_batch(context, EXPECTED_BATCH), *y = ag_alexnet_forward(net, x);
    const void *seen[S_COUNT] = {NULL};
    const struct ag_node *node = y->value->grad_fn;
    int transposes = 0;

    assert_fine(context);
    assert_int_equal(ag_live_nodes(context), EXPECTED_NODES);
    for (size_t i = 0; i < COUNT(expected_nodes); i++) {
        check_node(node, &expected_nodes[i], seen);
        if (is_op(node, "AddmmBackward0")) {
            assert_string_equal(node->input[2]->type->name, "TBackward0");
            assert_string_equal(node->input[2]->input[0]->type->name, "AccumulateGrad");
            transposes++;
        }
        node = node->input[is_op(node, "AddmmBackward0") ? 1 : 0];
    }
    assert_null(node); /* the input requires no gradient */
    assert_int_equal(COUNT(expected_nodes) + (size_t)transposes, 25);
    assert_ptr_equal(seen[S_INPUT], x->value->storage);
    for (int i = S_NONE + 1; i < S_COUNT; i++)
        assert_non_null(seen[i]);
    ag_release(x);
    ag_release(y);
    ag_alexnet_destroy(net);
    close_context(context);
}

static void saved_tensors_know_their_source(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = random_batch(context, 2), *y = ag_alexnet_forward(net, x);
    const struct ag_node *node = y->value->grad_fn;

    assert_fine(context);
    /* what a node saves of its own output must not lead back to it */
    for (; node; node = node->input[is_op(node, "AddmmBackward0") ? 1 : 0]) {
        const struct ag_value *first = node->saved[0], *second = node->saved[1];

        if (is_op(node, "AddmmBackward0")) {
            assert_ptr_equal(first->grad_fn, node->input[1]);
            assert_ptr_equal(second->grad_fn, node->input[2]);
        } else if (is_op(node, "ConvolutionBackward0")) {
            assert_ptr_equal(first->grad_fn, node->input[0]);
            assert_ptr_equal(second->accumulator, node->input[1]); /* a leaf */
            assert_null(second->grad_fn);
        } else if (is_op(node, "MaxPool2DWithIndicesBackward0")) {
            assert_ptr_equal(first->grad_fn, node->input[0]);
            assert_null(second->grad_fn);
        } else if (is_op(node, "ReluBackward0") || is_op(node, "NativeDropoutBackward0")) {
            assert_null(first->grad_fn);
        }
    }
    ag_release(x);
    ag_release(y);
    ag_alexnet_destroy(net);
    close_context(context);
}

static void bytes_of_one_forward(void **state)
{
    const size_t rest = EXPECTED_PARAMETER_BYTES + EXPECTED_INPUT_BYTES;
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x, *y, *detached;

    assert_int_equal(ag_live_bytes(context), EXPECTED_PARAMETER_BYTES);
    x = random_batch(context, EXPECTED_BATCH);
    assert_int_equal(ag_live_bytes(context), rest);
    y = ag_alexnet_forward(net, x);
    assert_int_equal(ag_live_bytes(context), rest + EXPECTED_OUTPUT_BYTES + EXPECTED_GRAPH_BYTES);
    /* detach shares the storage, and the graph goes with the last handle on its output */
    detached = ag_detach(y);
    assert_int_equal(ag_live_bytes(context), rest + EXPECTED_OUTPUT_BYTES + EXPECTED_GRAPH_BYTES);
    assert_false(ag_requires_grad(detached));
    assert_ptr_equal(detached->value->storage, y->value->storage);
    ag_release(y);
    assert_int_equal(ag_live_bytes(context), rest + EXPECTED_OUTPUT_BYTES);
    assert_int_equal(ag_live_nodes(context), 0);
    ag_release(detached);
    ag_release(x);
    ag_alexnet_destroy(net);
    assert_fine(context);
    close_context(context);
}

static void a_sum_keeps_every_graph(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = NULL, *y = NULL, *y_sum = ag_scalar(context, 0);
    const size_t fixed = EXPECTED_PARAMETER_BYTES + EXPECTED_OUTPUT_BYTES;

    for (size_t n = 1; n <= 10; n++) {
        ag_assign(x, random_batch(context, EXPECTED_BATCH));
        ag_assign(y, ag_alexnet_forward(net, x));
        ag_assign(y_sum, ag_add(y_sum, y));
        ag_assign(y, NULL);
        assert_fine(context);
        assert_int_equal(ag_live_nodes(context), 26 * n + EXPECTED_ACCUMULATE_GRAD);
        assert_int_equal(ag_live_bytes(context),
                         fixed + n * (EXPECTED_GRAPH_BYTES + EXPECTED_INPUT_BYTES));
    }
    assert_int_equal(ag_live_bytes(context), 38149278880ull);
    assert_string_equal(y_sum->value->grad_fn->type->name, "AddBackward0");
    assert_int_equal(y_sum->value->grad_fn->inputs, 2);
    ag_assign(y_sum, NULL);
    assert_int_equal(ag_live_nodes(context), 0);
    assert_int_equal(ag_live_bytes(context), EXPECTED_PARAMETER_BYTES + EXPECTED_INPUT_BYTES);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
}

static void no_grad_records_nothing(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = random_batch(context, EXPECTED_BATCH), *y;

    ag_no_grad_begin(context);
    ag_no_grad_begin(context);
    ag_no_grad_end(context); /* pairs nest */
    y = ag_alexnet_forward(net, x);
    ag_no_grad_end(context);
    assert_fine(context);
    assert_int_equal(ag_live_nodes(context), 0);
    assert_false(ag_requires_grad(y));
    assert_int_equal(ag_live_bytes(context),
                     EXPECTED_PARAMETER_BYTES + EXPECTED_INPUT_BYTES + EXPECTED_OUTPUT_BYTES);
    ag_no_grad_end(context); /* one too many */
    assert_refused(context, NULL, "without ag_no_grad_begin");
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
}

static void evaluation_mode_has_no_dropout(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = random_batch(context, 1), *y;

    ag_alexnet_train(net, false);
    y = ag_alexnet_forward(net, x);
    assert_fine(context);
    assert_int_equal(ag_live_nodes(context), EXPECTED_NODES - 2);
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    close_context(context);
}

/* AccumulateGrad: made when first needed, shared by all graphs, gone with the last of them, and the
 * leaf's keeper meanwhile. */
static void a_leaf_and_its_accumulator(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_tensor *x = ag_randn(context, SHAPE(2, 3)), *w = ag_randn(context, SHAPE(4, 3));
    ag_tensor *b = ag_zeros(context, SHAPE(4)), *y, *z;

    ag_set_requires_grad(w, true);
    ag_set_requires_grad(b, true);
    assert_int_equal(ag_live_nodes(context), 0);
    y = ag_linear(x, w, b);
    assert_int_equal(ag_live_nodes(context), 4); /* T, Addmm, two AccumulateGrad */
    assert_ptr_equal(b->value->accumulator, y->value->grad_fn->input[0]);
    z = ag_linear(x, w, b);
    assert_int_equal(ag_live_nodes(context), 6);
    assert_ptr_equal(y->value->grad_fn->input[0], z->value->grad_fn->input[0]);
    /* mat2 is needed for the gradient of x only, which wants none */
    assert_non_null(y->value->grad_fn->saved[0]);
    assert_null(y->value->grad_fn->saved[1]);
    ag_release(y);
    assert_int_equal(ag_live_nodes(context), 4);
    ag_release(b);
    assert_int_equal(ag_live_bytes(context),
                     4 * (2 * 3 + 4 * 3 + 4 + 2 * 4)); /* b is still there */
    ag_release(z);
    assert_int_equal(ag_live_nodes(context), 0);
    assert_null(w->value->accumulator);
    assert_int_equal(ag_live_bytes(context), 4 * (2 * 3 + 4 * 3));
    ag_release(w);
    ag_release(x);
    assert_fine(context);
    close_context(context);
}

static void relu_in_place_takes_over_the_history(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_tensor *w = ag_randn(context, SHAPE(4)), *x, *y, *flat;

    ag_set_requires_grad(w, true);
    assert_refused(context, ag_relu_(w), "a leaf that requires a gradient");
    x = ag_add(w, w);
    y = ag_relu_(x);
    assert_ptr_equal(x->value, y->value); /* the old handle is on the changed tensor too */
    assert_string_equal(x->value->grad_fn->type->name, "ReluBackward0");
    assert_string_equal(x->value->grad_fn->input[0]->type->name, "AddBackward0");
    assert_int_equal(ag_live_bytes(context), 4 * 4 * 2);
    ag_release(x);
    ag_release(y);
    ag_release(w);

    w = ag_randn(context, SHAPE(2, 3, 4));
    ag_set_requires_grad(w, true);
    x = ag_add(w, w);
    flat = ag_flatten(x);
    assert_int_equal(ag_dims(flat), 2);
    assert_int_equal(ag_size(flat, 1), 12);
    assert_ptr_equal(flat->value->storage, x->value->storage);
    assert_refused(context, ag_relu_(flat), "flattened view");
    assert_refused(context, ag_relu_(x), "flattened view");
    ag_release(flat);
    y = ag_relu_(x);
    assert_fine(context);
    ag_release(x);
    ag_release(y);
    ag_release(w);
    close_context(context);
}

static void handles_count(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_tensor *a = ag_zeros(context, SHAPE(8)), *b = ag_retain(a);

    assert_ptr_not_equal(a, b);
    assert_ptr_equal(a->value, b->value);
    ag_release(a);
    assert_int_equal(ag_live_bytes(context), 32);
    assert_int_equal(ag_context_destroy(context), 1); /* told, and the context stays */
    ag_release(b);
    ag_release(NULL);
    assert_int_equal(ag_context_destroy(NULL), 0);
    assert_int_equal(ag_peak_bytes(context), 32);
    close_context(context);
}

/* A million nodes in a row: deleted one after the other, or the stack would overflow. */
static void long_chains_can_be_deleted(void **state)
{
    ag_context *context = open_context("reference", "skip", 0);
    ag_tensor *w = ag_zeros(context, SHAPE(1)), *sum = ag_scalar(context, 0);

    ag_set_requires_grad(w, true);
    for (int i = 0; i < 1000000; i++)
        ag_assign(sum, ag_add(sum, w));
    assert_fine(context);
    assert_int_equal(ag_live_nodes(context), 1000001);
    ag_release(sum);
    assert_int_equal(ag_live_nodes(context), 0);
    ag_release(w);
    close_context(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alexnet_graph_equals_pytorchs),
        cmocka_unit_test(saved_tensors_know_their_source),
        cmocka_unit_test(bytes_of_one_forward),
        cmocka_unit_test(a_sum_keeps_every_graph),
        cmocka_unit_test(no_grad_records_nothing),
        cmocka_unit_test(evaluation_mode_has_no_dropout),
        cmocka_unit_test(a_leaf_and_its_accumulator),
        cmocka_unit_test(relu_in_place_takes_over_the_history),
        cmocka_unit_test(handles_count),
        cmocka_unit_test(long_chains_can_be_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
