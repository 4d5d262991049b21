/* SPDX-License-Identifier: MIT */
/*
 * Invariants: every node that was told and not ended has a record in `nodes`; every slot with a
 * known place has one in `slots`, chained from its node. Nodes made by std::make_shared (AccumulateGrad,
 * CopySlices, ...) are not deleted through deleteNode: of those the edges to them are counted, and
 * they end with the last one.
 */
#include "libgradprof/torch/graph.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/torch/blocks.h"
#include "libgradprof/torch/layout.h"
#include "libgradprof/torch/live.h"
#include "libgradprof/torch/slots.h"

#define SHARED_MAX 6 /* edges to such nodes remembered of one node */
#define DEPTH_MAX 8  /* of nodes first seen as inputs of each other */

enum {
    NODE_KEY,
    NODE_OP,
    NODE_STACK,
    NODE_SLOT,
    NODE_FLAGS,
    NODE_SHARED,
    NODE_WORDS = NODE_SHARED + SHARED_MAX
};
enum { SLOT_KEY, SLOT_NODE, SLOT_NEXT, SLOT_NAME, SLOT_WORDS };

#define NODE_IN_BACKWARD UINT64_C(1)
#define NODE_EDGES_SHIFT 8 /* of NODE_FLAGS: edges to this node, a shared one */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_live nodes = {.words = NODE_WORDS};
static struct gp_live slots = {.words = SLOT_WORDS};
static _Atomic bool seen[GP_SEEN_COUNT];

void gp_graph_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    gp_live_clear(&nodes);
    gp_live_clear(&slots);
    if (gp_thread_state != NULL)
        memset(&gp_thread_state->torch, 0, sizeof(gp_thread_state->torch));
}

static void note(enum gp_seen what)
{
    if (!atomic_load_explicit(&seen[what], memory_order_relaxed))
        atomic_store_explicit(&seen[what], true, memory_order_relaxed);
}

bool gp_graph_seen(enum gp_seen what)
{
    return atomic_load_explicit(&seen[what], memory_order_relaxed);
}

static bool is_shared(const uint64_t *node)
{
    return gp_op_is_shared((uint32_t)node[NODE_OP]);
}

/* --- the end of a node ---------------------------------------------------------------------------- */

static void end_node(struct gp_thread *thread, uint64_t key)
{
    struct gp_record record = {.type = GP_EV_NODE_DESTROY, .key = key};
    const uint64_t *node = gp_live_find(&nodes, key), *slot;

    for (uint64_t address = node[NODE_SLOT]; address != 0;) {
        slot = gp_live_find(&slots, address);
        uint64_t next = slot == NULL ? 0 : slot[SLOT_NEXT];
        gp_live_remove(&slots, address);
        address = next;
    }
    gp_live_remove(&nodes, key);
    if (gp_session_ready(thread, false))
        gp_event(thread, &record);
}

static void end_with_shared(struct gp_thread *thread, const uint64_t *node);

/* One edge fewer to a node that ends with the last. */
static void drop_shared(struct gp_thread *thread, uint64_t key)
{
    uint64_t *node = key == 0 ? NULL : gp_live_find(&nodes, key);

    if (node == NULL || !is_shared(node) || node[NODE_FLAGS] >> NODE_EDGES_SHIFT == 0)
        return;
    node[NODE_FLAGS] -= UINT64_C(1) << NODE_EDGES_SHIFT;
    if (node[NODE_FLAGS] >> NODE_EDGES_SHIFT == 0)
        end_with_shared(thread, node);
}

static void end_with_shared(struct gp_thread *thread, const uint64_t *node)
{
    uint64_t shared[SHARED_MAX];

    memcpy(shared, node + NODE_SHARED, sizeof(shared));
    end_node(thread, node[NODE_KEY]);
    for (int i = 0; i < SHARED_MAX; i++)
        drop_shared(thread, shared[i]);
}

void gp_graph_delete(struct gp_thread *thread, const void *node)
{
    const uint64_t *record;

    note(GP_SEEN_END);
    gp_python_check_loop(thread);
    if (thread->torch.node == (uintptr_t)node) /* what was saved last belongs to it */
        gp_graph_settle(thread);
    pthread_mutex_lock(&lock);
    record = gp_live_find(&nodes, (uintptr_t)node);
    if (record != NULL)
        end_with_shared(thread, record);
    pthread_mutex_unlock(&lock);
    if (thread->torch.node == (uintptr_t)node)
        thread->torch.node = 0;
}

/* --- its beginning -------------------------------------------------------------------------------- */

