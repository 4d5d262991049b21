/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

static bool ag_view_backward(const struct ag_node *node, struct ag_value *grad,
                             struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    ret_grads[0] = ag_value_view(grad, node->input_shape[0].dims, node->input_shape[0].sizes);
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type view_type = {.name = "ViewBackward0",
                                              .backward = ag_view_backward};

ag_tensor *ag_flatten(ag_tensor *input)
{
    struct ag_value *value, *view;
    ag_context *context;

    if (!input)
        return NULL;
    value = input->value;
    context = value->context;
    if (!value->storage || value->dims < 2) {
        ag_fail(context, AG_INVALID_ARGUMENT, "flatten: the input must have 2 dimensions or more");
        return NULL;
    }
    if (value->dims == 2)
        return ag_retain(input);
    ag_op_begin(context, view_type.name);
    view = ag_value_view(value, 2,
                         (int64_t[]){value->shape[0], ag_value_count(value) / value->shape[0]});
    ag_record(&view, &view_type, 1, (struct ag_value *[]){value}, NULL);
    if (view && view->grad_fn) {
        view->is_view = true;
        view->storage->recorded_views++;
    }
    return ag_op_end(context, view_type.name, view);
}
