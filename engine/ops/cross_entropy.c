/* SPDX-License-Identifier: MIT */
/* Cross entropy as PyTorch records it: ag_log_softmax, then the negative log-likelihood of the targets. */
#include "engine/ops/op.h"

static bool ag_log_softmax_backward(const struct ag_node *node, struct ag_value *grad,
                                    struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;

    ret_grads[0] = ag_op_grad(node, 0, "grad_input");
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0],
                   backend->ops->log_softmax_backward(
                       backend, ag_value_floats(node->saved[0]), ag_value_floats(grad),
                       grad->shape[0], grad->shape[1], ag_value_floats(ret_grads[0])));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type log_softmax_type = {
    .name = "LogSoftmaxBackward0",
    .slots = {"result"},
    .backward = ag_log_softmax_backward,
};

enum { SELF, TARGET, TOTAL_WEIGHT };

static bool ag_nll_loss_backward(const struct ag_node *node, struct ag_value *grad,
                                 struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    struct ag_backend *backend = node->context->backend;
    const struct ag_value *self = node->saved[SELF];

    ret_grads[0] = ag_op_grad(node, 0, "grad_input");
    if (ag_op_real(ret_grads[0]))
        ag_op_done(&ret_grads[0],
                   backend->ops->nll_loss_backward(
                       backend, ag_value_floats(grad), ag_value_address(node->saved[TARGET]),
                       self->shape[0], self->shape[1], ag_value_floats(ret_grads[0])));
    return ag_op_filled(node, ret_grads);
}

static const struct ag_node_type nll_loss_type = {
    .name = "NllLossBackward0",
    .slots = {"self", "target", "total_weight"},
    .backward = ag_nll_loss_backward,
};

static struct ag_value *ag_log_softmax(struct ag_value *input)
{
    ag_context *context = input->context;
    struct ag_backend *backend = context->backend;
    struct ag_value *output = ag_value_new(context, AG_FLOAT32, 2, input->shape, "output");

    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->log_softmax_forward(backend, ag_value_floats(input),
                                                              input->shape[0], input->shape[1],
                                                              ag_value_floats(output)));
    ag_record(&output, &log_softmax_type, 1, (struct ag_value *[]){input},
              (struct ag_value *[AG_MAX_SAVED]){output});
    return output;
}

static struct ag_value *ag_nll_loss(struct ag_value *self, struct ag_value *target)
{
    ag_context *context = self->context;
    struct ag_backend *backend = context->backend;
    struct ag_value *output = ag_value_new(context, AG_FLOAT32, 0, NULL, "output");
    struct ag_value *total_weight =
        output ? ag_value_new(context, AG_FLOAT32, 0, NULL, "total_weight") : NULL;

    if (!total_weight) {
        ag_value_release(output);
        return NULL;
    }
    if (ag_op_real(output))
        ag_op_done(&output, backend->ops->nll_loss_forward(backend, ag_value_floats(self),
                                                           ag_value_address(target), self->shape[0],
                                                           self->shape[1], ag_value_floats(output),
                                                           ag_value_floats(total_weight)));
    ag_record(&output, &nll_loss_type, 1, (struct ag_value *[]){self},
              (struct ag_value *[AG_MAX_SAVED]){self, target, total_weight});
    ag_value_release(total_weight);
    return output;
}

static bool check(const ag_tensor *logits, const ag_tensor *target)
{
    const struct ag_value *classes = target->value;

    if (!ag_op_check(logits, 2, "cross_entropy: the logits"))
        return false;
    if (classes->dtype == AG_INT64 && classes->dims == 1 &&
        classes->shape[0] == logits->value->shape[0])
        return true;
    ag_fail(logits->value->context, AG_INVALID_ARGUMENT,
            "cross_entropy: the target must be int64 with one class for each of the %lld rows",
            (long long)logits->value->shape[0]);
    return false;
}

ag_tensor *ag_cross_entropy(ag_tensor *logits, ag_tensor *target)
{
    struct ag_value *log_probabilities, *output = NULL;
    ag_context *context;

    if (!logits || !target || !check(logits, target))
        return NULL;
    context = logits->value->context;
    ag_op_begin(context, log_softmax_type.name);
    log_probabilities = ag_log_softmax(logits->value);
    ag_op_leave(context, log_softmax_type.name);
    ag_op_begin(context, nll_loss_type.name);
    if (log_probabilities)
        output = ag_nll_loss(log_probabilities, target->value);
    ag_value_release(log_probabilities);
    return ag_op_end(context, nll_loss_type.name, output);
}
