/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/ops/op.h"

/* Both gradients are the output's own; a broadcast operand's is added up by the caller. */
static bool ag_add_backward(const struct ag_node *node, struct ag_value *grad,
                            struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    for (int i = 0; i < node->inputs; i++)
        if (ag_op_wants(node, i))
            ret_grads[i] = ag_value_retain(grad);
    return true;
}

static const struct ag_node_type add_type = {.name = "AddBackward0", .backward = ag_add_backward};

/* The operand whose shape the sum has: the one with more elements, the first at a tie; NULL when the
 * shapes do not fit. */
static const struct ag_value *shape_of_sum(const struct ag_value *a, const struct ag_value *b)
{
    int64_t a_count = ag_value_count(a), b_count = ag_value_count(b);

    if (a_count == 1 || b_count == 1)
        return a_count > b_count || (a_count == b_count && a->dims >= b->dims) ? a : b;
    if (a->dims == b->dims && !memcmp(a->shape, b->shape, (size_t)a->dims * sizeof(a->shape[0])))
        return a;
    return NULL;
}

/* A scalar on the host is first spread over the output, so that no memory but the output's is
 * needed. */
static int compute(const struct ag_value *a, const struct ag_value *b,
                   const struct ag_value *output)
{
    struct ag_backend *backend = output->context->backend;
    float *to = ag_value_floats(output);
    int64_t count = ag_value_count(output), a_count = ag_value_count(a),
            b_count = ag_value_count(b);
    const struct ag_value *scalar = !a->storage ? a : !b->storage ? b : NULL;
    int status;

    if (!scalar)
        return backend->ops->add(backend, ag_value_floats(a), a_count, ag_value_floats(b), b_count,
                                 to, count, 1.0f, 1.0f);
    const struct ag_value *tensor = scalar == a ? b : a;

    status = backend->ops->fill(backend, to, count, scalar->scalar);
    if (status != AG_OK)
        return status;
    return backend->ops->add(backend, to, count, ag_value_floats(tensor), count, to, count, 1.0f,
                             1.0f);
}

ag_tensor *ag_add(ag_tensor *a, ag_tensor *b)
{
    const struct ag_value *shape;
    struct ag_value *output;
    ag_context *context;

    if (!a || !b)
        return NULL;
    context = a->value->context;
    if (!a->value->storage && !b->value->storage)
        return ag_scalar(context, a->value->scalar + b->value->scalar);
    shape = shape_of_sum(a->value, b->value);
    if (!shape || a->value->dtype != AG_FLOAT32 || b->value->dtype != AG_FLOAT32) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "add: both must be float32 and have the same shape, or one of them one element");
        return NULL;
    }
    ag_op_begin(context, add_type.name);
    output = ag_value_new(context, AG_FLOAT32, shape->dims, shape->shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, compute(a->value, b->value, output));
    ag_record(&output, &add_type, 2, (struct ag_value *[]){a->value, b->value}, NULL);
    return ag_op_end(context, add_type.name, output);
}
