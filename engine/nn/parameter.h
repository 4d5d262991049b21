/* SPDX-License-Identifier: MIT */
#ifndef AG_PARAMETER_H
#define AG_PARAMETER_H

#include "ag/ag.h"

#define AG_PARAMETER_NAME_BYTES 64

struct ag_parameter {
    char name[AG_PARAMETER_NAME_BYTES]; /* "features.0.weight" */
    ag_tensor *tensor;
};

/*
 * Make the parameter MODULE.WHICH, uniform in [-bound, bound) with bound = 1 / sqrt(fan_in). That is
 * what PyTorch draws for the weight of a convolution or a linear layer (Kaiming-uniform with
 * a = sqrt(5): gain sqrt(2 / (1 + a^2)) = sqrt(1/3), bound = gain * sqrt(3 / fan_in)) and for its bias.
 * False when it failed; then the error is in the context.
 */
bool ag_parameter_init(struct ag_parameter *parameter, ag_context *context, const char *module,
                       const char *which, int dims, const int64_t *shape, int64_t fan_in);
void ag_parameter_finish(struct ag_parameter *parameter); /* accepts a zeroed one */

#endif