static void add_shared(uint64_t key, uint64_t input)
{
    uint64_t *target = gp_live_find(&nodes, input), *node = gp_live_find(&nodes, key);

    if (target == NULL || node == NULL || !is_shared(target))
        return;
    target[NODE_FLAGS] += UINT64_C(1) << NODE_EDGES_SHIFT;
    for (int i = 0; i < SHARED_MAX; i++)
        if (node[NODE_SHARED + i] == 0) {
            node[NODE_SHARED + i] = input;
            return;
        }
    gp_count(GP_COUNTER_torch_cut_edges); /* it will seem to live on */
}

static void begin_node(struct gp_thread *thread, uint64_t key, int depth, const uint64_t *known,
                       size_t known_count);

static void log_edges(struct gp_thread *thread, uint64_t key, int depth, const uint64_t *known,
                      size_t known_count)
{
    uint64_t inputs[GP_EDGES_MAX];
    size_t count = gp_layout_edges((const void *)(uintptr_t)key, known, known_count, inputs);

    for (size_t i = 0; i < count; i++) {
        struct gp_record record = {
            .type = GP_EV_EDGE, .key = key, .a = inputs[i], .detail = (uint32_t)i};
        if (inputs[i] == 0)
            continue;
        begin_node(thread, inputs[i], depth + 1, NULL, 0);
        add_shared(key, inputs[i]);
        gp_event(thread, &record);
    }
}

/* Tells of the node unless it is known. A shared one may have gone unseen, and another object
 * lies there now: then its kind differs. */
static void begin_node(struct gp_thread *thread, uint64_t key, int depth, const uint64_t *known,
                       size_t known_count)
{
    struct gp_record record = {.type = GP_EV_NODE, .key = key};
    uint32_t op = gp_op_of((const void *)(uintptr_t)key);
    uint64_t *node = gp_live_find(&nodes, key);

    if (node != NULL && node[NODE_OP] == op)
        return;
    if (node != NULL)
        end_with_shared(thread, node);
    node = depth > DEPTH_MAX ? NULL : gp_live_add(&nodes, key);
    if (node == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_op_name(op));
    record.stack_id = thread->torch_stack_id;
    record.scope_id = gp_current_scope_id(thread);
    record.detail = gp_op_is_accumulator(op);
    node[NODE_OP] = op;
    node[NODE_STACK] = record.stack_id;
    gp_event(thread, &record);
    if (!gp_op_is_accumulator(op))
        log_edges(thread, key, depth, known, gp_op_is_shared(op) ? 0 : known_count);
}

/* --- saved tensors -------------------------------------------------------------------------------- */

static void log_save(struct gp_thread *thread, uint64_t *node, uint64_t storage,
                     struct gp_entry *slot)
{
    struct gp_record record = {.type = GP_EV_SAVE, .key = node[NODE_KEY]};

    record.a = gp_blocks_is_recorded(storage) ? storage : 0;
    record.name_id = gp_name_id(thread, slot);
    gp_event(thread, &record);
}

static void fill_slot(struct gp_thread *thread, uint64_t *node, const struct gp_torch_save *save,
                      uint64_t address, struct gp_entry *name)
{
    uint64_t *slot = gp_live_add(&slots, address);

    log_save(thread, node, save->storage, name);
    if (slot == NULL)
        return;
    slot[SLOT_NODE] = node[NODE_KEY];
    slot[SLOT_NEXT] = node[NODE_SLOT];
    slot[SLOT_NAME] = (uintptr_t)name;
    node[NODE_SLOT] = address;
}

static bool is_free_slot(uint64_t address)
{
    return gp_live_find(&slots, address) == NULL;
}

static bool place_save(struct gp_thread *thread, uint64_t *node, const struct gp_torch_save *save)
{
    uint64_t address;
    uint32_t number;

    if (is_shared(node))
        return false;
    address = gp_slot_find(node[NODE_KEY], save->impl, is_free_slot, &number);
    if (address == 0)
        return false;
    fill_slot(thread, node, save, address, gp_op_slot((uint32_t)node[NODE_OP], number));
    return true;
}

/* What waits now belongs to `node`. `last`: whatever was saved after it was attached does, even if
 * its place is not in the node (functions of the program's own keep their tensors elsewhere). */
static void settle(struct gp_thread *thread, uint64_t *node, bool last)
{
    struct gp_torch_thread *torch = &thread->torch;
    uint32_t kept = 0, elsewhere = 0;

    for (uint32_t i = 0; i < torch->save_count; i++) {
        if (place_save(thread, node, &torch->save[i]))
            continue;
        if (last) {
            log_save(thread, node, torch->save[i].storage,
                     gp_op_slot((uint32_t)node[NODE_OP], GP_SLOT_ELSEWHERE + elsewhere++));
            continue;
        }
        torch->save[kept++] = torch->save[i];
    }
    torch->save_count = kept;
    torch->inputs_saved = kept;
}

