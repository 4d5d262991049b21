/* SPDX-License-Identifier: MIT */
/* Tensors that are made from nothing: leaves without history. */
#include "engine/ops/op.h"

ag_tensor *ag_zeros(ag_context *context, int dims, const int64_t *shape)
{
    static const char name[] = "zeros";
    struct ag_backend *backend = context->backend;
    struct ag_value *output;

    ag_op_begin(context, name);
    output = ag_value_new(context, AG_FLOAT32, dims, shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->fill(backend, ag_value_floats(output),
                                               ag_value_count(output), 0.0f));
    return ag_op_end(context, name, output);
}

ag_tensor *ag_randn(ag_context *context, int dims, const int64_t *shape)
{
    static const char name[] = "randn";
    struct ag_backend *backend = context->backend;
    struct ag_value *output;

    ag_op_begin(context, name);
    output = ag_value_new(context, AG_FLOAT32, dims, shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->random_normal(
                                backend, ag_value_floats(output), ag_value_count(output),
                                context->seed, ag_random_take(context, ag_value_count(output))));
    return ag_op_end(context, name, output);
}

ag_tensor *ag_from_floats(ag_context *context, int dims, const int64_t *shape, const float *values)
{
    static const char name[] = "from_floats";
    struct ag_backend *backend = context->backend;
    struct ag_value *output;

    ag_op_begin(context, name);
    output = ag_value_new(context, AG_FLOAT32, dims, shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->copy_in(backend, ag_value_floats(output), values,
                                                  output->storage->size_bytes));
    return ag_op_end(context, name, output);
}

ag_tensor *ag_from_ints(ag_context *context, int dims, const int64_t *shape, const int64_t *values)
{
    static const char name[] = "from_ints";
    struct ag_backend *backend = context->backend;
    struct ag_value *output;

    ag_op_begin(context, name);
    output = ag_value_new(context, AG_INT64, dims, shape, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->copy_in(backend, ag_value_address(output), values,
                                                  output->storage->size_bytes));
    return ag_op_end(context, name, output);
}

ag_tensor *ag_scalar(ag_context *context, float value)
{
    return ag_tensor_wrap(ag_value_scalar(context, value));
}
