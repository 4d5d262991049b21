/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gradprof/gradprof.h>

#include "engine/ops/op.h"

/* Uniform in [-bound, bound), bound = 1 / sqrt(fan_in). That is what PyTorch draws for the weight of a
 * convolution or a linear layer (Kaiming-uniform with a = sqrt(5): gain sqrt(2 / (1 + a^2)) = sqrt(1/3),
 * bound = gain * sqrt(3 / fan_in)) and for its bias. */
static ag_tensor *ag_uniform(ag_context *context, int dims, const int64_t *shape, int64_t fan_in,
                             const char *what)
{
    const float bound = (float)(1.0 / sqrt((double)fan_in));
    struct ag_backend *backend = context->backend;
    struct ag_value *value = ag_value_new(context, AG_FLOAT32, dims, shape, what);

    if (ag_op_real(value))
        ag_op_done(&value,
                   backend->ops->random_uniform(backend, ag_value_floats(value),
                                                ag_value_count(value), -bound, bound, context->seed,
                                                ag_random_take(context, ag_value_count(value))));
    return ag_tensor_wrap(value);
}

static bool name_parameter(ag_tensor *tensor, const char *module, const char *which)
{
    struct ag_value *value = tensor->value;
    size_t name_bytes = strlen(module) + strlen(which) + 2;

    value->name = malloc(name_bytes);
    if (!value->name) {
        ag_fail(value->context, AG_OUT_OF_MEMORY, "no host memory for a parameter's name");
        return false;
    }
    snprintf(value->name, name_bytes, "%s.%s", module, which);
    gradprof_handle_name(tensor, value->name);
    gradprof_storage_role(ag_value_address(value), GRADPROF_ROLE_PARAMETER, value->name);
    return true;
}

ag_tensor *ag_parameter(ag_context *context, const char *module, const char *which, int dims,
                        const int64_t *shape, int64_t fan_in)
{
    ag_tensor *tensor;

    ag_scope_push(context, GRADPROF_SCOPE_MODULE, module);
    tensor = ag_uniform(context, dims, shape, fan_in, which);
    ag_scope_pop(context, module);
    if (tensor && !name_parameter(tensor, module, which)) {
        ag_release(tensor);
        return NULL;
    }
    if (tensor)
        ag_set_requires_grad(tensor, true);
    return tensor;
}
