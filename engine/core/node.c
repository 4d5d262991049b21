/* SPDX-License-Identifier: MIT */
#include "engine/core/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <gradprof/gradprof.h>

#include "engine/core/storage.h"

static const struct ag_node_type accumulate_type = {.name = "AccumulateGrad"};

static struct ag_node *node_new(ag_context *context, const struct ag_node_type *type)
{
    struct ag_node *node = calloc(1, sizeof(*node));

    if (!node) {
        ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for a node");
        return NULL;
    }
    node->type = type;
    node->context = context;
    node->refs = 1;
    node->sequence = ++context->nodes_made;
    node->module = ag_scope_module(context);
    context->live_nodes++;
    gradprof_node_create(node, type->name);
    return node;
}

static void node_delete(struct ag_node *node)
{
    gradprof_node_destroy(node);
    for (int i = 0; i < AG_MAX_SAVED; i++)
        ag_value_release(node->saved[i]);
    for (int i = 0; i < node->inputs; i++)
        ag_node_release(node->input[i]);
    if (node->leaf) {
        node->leaf->accumulator = NULL;
        ag_value_release(node->leaf);
    }
    node->context->live_nodes--;
    free(node);
}

struct ag_node *ag_node_retain(struct ag_node *node)
{
    node->refs++;
    return node;
}

/* A graph of many iterations is a long chain: its nodes go one after the other, not one inside the
 * other, or the stack would overflow. */
void ag_node_release(struct ag_node *node)
{
    ag_context *context;

    if (!node || --node->refs > 0)
        return;
    context = node->context;
    node->next_dead = context->dead;
    context->dead = node;
    if (context->sweeping)
        return;
    context->sweeping = true;
    while (context->dead) {
        struct ag_node *dead = context->dead;

        context->dead = dead->next_dead;
        node_delete(dead);
    }
    context->sweeping = false;
}

/* The node that receives the gradient of `value`, with one reference; NULL when it requires none. */
static bool gradient_node(struct ag_value *value, struct ag_node **ret_node)
{
    struct ag_node *node = NULL;

    if (value->grad_fn) {
        node = ag_node_retain(value->grad_fn);
    } else if (value->accumulator) {
        node = ag_node_retain(value->accumulator);
    } else if (value->leaf_requires_grad) {
        node = node_new(value->context, &accumulate_type);
        if (!node)
            return false;
        node->leaf = ag_value_retain(value);
        value->accumulator = node;
    }
    *ret_node = node;
    return true;
}

static bool connect(struct ag_node *node, int inputs, struct ag_value *const *input)
{
    assert(inputs <= AG_MAX_INPUTS);
    for (node->inputs = 0; node->inputs < inputs; node->inputs++) {
        int slot = node->inputs;

        node->input_shape[slot].dims = input[slot]->dims;
        memcpy(node->input_shape[slot].sizes, input[slot]->shape, sizeof(input[slot]->shape));
        if (!gradient_node(input[slot], &node->input[slot]))
            return false;
        if (node->input[slot])
            gradprof_node_input(node, (uint32_t)slot, node->input[slot]);
    }
    return true;
}

static bool save(struct ag_node *node, int slot, struct ag_value *value,
                 const struct ag_value *output)
{
    assert(node->type->slots[slot]);
    if (value == output) {
        value = ag_value_view(output, output->dims, output->shape);
        if (!value)
            return false;
    } else {
        ag_value_retain(value);
    }
    node->saved[slot] = value;
    node->saved_version[slot] = value->storage ? value->storage->version : 0;
    gradprof_save(node, node->type->slots[slot], ag_value_address(value), value->grad_fn);
    return true;
}

bool ag_records(const ag_context *context, int inputs, struct ag_value *const *input)
{
    if (context->no_grad_depth > 0)
        return false;
    for (int i = 0; i < inputs; i++)
        if (ag_value_requires_grad(input[i]))
            return true;
    return false;
}

static bool complete(struct ag_node *node, const struct ag_value *output, int inputs,
                     struct ag_value *const *input, struct ag_value *const *saved)
{
    if (!connect(node, inputs, input))
        return false;
    for (int slot = 0; saved && slot < AG_MAX_SAVED; slot++)
        if (saved[slot] && !save(node, slot, saved[slot], output))
            return false;
    return true;
}

struct ag_node *ag_record(struct ag_value **output, const struct ag_node_type *type, int inputs,
                          struct ag_value *const *input, struct ag_value *const *saved)
{
    struct ag_value *value = *output;
    struct ag_node *node;

    if (!value || !ag_records(value->context, inputs, input))
        return NULL;
    node = node_new(value->context, type);
    if (node && complete(node, value, inputs, input, saved)) {
        ag_value_set_grad_fn(value, node);
        return node;
    }
    ag_node_release(node);
    ag_value_release(value);
    *output = NULL;
    return NULL;
}

void ag_node_release_saved(struct ag_node *node)
{
    for (int slot = 0; slot < AG_MAX_SAVED; slot++) {
        struct ag_value *value = node->saved[slot];

        if (!value)
            continue;
        gradprof_release(node, node->type->slots[slot]);
        node->saved[slot] = NULL;
        node->released = true;
        ag_value_release(value);
    }
}

void ag_node_leaf_left(const struct ag_value *leaf)
{
    /* While a handle is there it is the holder to name, and PyTorch's saved slots are all there is
     * to see; without one the node must be seen to hold the bytes. */
    if (leaf->accumulator)
        gradprof_save(leaf->accumulator, "variable", ag_value_address(leaf), NULL);
}
