/* SPDX-License-Identifier: MIT */
/*
 * Reverse-mode differentiation, in the order in which PyTorch's engine does it, because the order
 * decides what is alive at the peak:
 *
 *   - a node runs once the gradients from all its users are added up; of those that are ready the
 *     youngest runs first, AccumulateGrad before any other
 *   - running a node: its gradients are computed, then reduced to the inputs' shapes; then the gradient
 *     of the output goes, then what the node saved, then the new gradients are handed on
 *   - a leaf's first gradient is taken over without a copy where nobody else looks at its storage
 *
 * A run keeps its state in tasks of its own, so that a checkpoint can start another run inside.
 */
#include "engine/core/backward.h"

#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gradprof/gradprof.h>

#include "engine/core/node.h"
#include "engine/core/storage.h"

struct task {
    struct ag_node *node; /* the key; first */
    int pending;          /* users in this run that have not handed on their gradient yet */
    struct ag_value *grad;
};

struct task_list {
    struct task **items;
    size_t count, capacity;
};

struct run {
    ag_context *context;
    bool retain_graph;
    void *tasks; /* tree of struct task, by node */
    struct task_list ready;
};

/* --- tasks ------------------------------------------------------------------------------------ */

static int compare_tasks(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct task *)a)->node;
    uintptr_t right = (uintptr_t)((const struct task *)b)->node;

    return left < right ? -1 : left > right;
}

static bool no_memory(ag_context *context)
{
    ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for backward");
    return false;
}

/* The task of `node`, made if need be; NULL: no host memory. */
static struct task *task_of(struct run *run, struct ag_node *node, bool *ret_is_new)
{
    struct task key = {.node = node}, **found = tfind(&key, &run->tasks, compare_tasks);
    struct task *task;

    *ret_is_new = !found;
    if (found)
        return *found;
    task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    task->node = node;
    if (!tsearch(task, &run->tasks, compare_tasks)) {
        free(task);
        return NULL;
    }
    return task;
}

static bool list_push(struct task_list *list, struct task *task)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct task **items = realloc(list->items, capacity * sizeof(struct task *));

        if (!items)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = task;
    return true;
}

static uint64_t priority(const struct task *task)
{
    return task->node->leaf ? UINT64_MAX : task->node->sequence;
}

/* The ready list is a heap with the highest priority at its root. */
static bool heap_push(struct task_list *heap, struct task *task)
{
    size_t at = heap->count;

    if (!list_push(heap, task))
        return false;
    while (at > 0 && priority(heap->items[(at - 1) / 2]) < priority(task)) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = task;
    return true;
}

