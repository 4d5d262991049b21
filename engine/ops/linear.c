/* SPDX-License-Identifier: MIT */
/* y = x W^T + b, recorded as PyTorch does: the transpose is a view with a node of its own (TBackward0),
 * the product one AddmmBackward0 over bias, x and that view. */
#include "engine/ops/op.h"

/* A 2-D view of the same storage, rows and columns exchanged. */
static struct ag_value *transposed(const struct ag_value *matrix)
{
    struct ag_value *view =
        ag_value_view(matrix, 2, (int64_t[]){matrix->shape[1], matrix->shape[0]});

    if (view)
        view->transposed = !matrix->transposed;
    return view;
}

static bool ag_transpose_backward(const struct ag_node *node, struct ag_value *grad,
                                  struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    ret_grads[0] = transposed(grad);
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type transpose_type = {
    .name = "TBackward0",
    .backward = ag_transpose_backward,
};

enum { BIAS, MAT1, MAT2 };
enum { SAVED_MAT1, SAVED_MAT2 };

/* grad[m, n] mat2[k, n]^T */
static struct ag_value *ag_gradient_of_mat1(const struct ag_node *node, const struct ag_value *grad)
{
    struct ag_backend *backend = node->context->backend;
    const struct ag_value *mat2 = node->saved[SAVED_MAT2];
    struct ag_value *result = ag_op_grad(node, MAT1, "grad_mat1");

    if (ag_op_real(result)) {
        const struct ag_gemm gemm = {
            .m = grad->shape[0],
            .n = mat2->shape[0],
            .k = grad->shape[1],
            .trans_b = !mat2->transposed,
        };

        ag_op_done(&result,
                   backend->ops->gemm(backend, &gemm, ag_value_floats(grad), ag_value_floats(mat2),
                                      NULL, ag_value_floats(result)));
    }
    return result;
}

/* mat1[m, k]^T grad[m, n], made as its transpose grad^T mat1: then TBackward0's view of it lies as the
 * weight does, and the leaf takes it over without a copy. */
static struct ag_value *ag_gradient_of_mat2(const struct ag_node *node, const struct ag_value *grad)
{
    struct ag_backend *backend = node->context->backend;
    const struct ag_value *mat1 = node->saved[SAVED_MAT1];
    const struct ag_gemm gemm = {
        .m = grad->shape[1], .n = mat1->shape[1], .k = grad->shape[0], .trans_a = 1};
    struct ag_value *result =
        ag_value_new(node->context, AG_FLOAT32, 2, (int64_t[]){gemm.m, gemm.n}, "grad_mat2");
    struct ag_value *view;

    if (ag_op_real(result))
        ag_op_done(&result,
                   backend->ops->gemm(backend, &gemm, ag_value_floats(grad), ag_value_floats(mat1),
                                      NULL, ag_value_floats(result)));
    if (!result)
        return NULL;
    view = transposed(result);
    ag_value_release(result);
    return view;
}

static bool ag_addmm_backward(const struct ag_node *node, struct ag_value *grad,
                              struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    if (ag_op_wants(node, BIAS))
        ret_grads[BIAS] = ag_value_retain(grad); /* one per row: added up by the caller */
    if (ag_op_wants(node, MAT1) && !(ret_grads[MAT1] = ag_gradient_of_mat1(node, grad)))
        return false;
    if (ag_op_wants(node, MAT2))
        ret_grads[MAT2] = ag_gradient_of_mat2(node, grad);
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type addmm_type = {
    .name = "AddmmBackward0",
    .slots = {"mat1", "mat2"},
    .backward = ag_addmm_backward,
};

static struct ag_value *ag_transpose(struct ag_value *matrix)
{
    struct ag_value *view = transposed(matrix);

    ag_record(&view, &transpose_type, 1, (struct ag_value *[]){matrix}, NULL);
    return view;
}

/* bias[n] + mat1[m, k] mat2[k, n]; `mat2` may be a transposed view */
static struct ag_value *ag_addmm(struct ag_value *bias, struct ag_value *mat1,
                                 struct ag_value *mat2)
{
    ag_context *context = mat1->context;
    struct ag_backend *backend = context->backend;
    struct ag_gemm gemm = {
        .m = mat1->shape[0],
        .n = mat2->shape[1],
        .k = mat1->shape[1],
        .trans_a = mat1->transposed,
        .trans_b = mat2->transposed,
    };
    struct ag_value *output =
        ag_value_new(context, AG_FLOAT32, 2, (int64_t[]){gemm.m, gemm.n}, "output");

    if (ag_op_real(output))
        ag_op_done(&output,
                   backend->ops->gemm(backend, &gemm, ag_value_floats(mat1), ag_value_floats(mat2),
                                      ag_value_floats(bias), ag_value_floats(output)));
    /* Each factor is needed for the other one's gradient only. */
    ag_record(&output, &addmm_type, 3, (struct ag_value *[]){bias, mat1, mat2},
              (struct ag_value *[AG_MAX_SAVED]){ag_value_requires_grad(mat2) ? mat1 : NULL,
                                                ag_value_requires_grad(mat1) ? mat2 : NULL});
    return output;
}

static bool check(const ag_tensor *input, const ag_tensor *weight, const ag_tensor *bias)
{
    const int64_t *in = input->value->shape, *w = weight->value->shape;

    if (!ag_op_check(input, 2, "linear: the input") ||
        !ag_op_check(weight, 2, "linear: the weight") || !ag_op_check(bias, 1, "linear: the bias"))
        return false;
    if (in[1] == w[1] && bias->value->shape[0] == w[0])
        return true;
    ag_fail(input->value->context, AG_INVALID_ARGUMENT,
            "linear: input [%lld, %lld], weight [%lld, %lld], bias [%lld] do not fit",
            (long long)in[0], (long long)in[1], (long long)w[0], (long long)w[1],
            (long long)bias->value->shape[0]);
    return false;
}

ag_tensor *ag_linear(ag_tensor *input, ag_tensor *weight, ag_tensor *bias)
{
    struct ag_value *output = NULL, *view;
    ag_context *context;

    if (!input || !weight || !bias || !check(input, weight, bias))
        return NULL;
    context = input->value->context;
    ag_op_begin(context, transpose_type.name);
    view = ag_transpose(weight->value);
    ag_op_leave(context, transpose_type.name);
    ag_op_begin(context, addmm_type.name);
    if (view)
        output = ag_addmm(bias->value, input->value, view);
    ag_value_release(view);
    return ag_op_end(context, addmm_type.name, output);
}
