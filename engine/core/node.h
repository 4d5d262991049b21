/* SPDX-License-Identifier: MIT */
/*
 * The graph. A node is one recorded operation: edges to the nodes that produced its inputs, and the
 * values it saved for its backward. Nodes die when nothing refers to them: no value whose grad_fn
 * they are, no edge, no saved slot upstream of them.
 *
 * What differs between operations is in their `ag_node_type`; a backward function is one more member
 * of it (docs/ENGINE.md).
 */
#ifndef AG_NODE_H
#define AG_NODE_H

#include "engine/core/value.h"

#define AG_MAX_INPUTS 3
#define AG_MAX_SAVED 2

struct ag_node_type {
    const char *name;                /* PyTorch's, e.g. "ConvolutionBackward0" */
    const char *slots[AG_MAX_SAVED]; /* what it may save, by PyTorch's names; unused ones NULL */
};

struct ag_node {
    const struct ag_node_type *type;
    ag_context *context;
    int refs;
    int inputs;
    struct ag_node *input[AG_MAX_INPUTS]; /* strong; NULL where no gradient is required */
    struct ag_value *saved[AG_MAX_SAVED]; /* strong, by slot; NULL: not saved */
    struct ag_value *leaf;                /* AccumulateGrad only: strong */
    struct ag_node *next_dead;
};

struct ag_node *ag_node_retain(struct ag_node *node);
void ag_node_release(struct ag_node *node); /* accepts NULL */

/*
 * Record that `*output` was made from `inputs` by an operation of `type`, which saves `saved[slot]`
 * for its backward (NULL: not this slot). Does nothing within no_grad or when no input requires a
 * gradient. A saved value that is `*output` itself is kept without its history, which would be a
 * cycle; any other one keeps its grad_fn alive.
 *
 * In place: `*output` is inputs[0] itself; its old grad_fn becomes the new node's input.
 *
 * NULL `*output` is passed through. On failure *output is released and becomes NULL.
 */
void ag_record(struct ag_value **output, const struct ag_node_type *type, int inputs,
               struct ag_value *const *input, struct ag_value *const *saved);

/* Whether ag_record would make a node for these inputs. */
bool ag_records(const ag_context *context, int inputs, struct ag_value *const *input);

/* The leaf's last handle has gone: from now on only its AccumulateGrad node, if any, and saved slots
 * keep it. Tells the profiler. */
void ag_node_leaf_left(const struct ag_value *leaf);

#endif