static struct task *heap_pop(struct task_list *heap)
{
    struct task *top = heap->items[0], *last = heap->items[--heap->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            priority(heap->items[child]) < priority(heap->items[child + 1]))
            child++;
        if (priority(heap->items[child]) <= priority(last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return top;
}

/* Make a task of every node that `root` reaches, and count the users of each. */
static bool find_tasks(struct run *run, struct ag_node *root)
{
    struct task_list open = {0};
    bool is_new, ok;
    struct task *task = task_of(run, root, &is_new);

    ok = task && list_push(&open, task);
    while (ok && open.count > 0) {
        const struct ag_node *node = open.items[--open.count]->node;

        for (int i = 0; ok && i < node->inputs; i++) {
            if (!node->input[i])
                continue;
            task = task_of(run, node->input[i], &is_new);
            ok = task && (!is_new || list_push(&open, task));
            if (ok)
                task->pending++;
        }
    }
    free(open.items);
    return ok || no_memory(run->context);
}

static void task_destroy(void *item)
{
    struct task *task = item;

    ag_value_release(task->grad);
    free(task);
}

/* --- gradients ------------------------------------------------------------------------------------- */

static struct ag_value *ag_value_like(const struct ag_value *value, const char *what)
{
    return ag_value_new(value->context, AG_FLOAT32, value->dims, value->shape, what);
}

/* to += from */
static bool add_in_place(struct ag_value *to, const struct ag_value *from)
{
    struct ag_backend *backend = to->context->backend;
    int64_t count = ag_value_count(to);

    ag_value_changed(to);
    if (!to->context->real)
        return true;
    return ag_done(to->context,
                   backend->ops->add(backend, ag_value_floats(to), count, ag_value_floats(from),
                                     count, ag_value_floats(to), count, 1.0f, 1.0f));
}

/* A copy of its own storage; takes over the reference. */
static struct ag_value *ag_copy_of(struct ag_value *value)
{
    struct ag_backend *backend = value->context->backend;
    struct ag_value *copy = ag_value_like(value, "grad");
    int64_t count = ag_value_count(value);

    if (copy && value->context->real &&
        !ag_done(value->context,
                 backend->ops->add(backend, ag_value_floats(value), count, ag_value_floats(value),
                                   count, ag_value_floats(copy), count, 1.0f, 0.0f))) {
        ag_value_release(copy);
        copy = NULL;
    }
    ag_value_release(value);
    return copy;
}

/* old + grad, either of which may be NULL; takes over both references. NULL after ag_fail. */
static struct ag_value *ag_sum_of(struct ag_value *old, struct ag_value *grad)
{
    bool ok;

    if (!old)
        return grad;
    if (!ag_value_alone(old)) {
        struct ag_value *swap = old;

        old = grad;
        grad = swap;
    }
    if (!ag_value_alone(old) && !(old = ag_copy_of(old))) {
        ag_value_release(grad);
        return NULL;
    }
    ok = add_in_place(old, grad);
    ag_value_release(grad);
    if (ok)
        return old;
    ag_value_release(old);
    return NULL;
}

struct ag_value *ag_sum_to(struct ag_value *grad, const struct ag_shape *shape)
{
    struct ag_backend *backend = grad->context->backend;
    struct ag_value *sum;
    int64_t columns;

    if (grad->dims == shape->dims &&
        !memcmp(grad->shape, shape->sizes, (size_t)shape->dims * sizeof(shape->sizes[0])))
        return grad;
    sum = ag_value_new(grad->context, AG_FLOAT32, shape->dims, shape->sizes, "grad_input");
    columns = sum ? ag_value_count(sum) : 1;
    if (sum && sum->context->real &&
        !ag_done(sum->context, backend->ops->sum_rows(backend, ag_value_floats(grad),
                                                      ag_value_count(grad) / columns, columns,
                                                      ag_value_floats(sum)))) {
        ag_value_release(sum);
        sum = NULL;
    }
    ag_value_release(grad);
    return sum;
}

static void ag_tell_gradient(const struct ag_value *leaf)
{
    char name[128];

    snprintf(name, sizeof(name), "%.*s%sgrad", (int)sizeof(name) - 8, leaf->name ? leaf->name : "",
             leaf->name ? "." : "");
    gradprof_handle_name(leaf->grad, name);
    gradprof_storage_role(ag_value_address(leaf->grad->value), GRADPROF_ROLE_GRADIENT, name);
}

/* leaf->grad += grad; takes over the reference. */
static bool ag_accumulate(struct ag_value *leaf, struct ag_value *grad)
{
    bool ok;

    if (leaf->grad) {
        ok = add_in_place(leaf->grad->value, grad);
        ag_value_release(grad);
        return ok;
    }
    if (!ag_value_alone(grad))
        grad = ag_copy_of(grad);
    leaf->grad = ag_tensor_wrap(grad);
    if (!leaf->grad)
        return false;
    ag_tell_gradient(leaf);
    return true;
}

/* --- the run -------------------------------------------------------------------------------------- */

/* What the node saved is there, and as it was. */
static bool check_saved(const struct ag_node *node)
{
    if (node->released) {
        ag_fail(node->context, AG_INVALID_ARGUMENT,
                "backward a second time through %s: its saved tensors were released by the first; "
                "keep them with retain_graph, or detach what was carried over",
                node->type->name);
        return false;
    }
    for (int slot = 0; slot < AG_MAX_SAVED; slot++) {
        const struct ag_value *saved = node->saved[slot];

        if (!saved || !saved->storage || saved->storage->version == node->saved_version[slot])
            continue;
        ag_fail(node->context, AG_INVALID_ARGUMENT,
                "backward through %s: \"%s\", which it had saved, was changed in place since",
                node->type->name, node->type->slots[slot]);
        return false;
    }
    return true;
}

static bool ag_compute_gradients(const struct ag_node *node, struct ag_value *grad,
                                 struct ag_value *ret_grads[AG_MAX_INPUTS])
{
    if (!check_saved(node) || !node->type->backward(node, grad, ret_grads))
        return false;
    for (int i = 0; i < node->inputs; i++)
        if (ret_grads[i] && !(ret_grads[i] = ag_sum_to(ret_grads[i], &node->input_shape[i])))
            return false;
    return true;
}

/* Hand `grad` on to the node that waits for it; takes over the reference. */
static bool ag_hand_on(struct run *run, struct ag_node *node, struct ag_value *grad)
{
    bool is_new;
    struct task *task = task_of(run, node, &is_new);

    task->grad = ag_sum_of(task->grad, grad);
    if (!task->grad)
        return false;
    return --task->pending > 0 || heap_push(&run->ready, task) || no_memory(run->context);
}

static bool ag_run_node(struct run *run, struct ag_node *node, struct ag_value *grad)
{
    struct ag_value *grads[AG_MAX_INPUTS] = {NULL};
    bool ok = ag_compute_gradients(node, grad, grads);

    ag_value_release(grad);
    if (ok && !run->retain_graph)
        ag_node_release_saved(node);
    for (int i = 0; i < node->inputs; i++) {
        if (ok && node->input[i])
            ok = ag_hand_on(run, node->input[i], grads[i]);
        else
            ag_value_release(grads[i]);
    }
    return ok;
}

static bool ag_run_task(struct run *run, struct task *task)
{
    struct ag_node *node = task->node;
    struct ag_value *grad = task->grad;
    bool ok;

    task->grad = NULL;
    gradprof_node_backward(node);
    ag_scope_push(run->context, GRADPROF_SCOPE_MODULE, node->module);
    ag_scope_push(run->context, GRADPROF_SCOPE_OP, node->type->name);
    ok = node->leaf ? ag_accumulate(node->leaf, grad) : ag_run_node(run, node, grad);
    ag_scope_pop(run->context, node->type->name);
    ag_scope_pop(run->context, node->module);
    return ok;
}

bool ag_backward_run(struct ag_value *value, struct ag_value *grad, bool retain_graph)
{
    struct run run = {.context = value->context, .retain_graph = retain_graph};
    bool is_new, ok = find_tasks(&run, value->grad_fn);

    if (ok) {
        struct task *root = task_of(&run, value->grad_fn, &is_new);

        root->grad = ag_value_retain(grad);
        ok = heap_push(&run.ready, root) || no_memory(run.context);
    }
    while (ok && run.ready.count > 0)
        ok = ag_run_task(&run, heap_pop(&run.ready));
    tdestroy(run.tasks, task_destroy);
    free(run.ready.items);
    return ok;
}

static bool may_start(const ag_tensor *loss)
{
    const struct ag_value *value = loss->value;

    if (!value->grad_fn)
        ag_fail(
            value->context, AG_INVALID_ARGUMENT,
            "backward: the tensor has no graph: it requires no gradient, was detached, or was made "
            "within no_grad");
    else if (ag_value_count(value) != 1)
        ag_fail(value->context, AG_INVALID_ARGUMENT,
                "backward: a loss of one element is needed, this has %lld",
                (long long)ag_value_count(value));
    else
        return true;
    return false;
}

/* The gradient to begin with: one, of the shape of `value`. */
static struct ag_value *ag_one_like(const struct ag_value *value)
{
    struct ag_backend *backend = value->context->backend;
    struct ag_value *one = ag_value_like(value, "grad_output");

    if (one && value->context->real &&
        !ag_done(value->context, backend->ops->fill(backend, ag_value_floats(one), 1, 1.0f))) {
        ag_value_release(one);
        one = NULL;
    }
    return one;
}

enum ag_status ag_backward(ag_tensor *loss, bool retain_graph)
{
    static const char phase[] = "backward";
    ag_context *context;
    struct ag_value *one;

    if (!loss)
        return AG_INVALID_ARGUMENT; /* what made it NULL has failed already */
    context = loss->value->context;
    if (!may_start(loss))
        return ag_error(context);
    ag_scope_push(context, GRADPROF_SCOPE_PHASE, phase);
    one = ag_one_like(loss->value);
    if (one)
        ag_backward_run(loss->value, one, retain_graph);
    ag_value_release(one);
    ag_scope_pop(context, phase);
    return ag_error(context);
}

ag_tensor *ag_grad(const ag_tensor *leaf)
{
    return leaf->value->grad;
}

void ag_value_zero_grad(struct ag_value *value)
{
    ag_tensor *grad = value->grad;

    value->grad = NULL;
    ag_release(grad);
}

void ag_zero_grad(ag_tensor *leaf)
{
    ag_value_zero_grad(leaf->value);
}
