/* SPDX-License-Identifier: MIT */
#include "engine/ops/op.h"

enum { INPUT, WEIGHT, BIAS };

static bool ag_conv_backward(const struct ag_node *node, struct ag_value *grad,
                             struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    const struct ag_conv2d *conv = &node->attributes.conv;
    struct ag_backend *backend = node->context->backend;

    ret_grads[INPUT] = ag_op_grad(node, INPUT, "grad_input");
    if (ag_op_real(ret_grads[INPUT]))
        ag_op_done(&ret_grads[INPUT],
                   backend->ops->conv2d_backward_input(backend, conv, ag_value_floats(grad),
                                                       ag_value_floats(node->saved[WEIGHT]),
                                                       ag_value_floats(ret_grads[INPUT])));
    if (ag_op_wants(node, INPUT) && !ret_grads[INPUT])
        return false;
    ret_grads[WEIGHT] = ag_op_grad(node, WEIGHT, "grad_weight");
    if (ag_op_real(ret_grads[WEIGHT]))
        ag_op_done(&ret_grads[WEIGHT],
                   backend->ops->conv2d_backward_weight(
                       backend, conv, ag_value_floats(node->saved[INPUT]), ag_value_floats(grad),
                       ag_value_floats(ret_grads[WEIGHT])));
    if (ag_op_wants(node, WEIGHT) && !ret_grads[WEIGHT])
        return false;
    ret_grads[BIAS] = ag_op_grad(node, BIAS, "grad_bias");
    if (ag_op_real(ret_grads[BIAS]))
        ag_op_done(&ret_grads[BIAS],
                   backend->ops->conv2d_backward_bias(backend, conv, ag_value_floats(grad),
                                                      ag_value_floats(ret_grads[BIAS])));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type conv_type = {
    .name = "ConvolutionBackward0",
    .slots = {"input", "weight"},
    .backward = ag_conv_backward,
};

static bool describe(const ag_tensor *input, const ag_tensor *weight, const ag_tensor *bias,
                     int64_t stride, int64_t padding, struct ag_conv2d *ret_conv)
{
    ag_context *context = input->value->context;
    const int64_t *in = input->value->shape, *w = weight->value->shape;

    if (!ag_op_check(input, 4, "conv2d: the input") ||
        !ag_op_check(weight, 4, "conv2d: the weight") || !ag_op_check(bias, 1, "conv2d: the bias"))
        return false;
    if (stride < 1 || padding < 0) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "conv2d: stride must be 1 or more, padding 0 or more");
        return false;
    }
    if (in[1] != w[1] || bias->value->shape[0] != w[0]) {
        ag_fail(
            context, AG_INVALID_ARGUMENT,
            "conv2d: input with %lld channels, weight [%lld, %lld, ...], bias [%lld] do not fit",
            (long long)in[1], (long long)w[0], (long long)w[1], (long long)bias->value->shape[0]);
        return false;
    }
    if (w[2] > in[2] + 2 * padding || w[3] > in[3] + 2 * padding) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "conv2d: the kernel is larger than the padded input of %lld x %lld",
                (long long)(in[2] + 2 * padding), (long long)(in[3] + 2 * padding));
        return false;
    }
    *ret_conv = (struct ag_conv2d){
        .n = in[0],
        .c_in = in[1],
        .h_in = in[2],
        .w_in = in[3],
        .c_out = w[0],
        .h_out = (in[2] + 2 * padding - w[2]) / stride + 1,
        .w_out = (in[3] + 2 * padding - w[3]) / stride + 1,
        .kernel_h = w[2],
        .kernel_w = w[3],
        .stride_h = stride,
        .stride_w = stride,
        .pad_h = padding,
        .pad_w = padding,
    };
    return true;
}

ag_tensor *ag_conv2d(ag_tensor *input, ag_tensor *weight, ag_tensor *bias, int64_t stride,
                     int64_t padding)
{
    struct ag_backend *backend;
    struct ag_conv2d conv;
    struct ag_value *output;
    struct ag_node *node;
    ag_context *context;

    if (!input || !weight || !bias || !describe(input, weight, bias, stride, padding, &conv))
        return NULL;
    context = input->value->context;
    backend = context->backend;
    ag_op_begin(context, conv_type.name);
    output = ag_value_new(context, AG_FLOAT32, 4,
                          (int64_t[]){conv.n, conv.c_out, conv.h_out, conv.w_out}, "output");
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->conv2d_forward(
                                backend, &conv, ag_value_floats(input->value),
                                ag_value_floats(weight->value), ag_value_floats(bias->value),
                                ag_value_floats(output)));
    node = ag_record(&output, &conv_type, 3,
                     (struct ag_value *[]){input->value, weight->value, bias->value},
                     (struct ag_value *[AG_MAX_SAVED]){input->value, weight->value});
    if (node)
        node->attributes.conv = conv;
    return ag_op_end(context, conv_type.name, output);
}
