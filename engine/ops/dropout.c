/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

static bool ag_dropout_backward(const struct ag_node *node, struct ag_value *grad,
                                struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;

    ret_grads[0] = ag_op_grad_over(node, grad);
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0], backend->ops->dropout_backward(backend, ag_value_floats(grad),
                                                                 ag_value_address(node->saved[0]),
                                                                 ag_value_floats(ret_grads[0]),
                                                                 ag_value_count(grad),
                                                                 node->attributes.dropout.p));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type dropout_type = {
    .name = "NativeDropoutBackward0",
    .slots = {"result1"}, /* the mask */
    .backward = ag_dropout_backward,
};

static struct ag_value *ag_mask_new(ag_context *context, struct ag_value **output)
{
    struct ag_value *mask;

    if (!*output)
        return NULL;
    mask = ag_value_new(context, AG_BOOL, (*output)->dims, (*output)->shape, "mask");
    if (!mask) {
        ag_value_release(*output);
        *output = NULL;
    }
    return mask;
}

ag_tensor *ag_dropout(ag_tensor *input, float p, bool training)
{
    struct ag_backend *backend;
    struct ag_value *output, *mask, *value;
    struct ag_node *node;
    ag_context *context;

    if (!input || !ag_op_check(input, AG_ANY_DIMS, "dropout: the input"))
        return NULL;
    value = input->value;
    context = value->context;
    backend = context->backend;
    if (!(p >= 0.0f && p < 1.0f)) {
        ag_fail(context, AG_INVALID_ARGUMENT, "dropout: p must be 0 or more and less than 1");
        return NULL;
    }
    if (!training)
        return ag_retain(input);

    ag_op_begin(context, dropout_type.name);
    output = ag_value_new(context, AG_FLOAT32, value->dims, value->shape, "output");
    mask = ag_mask_new(context, &output);
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->dropout_forward(
                                backend, ag_value_floats(value), ag_value_floats(output),
                                ag_value_address(mask), ag_value_count(value), p, context->seed,
                                ag_random_take(context, ag_value_count(value))));
    node = ag_record(&output, &dropout_type, 1, (struct ag_value *[]){value},
                     (struct ag_value *[AG_MAX_SAVED]){mask});
    if (node)
        node->attributes.dropout.p = p;
    ag_value_release(mask);
    return ag_op_end(context, dropout_type.name, output);
}
