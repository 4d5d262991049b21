/* SPDX-License-Identifier: MIT */
/* Recomputation: the part's graph exists only while backward passes it. */
#include "engine/core/backward.h"
#include "engine/ops/op.h"

/* The part's output again, with its graph, from a leaf on the saved input. */
static ag_tensor *ag_recompute(const struct ag_node *node, ag_tensor *leaf)
{
    ag_context *context = node->context;
    const uint64_t random_offset = context->random_offset;
    const int no_grad_depth = context->no_grad_depth;
    ag_tensor *output;

    context->random_offset = node->attributes.checkpoint.random_offset;
    context->no_grad_depth = 0;
    output = node->attributes.checkpoint.run(node->attributes.checkpoint.data, leaf);
    context->no_grad_depth = no_grad_depth;
    context->random_offset = random_offset;
    return output;
}

/* The leaf's gradient, which it gives up. */
static struct ag_value *take_gradient(ag_tensor *leaf)
{
    struct ag_value *grad = leaf->value->grad ? ag_value_retain(leaf->value->grad->value) : NULL;

    ag_zero_grad(leaf);
    return grad;
}

static bool ag_checkpoint_backward(const struct ag_node *node, struct ag_value *grad,
                                   struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    const struct ag_value *input = node->saved[0];
    ag_tensor *leaf = ag_tensor_wrap(ag_value_view(input, input->dims, input->shape)), *output;

    if (!leaf)
        return false;
    leaf->value->leaf_requires_grad = true;
    output = ag_recompute(node, leaf);
    if (output && output->value->grad_fn && ag_backward_run(output->value, grad, false))
        ret_grads[0] = take_gradient(leaf);
    if (ag_error(node->context) == AG_OK && !ret_grads[0])
        ag_fail(node->context, AG_INVALID_ARGUMENT,
                "checkpoint: the part's output does not depend on its input");
    ag_release(output);
    ag_release(leaf);
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type checkpoint_type = {
    .name = "CheckpointFunctionBackward",
    .slots = {"input"},
    .backward = ag_checkpoint_backward,
};

/* A value of the output's own: the part may return its input, or something that it keeps. */
static struct ag_value *ag_own_value(ag_tensor *output)
{
    struct ag_value *value =
        output ? ag_value_view(output->value, output->value->dims, output->value->shape) : NULL;

    ag_release(output);
    return value;
}

ag_tensor *ag_checkpoint(ag_segment_fn *run, void *data, ag_tensor *input)
{
    struct ag_value *output;
    struct ag_node *node;
    uint64_t random_offset;
    ag_context *context;

    if (!input || !ag_op_check(input, AG_ANY_DIMS, "checkpoint: the input"))
        return NULL;
    context = input->value->context;
    random_offset = context->random_offset;
    ag_no_grad_begin(context);
    output = ag_own_value(run(data, input));
    ag_no_grad_end(context);
    ag_op_begin(context, checkpoint_type.name);
    node = ag_record(&output, &checkpoint_type, 1, (struct ag_value *[]){input->value},
                     (struct ag_value *[AG_MAX_SAVED]){input->value});
    if (node) {
        node->attributes.checkpoint.run = run;
        node->attributes.checkpoint.data = data;
        node->attributes.checkpoint.random_offset = random_offset;
    }
    return ag_op_end(context, checkpoint_type.name, output);
}
