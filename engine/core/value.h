/* SPDX-License-Identifier: MIT */
/*
 * Storages, values and handles.
 *
 *   storage   device bytes. Counted references, one for each value that looks at them.
 *   value     a tensor: shape, storage, and the node that produced it. Counted references: one for
 *             each handle, one for each saved slot, one for the AccumulateGrad node of a leaf.
 *   handle    `ag_tensor`, what the program holds: one reference to a value. Each handle is an object
 *             of its own, so that two variables with the same tensor are two names for the profiler.
 *
 *   grad_fn != NULL     the value is a node's output and requires a gradient
 *   accumulator         the leaf's AccumulateGrad node, known weakly: the graphs keep it alive, and
 *                       it keeps the value alive, as in PyTorch
 */
#ifndef AG_VALUE_H
#define AG_VALUE_H

#include "engine/core/context.h"

struct ag_node;

struct ag_storage {
    ag_context *context;
    int refs;
    int recorded_views; /* values on this storage whose ViewBackward0 a change in place would break */
    uint64_t version;   /* changes in place so far */
    size_t size_bytes;
    void *address;
};

struct ag_value {
    ag_context *context;
    int refs;
    enum ag_dtype dtype;
    int dims;
    int64_t shape[AG_MAX_DIMS];
    struct ag_storage *storage; /* NULL: a scalar on the host, `scalar` is the value */
    float scalar;
    bool transposed; /* 2-D only: the storage holds it column by column */
    bool is_view;    /* counted in storage->recorded_views */
    bool leaf_requires_grad;
    struct ag_node *grad_fn;     /* strong */
    struct ag_node *accumulator; /* weak */
    char *name;                  /* of a parameter: "features.0.weight"; own; NULL: none */
    ag_tensor
        *grad; /* of a leaf: what backward added up, a handle of the value's own; NULL: none */
    ag_tensor *handles;
};

struct ag_tensor {
    struct ag_value *value;
    ag_tensor *previous, *next; /* the other handles on the same value */
};

/* All of these return one reference, or NULL after ag_fail. `what` names the tensor being made
 * ("output", "indices", "mask") to the profiler and in the message of a refusal. */
struct ag_value *ag_value_new(ag_context *context, enum ag_dtype dtype, int dims,
                              const int64_t *shape, const char *what);
struct ag_value *ag_value_scalar(ag_context *context, float scalar);
/* Another value on the storage of `base`, without history. */
struct ag_value *ag_value_view(const struct ag_value *base, int dims, const int64_t *shape);

struct ag_value *ag_value_retain(struct ag_value *value);
void ag_value_release(struct ag_value *value); /* accepts NULL */

/* Nobody else refers to the value or looks at its storage. */
bool ag_value_alone(const struct ag_value *value);
bool ag_value_requires_grad(const struct ag_value *value);
int64_t ag_value_count(const struct ag_value *value);
void *ag_value_address(const struct ag_value *value); /* NULL for a scalar */
float *ag_value_floats(const struct ag_value *value);

/* `value` is now the output of `node` (takes over one reference to it). */
void ag_value_set_grad_fn(struct ag_value *value, struct ag_node *node);

void ag_value_zero_grad(struct ag_value *value); /* the gradient goes */

/* `value` is about to be, or was, changed in place. */
void ag_value_changed(struct ag_value *value);

/* A handle on `value`; takes over one reference, also on failure. NULL in, NULL out. */
ag_tensor *ag_tensor_wrap(struct ag_value *value);

#endif
