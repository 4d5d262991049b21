/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

static bool ag_relu_backward(const struct ag_node *node, struct ag_value *grad,
                             struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;

    ret_grads[0] = ag_op_grad_over(node, grad);
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0],
                   backend->ops->relu_backward(backend, ag_value_floats(node->saved[0]),
                                               ag_value_floats(grad), ag_value_floats(ret_grads[0]),
                                               ag_value_count(grad)));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type relu_type = {
    .name = "ReluBackward0",
    .slots = {"result"},
    .backward = ag_relu_backward,
};

static bool may_change_in_place(struct ag_value *value)
{
    ag_context *context = value->context;

    if (!ag_records(context, 1, &value))
        return true;
    if (!value->grad_fn) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "relu_: a leaf that requires a gradient cannot be changed in place");
        return false;
    }
    if (value->storage->recorded_views > 0) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "relu_: a tensor with a flattened view in the graph cannot be changed in place");
        return false;
    }
    return true;
}

ag_tensor *ag_relu_(ag_tensor *input)
{
    struct ag_backend *backend;
    struct ag_value *value;
    ag_context *context;

    if (!input || !ag_op_check(input, AG_ANY_DIMS, "relu_: the input") ||
        !may_change_in_place(input->value))
        return NULL;
    context = input->value->context;
    backend = context->backend;
    ag_op_begin(context, relu_type.name);
    value = ag_value_retain(input->value);
    ag_value_changed(value);
    if (ag_op_real(value))
        ag_op_done(&value,
                   backend->ops->relu_forward(backend, ag_value_floats(value),
                                              ag_value_floats(value), ag_value_count(value)));
    ag_record(&value, &relu_type, 1, (struct ag_value *[]){input->value},
              (struct ag_value *[AG_MAX_SAVED]){value});
    return ag_op_end(context, relu_type.name, value);
}