void gp_graph_settle(struct gp_thread *thread)
{
    struct gp_torch_thread *torch = &thread->torch;
    uint64_t *node;

    if (torch->save_count == 0 || !gp_session_ready(thread, false))
        return;
    pthread_mutex_lock(&lock);
    node = torch->node == 0 ? NULL : gp_live_find(&nodes, torch->node);
    if (node != NULL)
        settle(thread, node, true);
    pthread_mutex_unlock(&lock);
}

void gp_graph_saved(struct gp_thread *thread, const void *impl)
{
    struct gp_torch_thread *torch = &thread->torch;

    note(GP_SEEN_SAVE);
    if (impl == NULL) /* packed by a hook of the program's: the slot is empty */
        return;
    if (torch->save_count == GP_TORCH_SAVES_MAX) {
        gp_count(GP_COUNTER_torch_unplaced_saves);
        torch->save_count--;
        memmove(torch->save, torch->save + 1, torch->save_count * sizeof(torch->save[0]));
    }
    torch->save[torch->save_count++] =
        (struct gp_torch_save){(uintptr_t)impl, gp_layout_storage(impl)};
}

void gp_graph_slot_reset(struct gp_thread *thread, const void *slot)
{
    struct gp_record record = {.type = GP_EV_RELEASE}, backward = {.type = GP_EV_NODE_BACKWARD};
    uint64_t *found, *node, *link;

    note(GP_SEEN_RELEASE);
    gp_graph_settle(thread);
    pthread_mutex_lock(&lock);
    found = gp_live_find(&slots, (uintptr_t)slot);
    node = found == NULL ? NULL : gp_live_find(&nodes, found[SLOT_NODE]);
    if (node != NULL && gp_session_ready(thread, false)) {
        record.key = backward.key = node[NODE_KEY];
        if (!(node[NODE_FLAGS] & NODE_IN_BACKWARD))
            gp_event(thread, &backward);
        node[NODE_FLAGS] |= NODE_IN_BACKWARD;
        record.name_id = gp_name_id(thread, (struct gp_entry *)(uintptr_t)found[SLOT_NAME]);
        gp_event(thread, &record);
        for (link = &node[NODE_SLOT]; *link != 0 && *link != (uintptr_t)slot;)
            link = &gp_live_find(&slots, *link)[SLOT_NEXT];
        *link = found[SLOT_NEXT];
        gp_live_remove(&slots, (uintptr_t)slot);
    }
    pthread_mutex_unlock(&lock);
}

/* --- edges and outputs ---------------------------------------------------------------------------- */

void gp_graph_edge(struct gp_thread *thread, const void *node)
{
    struct gp_torch_thread *torch = &thread->torch;

    note(GP_SEEN_EDGE);
    if (torch->edge_count == 0) /* a new operation begins */
        gp_graph_settle(thread);
    if (torch->edge_count == GP_TORCH_EDGES_MAX) {
        torch->edge_count--;
        memmove(torch->edge, torch->edge + 1, torch->edge_count * sizeof(torch->edge[0]));
    }
    torch->edge[torch->edge_count++] = (uintptr_t)node;
}

void gp_graph_attached(struct gp_thread *thread, const void *node)
{
    struct gp_torch_thread *torch = &thread->torch;
    uint64_t *record;

    note(GP_SEEN_NODE);
    if (node == NULL || !gp_blocks_start(thread))
        return;
    thread->torch_stack_id = gp_python_stack_id(thread);
    pthread_mutex_lock(&lock);
    begin_node(thread, (uintptr_t)node, 0, torch->edge, torch->edge_count);
    record = gp_live_find(&nodes, (uintptr_t)node);
    if (record != NULL)
        settle(thread, record, false);
    pthread_mutex_unlock(&lock);
    torch->node = (uintptr_t)node;
    torch->edge_count = 0;
}

/* --- for walkers ---------------------------------------------------------------------------------- */

int gp_graph_is_node(uint64_t address, uint32_t *ret_stack_id)
{
    pthread_mutex_lock(&lock);
    const uint64_t *node = address == 0 ? NULL : gp_live_find(&nodes, address);
    if (node != NULL)
        *ret_stack_id = (uint32_t)node[NODE_STACK];
    pthread_mutex_unlock(&lock);
    return node != NULL;
}
