/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

static bool ag_max_backward(const struct ag_node *node, struct ag_value *grad,
                            struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;

    ret_grads[0] = ag_op_grad(node, 0, "grad_input");
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0],
                   backend->ops->max_pool2d_backward(
                       backend, &node->attributes.pool, ag_value_floats(grad),
                       ag_value_address(node->saved[1]), ag_value_floats(ret_grads[0])));
    return ag_op_filled(node, ret_grads);
}

static bool ag_average_backward(const struct ag_node *node, struct ag_value *grad,
                                struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;

    ret_grads[0] = ag_op_grad(node, 0, "grad_input");
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0], backend->ops->adaptive_avg_pool2d_backward(
                                      backend, &node->attributes.pool, ag_value_floats(grad),
                                      ag_value_floats(ret_grads[0])));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type max_pool_type = {
    .name = "MaxPool2DWithIndicesBackward0",
    .slots = {"self", "result1"}, /* result1: the indices */
    .backward = ag_max_backward,
};

static const struct ag_node_type average_pool_type = {
    .name = "AdaptiveAvgPool2DBackward0",
    .slots = {"self"},
    .backward = ag_average_backward,
};

static bool describe_max(const ag_tensor *input, int64_t kernel, int64_t stride, int64_t padding,
                         struct ag_pool2d *ret_pool)
{
    ag_context *context = input->value->context;
    const int64_t *in = input->value->shape;

    if (!ag_op_check(input, 4, "max_pool2d: the input"))
        return false;
    if (kernel < 1 || stride < 1 || padding < 0 || padding > kernel / 2) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "max_pool2d: kernel and stride must be 1 or more, padding 0 to half the kernel");
        return false;
    }
    if (kernel > in[2] + 2 * padding || kernel > in[3] + 2 * padding) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "max_pool2d: a kernel of %lld is larger than the padded input of %lld x %lld",
                (long long)kernel, (long long)(in[2] + 2 * padding),
                (long long)(in[3] + 2 * padding));
        return false;
    }
    *ret_pool = (struct ag_pool2d){
        .n = in[0],
        .c = in[1],
        .h_in = in[2],
        .w_in = in[3],
        .h_out = (in[2] + 2 * padding - kernel) / stride + 1,
        .w_out = (in[3] + 2 * padding - kernel) / stride + 1,
        .kernel_h = kernel,
        .kernel_w = kernel,
        .stride_h = stride,
        .stride_w = stride,
        .pad_h = padding,
        .pad_w = padding,
    };
    return true;
}

ag_tensor *ag_max_pool2d(ag_tensor *input, int64_t kernel, int64_t stride, int64_t padding)
{
    struct ag_backend *backend;
    struct ag_value *output, *indices = NULL;
    struct ag_pool2d pool;
    struct ag_node *node;
    ag_context *context;

    if (!input || !describe_max(input, kernel, stride, padding, &pool))
        return NULL;
    context = input->value->context;
    backend = context->backend;
    int64_t shape[] = {pool.n, pool.c, pool.h_out, pool.w_out};

    ag_op_begin(context, max_pool_type.name);
    output = ag_value_new(context, AG_FLOAT32, 4, shape, "output");
    if (output)
        indices = ag_value_new(context, AG_INT64, 4, shape, "indices");
    if (!indices) {
        ag_value_release(output);
        output = NULL;
    }
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->max_pool2d_forward(
                                backend, &pool, ag_value_floats(input->value),
                                ag_value_floats(output), ag_value_address(indices)));
    node = ag_record(&output, &max_pool_type, 1, (struct ag_value *[]){input->value},
                     (struct ag_value *[AG_MAX_SAVED]){input->value, indices});
    if (node)
        node->attributes.pool = pool;
    ag_value_release(indices);
    return ag_op_end(context, max_pool_type.name, output);
}

ag_tensor *ag_adaptive_avg_pool2d(ag_tensor *input, int64_t height, int64_t width)
{
    struct ag_backend *backend;
    struct ag_value *output;
    struct ag_node *node;
    ag_context *context;

    if (!input || !ag_op_check(input, 4, "adaptive_avg_pool2d: the input"))
        return NULL;
    context = input->value->context;
    backend = context->backend;
    const int64_t *in = input->value->shape;
    struct ag_pool2d pool = {
        .n = in[0], .c = in[1], .h_in = in[2], .w_in = in[3], .h_out = height, .w_out = width};

    ag_op_begin(context, average_pool_type.name);
    output =
        ag_value_new(context, AG_FLOAT32, 4, (int64_t[]){in[0], in[1], height, width}, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->adaptive_avg_pool2d_forward(backend, &pool,
                                                                      ag_value_floats(input->value),
                                                                      ag_value_floats(output)));
    node = ag_record(&output, &average_pool_type, 1, (struct ag_value *[]){input->value},
                     (struct ag_value *[AG_MAX_SAVED]){input->value});
    if (node)
        node->attributes.pool = pool;
    return ag_op_end(context, average_pool_type.name, output);
}
