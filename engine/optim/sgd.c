/* SPDX-License-Identifier: MIT */
#include "engine/optim/optimizer.h"

static int update(ag_optimizer *optimizer, struct ag_slot *slot)
{
    struct ag_backend *backend = optimizer->context->backend;
    const struct ag_sgd *sgd = &optimizer->sgd;
    struct ag_value *parameter = slot->parameter;
    float *buffer = slot->state[0] ? ag_value_floats(slot->state[0]->value) : NULL;

    return backend->ops->sgd_step(backend, ag_value_floats(parameter->grad->value), buffer,
                                  ag_value_count(parameter), sgd->lr, sgd->momentum,
                                  sgd->weight_decay, ag_value_floats(parameter));
}

static const struct ag_optimizer_type sgd_type = {
    .name = "SGD.step",
    .state_names = {"momentum_buffer"},
    .update = update,
};

ag_optimizer *ag_sgd_create(ag_context *context, const struct ag_sgd *sgd, int count,
                            ag_tensor *const *parameters)
{
    ag_optimizer *optimizer =
        ag_optimizer_new(context, &sgd_type, sgd->momentum != 0, count, parameters);

    if (optimizer)
        optimizer->sgd = *sgd;
    return optimizer;
}
