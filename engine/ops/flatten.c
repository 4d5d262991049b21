/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

static const struct ag_node_type view_type = {.name = "ViewBackward0"};

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
