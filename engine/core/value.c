/* SPDX-License-Identifier: MIT */
#include "engine/core/value.h"

#include <stdlib.h>
#include <string.h>

#include <gradprof/gradprof.h>

#include "engine/core/node.h"
#include "engine/core/storage.h"

static const size_t dtype_bytes[] = {[AG_FLOAT32] = 4, [AG_INT64] = 8, [AG_BOOL] = 1};

static struct ag_value *ag_value_alloc(ag_context *context)
{
    struct ag_value *value = calloc(1, sizeof(*value));

    if (!value) {
        ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for a tensor");
        return NULL;
    }
    value->context = context;
    value->refs = 1;
    return value;
}

static void set_shape(struct ag_value *value, int dims, const int64_t *shape)
{
    value->dims = dims;
    if (dims > 0)
        memcpy(value->shape, shape, (size_t)dims * sizeof(*shape));
}

/* Elements of a shape times their size; false when the shape is not one or the product overflows. */
static bool shape_bytes(enum ag_dtype dtype, int dims, const int64_t *shape, size_t *ret_bytes)
{
    size_t bytes = dtype_bytes[dtype];

    if (dims < 0 || dims > AG_MAX_DIMS)
        return false;
    for (int i = 0; i < dims; i++)
        if (shape[i] <= 0 || __builtin_mul_overflow(bytes, (size_t)shape[i], &bytes) ||
            bytes > INT64_MAX)
            return false;
    *ret_bytes = bytes;
    return true;
}

struct ag_value *ag_value_new(ag_context *context, enum ag_dtype dtype, int dims,
                              const int64_t *shape, const char *what)
{
    struct ag_value *value;
    size_t size_bytes;

    if (!shape_bytes(dtype, dims, shape, &size_bytes)) {
        ag_fail(context, AG_INVALID_ARGUMENT,
                "the %s has an impossible shape: up to %d sizes of 1 and more", what, AG_MAX_DIMS);
        return NULL;
    }
    value = ag_value_alloc(context);
    if (!value)
        return NULL;
    value->dtype = dtype;
    set_shape(value, dims, shape);
    value->storage = ag_storage_new(context, size_bytes, what);
    if (!value->storage) {
        free(value);
        return NULL;
    }
    return value;
}

struct ag_value *ag_value_scalar(ag_context *context, float scalar)
{
    struct ag_value *value = ag_value_alloc(context);

    if (value)
        value->scalar = scalar;
    return value;
}

struct ag_value *ag_value_view(const struct ag_value *base, int dims, const int64_t *shape)
{
    struct ag_value *value = ag_value_alloc(base->context);

    if (!value)
        return NULL;
    value->dtype = base->dtype;
    set_shape(value, dims, shape);
    value->scalar = base->scalar;
    value->transposed = base->transposed;
    if (base->storage)
        value->storage = ag_storage_retain(base->storage);
    return value;
}

struct ag_value *ag_value_retain(struct ag_value *value)
{
    value->refs++;
    return value;
}

void ag_value_release(struct ag_value *value)
{
    if (!value || --value->refs > 0)
        return;
    if (value->is_view)
        value->storage->recorded_views--;
    ag_storage_release(value->storage);
    ag_node_release(value->grad_fn);
    ag_release(value->grad);
    free(value->name);
    free(value);
}

void ag_value_changed(struct ag_value *value)
{
    if (value->storage)
        value->storage->version++;
}

bool ag_value_alone(const struct ag_value *value)
{
    return value->refs == 1 && value->storage && value->storage->refs == 1;
}

bool ag_value_requires_grad(const struct ag_value *value)
{
    return value->grad_fn || value->leaf_requires_grad;
}

int64_t ag_value_count(const struct ag_value *value)
{
    int64_t count = 1;

    for (int i = 0; i < value->dims; i++)
        count *= value->shape[i];
    return count;
}

void *ag_value_address(const struct ag_value *value)
{
    return value->storage ? value->storage->address : NULL;
}

float *ag_value_floats(const struct ag_value *value)
{
    return ag_value_address(value);
}

void ag_value_set_grad_fn(struct ag_value *value, struct ag_node *node)
{
    struct ag_node *previous = value->grad_fn;

    value->grad_fn = node;
    for (ag_tensor *handle = value->handles; handle; handle = handle->next)
        gradprof_handle_node(handle, node);
    ag_node_release(previous);
}
