/* SPDX-License-Identifier: MIT */
/*
 * The frame that every operation has:
 *
 *     ag_op_begin(context, NAME);
 *     output = ag_value_new(...);
 *     if (ag_op_real(output))
 *         ag_op_done(&output, ops->...(...));
 *     ag_record(&output, ...);
 *     return ag_op_end(context, NAME, output);
 *
 * Each line passes a NULL output through, so that a refusal needs no branch of its own. A backward
 * function has the same frame without the scope, for the gradient of each input that wants one:
 *
 *     grads[0] = ag_op_grad(node, 0, "grad_input");
 *     if (ag_op_real(grads[0]))
 *         ag_op_done(&grads[0], ops->...(...));
 *     return ag_op_filled(node, grads);
 */
#ifndef AG_OP_H
#define AG_OP_H

#include "engine/core/node.h"
#include "engine/core/value.h"

/* Open the scope named after the operation's node; close it; close it and return `output`, whose
 * reference is taken over, as a handle. */
void ag_op_begin(ag_context *context, const char *name);
void ag_op_leave(ag_context *context, const char *name);
ag_tensor *ag_op_end(ag_context *context, const char *name, struct ag_value *output);

/* Whether there is an output to compute and arithmetic is wanted. */
bool ag_op_real(const struct ag_value *output);

/* Take note of a backend call's result: on failure *output is released and becomes NULL. */
void ag_op_done(struct ag_value **output, int status);

/* For a backward function: whether input `slot` wants a gradient; a tensor of that input's shape, NULL
 * where none is wanted or after ag_fail; whether every gradient that is wanted is there. */
bool ag_op_wants(const struct ag_node *node, int slot);
struct ag_value *ag_op_grad(const struct ag_node *node, int slot, const char *what);
/* The same for input 0 of an operation that works element by element: `grad` itself, to be overwritten,
 * where nobody else looks at it. */
struct ag_value *ag_op_grad_over(const struct ag_node *node, struct ag_value *grad);
bool ag_op_filled(const struct ag_node *node, struct ag_value *const grads[AG_MAX_INPUTS]);

/* A float32 tensor with `dims` dimensions, on the device; else fails with a line that begins with
 * `what`. */
#define AG_ANY_DIMS (-1)
bool ag_op_check(const ag_tensor *tensor, int dims, const char *what);

#endif
