/* SPDX-License-Identifier: MIT */
#include "engine/nn/parameter.h"

#include <math.h>
#include <stdio.h>

#include <gradprof/gradprof.h>

#include "engine/ops/op.h"

static ag_tensor *ag_uniform(ag_context *context, int dims, const int64_t *shape, float bound,
                             const char *what)
{
    struct ag_backend *backend = context->backend;
    struct ag_value *value = ag_value_new(context, AG_FLOAT32, dims, shape, what);

    if (ag_op_real(value))
        ag_op_done(&value,
                   backend->ops->random_uniform(backend, ag_value_floats(value),
                                                ag_value_count(value), -bound, bound, context->seed,
                                                ag_random_take(context, ag_value_count(value))));
    return ag_tensor_wrap(value);
}

bool ag_parameter_init(struct ag_parameter *parameter, ag_context *context, const char *module,
                       const char *which, int dims, const int64_t *shape, int64_t fan_in)
{
    ag_tensor *tensor;

    ag_scope_push(context, GRADPROF_SCOPE_MODULE, module);
    tensor = ag_uniform(context, dims, shape, (float)(1.0 / sqrt((double)fan_in)), which);
    ag_scope_pop(context, module);
    parameter->tensor = tensor;
    if (!tensor)
        return false;
    snprintf(parameter->name, sizeof(parameter->name), "%s.%s", module, which);
    gradprof_handle_name(tensor, parameter->name);
    gradprof_storage_role(ag_value_address(tensor->value), GRADPROF_ROLE_PARAMETER,
                          parameter->name);
    ag_set_requires_grad(tensor, true);
    return true;
}

void ag_parameter_finish(struct ag_parameter *parameter)
{
    ag_release(parameter->tensor);
    parameter->tensor = NULL;
}
