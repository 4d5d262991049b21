/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/optim/optimizer.h"

static int update(ag_optimizer *optimizer, struct ag_slot *slot)
{
    struct ag_backend *backend = optimizer->context->backend;
    const struct ag_adam *adam = &optimizer->adam;
    struct ag_value *parameter = slot->parameter;
    const double steps = (double)slot->steps;
    const double correction1 = 1 - pow((double)adam->beta1, steps);
    const double correction2 = 1 - pow((double)adam->beta2, steps);

    const struct ag_adam_rates rates = {
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .eps = adam->eps,
        .weight_decay = adam->weight_decay,
        .step_size = (float)((double)adam->lr / correction1),
        .root = (float)sqrt(correction2),
    };

    return backend->ops->adam_step(backend, ag_value_floats(parameter->grad->value),
                                   ag_value_floats(slot->state[0]->value),
                                   ag_value_floats(slot->state[1]->value),
                                   ag_value_count(parameter), &rates, ag_value_floats(parameter));
}

static const struct ag_optimizer_type adam_type = {
    .name = "Adam.step",
    .state_names = {"exp_avg", "exp_avg_sq"},
    .update = update,
};

ag_optimizer *ag_adam_create(ag_context *context, const struct ag_adam *adam, int count,
                             ag_tensor *const *parameters)
{
    ag_optimizer *optimizer = ag_optimizer_new(context, &adam_type, 2, count, parameters);

    if (optimizer)
        optimizer->adam = *adam;
    return optimizer;
}
