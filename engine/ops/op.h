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
 * Each line passes a NULL output through, so that a refusal needs no branch of its own.
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

/* A float32 tensor with `dims` dimensions, on the device; else fails with a line that begins with
 * `what`. */
#define AG_ANY_DIMS (-1)
bool ag_op_check(const ag_tensor *tensor, int dims, const char *what);

#endif
