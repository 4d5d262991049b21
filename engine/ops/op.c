/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

#include <gradprof/gradprof.h>

void ag_op_begin(ag_context *context, const char *name)
{
    ag_scope_push(context, GRADPROF_SCOPE_OP, name);
}

void ag_op_leave(ag_context *context, const char *name)
{
    ag_scope_pop(context, name);
}

ag_tensor *ag_op_end(ag_context *context, const char *name, struct ag_value *output)
{
    ag_tensor *tensor = ag_tensor_wrap(output);

    ag_op_leave(context, name);
    return tensor;
}

bool ag_op_real(const struct ag_value *output)
{
    return output && output->context->real;
}

void ag_op_done(struct ag_value **output, int status)
{
    if (ag_done((*output)->context, status))
        return;
    ag_value_release(*output);
    *output = NULL;
}

bool ag_op_wants(const struct ag_node *node, int slot)
{
    return slot < node->inputs && node->input[slot];
}

struct ag_value *ag_op_grad(const struct ag_node *node, int slot, const char *what)
{
    const struct ag_shape *shape = &node->input_shape[slot];

    if (!ag_op_wants(node, slot))
        return NULL;
    return ag_value_new(node->context, AG_FLOAT32, shape->dims, shape->sizes, what);
}

struct ag_value *ag_op_grad_over(const struct ag_node *node, struct ag_value *grad)
{
    if (ag_value_alone(grad))
        return ag_value_retain(grad);
    return ag_op_grad(node, 0, "grad_input");
}

bool ag_op_filled(const struct ag_node *node, struct ag_value *const grads[AG_MAX_INPUTS])
{
    for (int i = 0; i < node->inputs; i++)
        if (node->input[i] && !grads[i])
            return false;
    return true;
}

bool ag_op_check(const ag_tensor *tensor, int dims, const char *what)
{
    const struct ag_value *value = tensor->value;

    if (!value->storage || value->dtype != AG_FLOAT32)
        ag_fail(value->context, AG_INVALID_ARGUMENT, "%s must be a float32 tensor", what);
    else if (dims != AG_ANY_DIMS && value->dims != dims)
        ag_fail(value->context, AG_INVALID_ARGUMENT, "%s must have %d dimensions, not %d", what,
                dims, value->dims);
    else
        return true;
    return false;
}
