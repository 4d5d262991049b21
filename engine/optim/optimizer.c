/* SPDX-License-Identifier: MIT */
#include "engine/optim/optimizer.h"

#include <stdio.h>
#include <stdlib.h>

#include <gradprof/gradprof.h>

ag_optimizer *ag_optimizer_new(ag_context *context, const struct ag_optimizer_type *type,
                               int states, int count, ag_tensor *const *parameters)
{
    ag_optimizer *optimizer =
        calloc(1, sizeof(*optimizer) + (size_t)count * sizeof(optimizer->slots[0]));

    if (!optimizer) {
        ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for an optimizer");
        return NULL;
    }
    optimizer->type = type;
    optimizer->context = context;
    optimizer->states = states;
    for (; optimizer->count < count; optimizer->count++) {
        struct ag_value *parameter = parameters[optimizer->count]->value;

        optimizer->slots[optimizer->count].parameter = ag_value_retain(parameter);
    }
    return optimizer;
}

void ag_optimizer_destroy(ag_optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (int i = 0; i < optimizer->count; i++) {
        ag_value_release(optimizer->slots[i].parameter);
        for (int j = 0; j < AG_MAX_STATES; j++)
            ag_release(optimizer->slots[i].state[j]);
    }
    free(optimizer);
}

/* A tensor of zeros like the parameter, named after it and after what it is. */
static ag_tensor *ag_new_state(const struct ag_value *parameter, const char *what)
{
    ag_context *context = parameter->context;
    ag_tensor *state;
    char name[128];

    ag_scope_push(context, GRADPROF_SCOPE_TENSOR, what);
    state = ag_zeros(context, parameter->dims, parameter->shape);
    ag_scope_pop(context, what);
    if (!state)
        return NULL;
    snprintf(name, sizeof(name), "%.80s.%s", parameter->name ? parameter->name : "parameter", what);
    gradprof_handle_name(state, name);
    gradprof_storage_role(ag_value_address(state->value), GRADPROF_ROLE_OPTIMIZER_STATE, name);
    return state;
}

static bool ag_make_state(const ag_optimizer *optimizer, struct ag_slot *slot)
{
    for (int i = 0; i < optimizer->states; i++)
        if (!slot->state[i] &&
            !(slot->state[i] = ag_new_state(slot->parameter, optimizer->type->state_names[i])))
            return false;
    return true;
}

static bool ag_step_one(ag_optimizer *optimizer, struct ag_slot *slot)
{
    struct ag_value *parameter = slot->parameter;

    if (!parameter->grad)
        return true;
    if (!ag_make_state(optimizer, slot))
        return false;
    slot->steps++;
    ag_value_changed(parameter);
    return !optimizer->context->real ||
           ag_done(optimizer->context, optimizer->type->update(optimizer, slot));
}

enum ag_status ag_optimizer_step(ag_optimizer *optimizer)
{
    ag_context *context = optimizer->context;
    const char *name = optimizer->type->name;
    bool ok = ag_error(context) == AG_OK;

    ag_scope_push(context, GRADPROF_SCOPE_OP, name);
    for (int i = 0; ok && i < optimizer->count; i++)
        ok = ag_step_one(optimizer, &optimizer->slots[i]);
    ag_scope_pop(context, name);
    return ag_error(context);
}

void ag_optimizer_zero_grad(ag_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->count; i++)
        ag_value_zero_grad(optimizer->slots[i].parameter);
}
