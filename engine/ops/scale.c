/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

/* y = factor * x, for the operation and for its gradient */
static int multiply(const struct ag_value *x, float factor, struct ag_value *y)
{
    struct ag_backend *backend = x->context->backend;
    int64_t count = ag_value_count(x);

    return backend->ops->add(backend, ag_value_floats(x), count, ag_value_floats(x), count,
                             ag_value_floats(y), count, factor, 0.0f);
}

static bool ag_scale_backward(const struct ag_node *node, struct ag_value *grad,
                              struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    ret_grads[0] = ag_op_grad_over(node, grad);
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0], multiply(grad, node->attributes.scale.factor, ret_grads[0]));
    return ag_op_filled(node, ret_grads);
}

/* PyTorch saves the factor as a scalar on the host: no device memory, no slot. */
static const struct ag_node_type scale_type = {.name = "MulBackward0",
                                               .backward = ag_scale_backward};

ag_tensor *ag_scale(ag_tensor *a, float factor)
{
    struct ag_value *output;
    struct ag_node *node;
    ag_context *context;

    if (!a || !ag_op_check(a, AG_ANY_DIMS, "scale: the input"))
        return NULL;
    context = a->value->context;
    ag_op_begin(context, scale_type.name);
    output = ag_value_new(context, AG_FLOAT32, a->value->dims, a->value->shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, multiply(a->value, factor, output));
    node = ag_record(&output, &scale_type, 1, (struct ag_value *[]){a->value}, NULL);
    if (node)
        node->attributes.scale.factor = factor;
    return ag_op_end(context, scale_type.name, output);
}
