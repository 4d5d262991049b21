/* SPDX-License-Identifier: MIT */
/* Handles: what the program sees of a value. */
#include <stdlib.h>
#include <string.h>

#include <gradprof/gradprof.h>

#include "engine/core/node.h"
#include "engine/core/value.h"

ag_tensor *ag_tensor_wrap(struct ag_value *value)
{
    ag_tensor *tensor;

    if (!value)
        return NULL;
    tensor = calloc(1, sizeof(*tensor));
    if (!tensor) {
        ag_fail(value->context, AG_OUT_OF_MEMORY, "no host memory for a handle");
        ag_value_release(value);
        return NULL;
    }
    tensor->value = value;
    tensor->next = value->handles;
    if (tensor->next)
        tensor->next->previous = tensor;
    value->handles = tensor;
    value->context->live_tensors++;
    gradprof_handle_create(tensor, NULL, ag_value_address(value), value->grad_fn);
    return tensor;
}

ag_tensor *ag_retain(ag_tensor *tensor)
{
    return tensor ? ag_tensor_wrap(ag_value_retain(tensor->value)) : NULL;
}

void ag_release(ag_tensor *tensor)
{
    struct ag_value *value;

    if (!tensor)
        return;
    gradprof_handle_destroy(tensor);
    value = tensor->value;
    if (tensor->previous)
        tensor->previous->next = tensor->next;
    else
        value->handles = tensor->next;
    if (tensor->next)
        tensor->next->previous = tensor->previous;
    value->context->live_tensors--;
    free(tensor);
    if (!value->handles)
        ag_node_leaf_left(value);
    ag_value_release(value);
}

void ag_assign_to(ag_tensor **variable, const char *name, ag_tensor *value)
{
    ag_tensor *previous = *variable;

    *variable = value;
    if (value)
        gradprof_handle_name(value, name);
    ag_release(previous);
}

int ag_dims(const ag_tensor *tensor)
{
    return tensor->value->dims;
}

int64_t ag_size(const ag_tensor *tensor, int dim)
{
    return dim >= 0 && dim < tensor->value->dims ? tensor->value->shape[dim] : 0;
}

int64_t ag_count(const ag_tensor *tensor)
{
    return ag_value_count(tensor->value);
}

bool ag_requires_grad(const ag_tensor *tensor)
{
    return ag_value_requires_grad(tensor->value);
}

void ag_set_requires_grad(ag_tensor *tensor, bool requires_grad)
{
    struct ag_value *value = tensor->value;

    if (value->grad_fn || !value->storage || value->dtype != AG_FLOAT32)
        ag_fail(value->context, AG_INVALID_ARGUMENT,
                "only a float32 leaf can be told whether it requires a gradient");
    else
        value->leaf_requires_grad = requires_grad;
}

void ag_set_role_input(ag_tensor *tensor, const char *name)
{
    if (tensor)
        gradprof_storage_role(ag_value_address(tensor->value), GRADPROF_ROLE_INPUT, name);
}

ag_tensor *ag_detach(ag_tensor *tensor)
{
    if (!tensor)
        return NULL;
    return ag_tensor_wrap(ag_value_view(tensor->value, tensor->value->dims, tensor->value->shape));
}

float ag_item(const ag_tensor *tensor)
{
    float value = 0;

    if (!tensor || (tensor->value->storage && !tensor->value->context->real))
        return 0;
    if (ag_count(tensor) == 1)
        ag_to_floats(tensor, &value);
    else
        ag_fail(tensor->value->context, AG_INVALID_ARGUMENT,
                "item: the tensor has %lld elements, not 1", (long long)ag_count(tensor));
    return value;
}

enum ag_status ag_to_floats(const ag_tensor *tensor, float *ret_values)
{
    const struct ag_value *value = tensor->value;
    ag_context *context = value->context;
    struct ag_backend *backend = context->backend;

    if (!value->storage) {
        *ret_values = value->scalar;
        return AG_OK;
    }
    if (!context->real || value->dtype != AG_FLOAT32) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                context->real ? "only float32 tensors can be read as floats"
                              : "there are no values to read: the context skips the arithmetic");
        return AG_INVALID_ARGUMENT;
    }
    int status = backend->ops->copy_out(backend, ret_values, value->storage->address,
                                        value->storage->size_bytes);
    return ag_done(context, status) ? AG_OK : (enum ag_status)status;
}
