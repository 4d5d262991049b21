/* SPDX-License-Identifier: MIT */
#ifndef AG_BACKWARD_H
#define AG_BACKWARD_H

#include "engine/core/node.h"
#include "engine/core/value.h"

/*
 * Run backward from `value`, whose gradient is `grad` (both borrowed). Gradients of leaves are added up
 * in `leaf->grad`. May be called from inside a node's backward function (checkpoint). False after
 * ag_fail; what was released by then stays released.
 */
bool ag_backward_run(struct ag_value *value, struct ag_value *grad, bool retain_graph);

/* The gradient of `value` for a sum over its elements: `grad` reduced to `shape`, which it was broadcast
 * from. Takes over the reference to `grad`; NULL after ag_fail. */
struct ag_value *ag_sum_to(struct ag_value *grad, const struct ag_shape *shape);

#endif
