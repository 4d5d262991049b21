/* SPDX-License-Identifier: MIT */
/*
 * The graph. A node is one recorded operation: edges to the nodes that produced its inputs, and the
 * values it saved for its backward. Nodes die when nothing refers to them: no value whose grad_fn
 * they are, no edge, no saved slot upstream of them.
 *
 *   node->sequence   grows along the graph: an input's node has a smaller one than its user's
 *   saved_version    the storage's version when it was saved; another one at backward means that the
 *                    value was changed in place since
 *
 * What differs between operations is in their `ag_node_type`.
 */
#ifndef AG_NODE_H
#define AG_NODE_H

#include "engine/core/value.h"

#define AG_MAX_INPUTS 3
#define AG_MAX_SAVED 3

struct ag_node;

/*
 * Gradients of a node's inputs from `grad`, the gradient of its output (borrowed, contiguous). Puts one
 * reference into ret_grads[i] where node->input[i] is there, and leaves the others NULL. A gradient may
 * be `grad` itself, and may have more elements than the input where that was broadcast: the caller adds
 * them up. False after ag_fail; what is in ret_grads by then is the caller's to release.
 */
typedef bool ag_backward_fn(const struct ag_node *node, struct ag_value *grad,
                            struct ag_value *ret_grads[AG_MAX_INPUTS]);

struct ag_node_type {
    const char *name;                /* PyTorch's, e.g. "ConvolutionBackward0" */
    const char *slots[AG_MAX_SAVED]; /* what it may save, by PyTorch's names; unused ones NULL */
    ag_backward_fn *backward;        /* NULL: AccumulateGrad, which core/backward.c does */
};

struct ag_shape {
    int dims;
    int64_t sizes[AG_MAX_DIMS];
};

/* What an operation knows beside its saved values; the member is its own business. */
union ag_attributes {
    struct ag_conv2d conv;
    struct ag_pool2d pool;
    struct {
        float p;
    } dropout;
    struct {
        float factor;
    } scale;
    struct {
        ag_segment_fn *run;
        void *data;
        uint64_t random_offset;
    } checkpoint;
};

struct ag_node {
    const struct ag_node_type *type;
    ag_context *context;
    int refs;
    uint64_t sequence;
    const char *module; /* innermost one open when it was recorded; NULL: none */
    int inputs;
    struct ag_node *input[AG_MAX_INPUTS]; /* strong; NULL where no gradient is required */
    struct ag_shape input_shape[AG_MAX_INPUTS];
    struct ag_value *saved[AG_MAX_SAVED]; /* strong, by slot; NULL: not saved, or released */
    uint64_t saved_version[AG_MAX_SAVED];
    bool released;         /* backward has passed and let go of the saved values */
    struct ag_value *leaf; /* AccumulateGrad only: strong */
    union ag_attributes attributes;
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
 * NULL `*output` is passed through. On failure *output is released and becomes NULL. Returns the new
 * node, which *output holds, or NULL; the caller fills in its attributes.
 */
struct ag_node *ag_record(struct ag_value **output, const struct ag_node_type *type, int inputs,
                          struct ag_value *const *input, struct ag_value *const *saved);

/* Let go of everything `node` saved, and tell the profiler slot by slot. */
void ag_node_release_saved(struct ag_node *node);

/* Whether ag_record would make a node for these inputs. */
bool ag_records(const ag_context *context, int inputs, struct ag_value *const *input);

/* The leaf's last handle has gone: from now on only its AccumulateGrad node, if any, and saved slots
 * keep it. Tells the profiler. */
void ag_node_leaf_left(const struct ag_value *leaf);

#endif
