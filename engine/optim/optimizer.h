/* SPDX-License-Identifier: MIT */
/*
 * What the optimizers share: the parameters, and the tensors of state that each parameter gets at its
 * first step. What differs is in `struct ag_optimizer_type`.
 */
#ifndef AG_OPTIMIZER_H
#define AG_OPTIMIZER_H

#include "engine/core/value.h"

#define AG_MAX_STATES 2

struct ag_slot {
    struct ag_value *parameter;      /* strong; no handle: the program holds it, not we */
    ag_tensor *state[AG_MAX_STATES]; /* own handles; NULL before the first step */
    uint64_t steps;                  /* made so far */
};

struct ag_optimizer_type {
    const char *name;                       /* scope of a step: "SGD.step" */
    const char *state_names[AG_MAX_STATES]; /* PyTorch's; unused ones NULL */
    /* One step for one parameter whose state is there; an enum ag_status. Only for real arithmetic. */
    int (*update)(ag_optimizer *optimizer, struct ag_slot *slot);
};

struct ag_optimizer {
    const struct ag_optimizer_type *type;
    ag_context *context;
    union {
        struct ag_sgd sgd;
        struct ag_adam adam;
    };
    int states; /* tensors of state for each parameter */
    int count;
    struct ag_slot slots[];
};

/* NULL after ag_fail. */
ag_optimizer *ag_optimizer_new(ag_context *context, const struct ag_optimizer_type *type,
                               int states, int count, ag_tensor *const *parameters);

#endif
