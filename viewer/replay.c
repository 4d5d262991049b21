/* SPDX-License-Identifier: MIT */
#include "viewer/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/clusters.h"

/* --- changes --- */

/* "losses" and "losses[*]" mean themselves and whatever differs from them in numbers only. */
static bool matches(const char *name, const char *wanted)
{
    char pattern[1024];
    if (!name)
        return false;
    if (strcmp(name, wanted) == 0)
        return true;
    gv_name_pattern(name, pattern, sizeof(pattern));
    return strcmp(pattern, wanted) == 0;
}

uint32_t gv_replay_detach(struct gv_replay *replay, const struct gv_names *names, const char *what)
{
    char from[1024], to[1024] = "";
    const char *arrow = strstr(what, "->");
    size_t length = arrow ? (size_t)(arrow - what) : strlen(what);
    while (length > 0 && what[length - 1] == ' ')
        length--;
    if (length == 0 || length >= sizeof(from))
        return 0;
    memcpy(from, what, length);
    from[length] = '\0';
    if (arrow)
        strncat(to, arrow + 2 + strspn(arrow + 2, " "), sizeof(to) - 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < replay->handle_count; i++) {
        struct gv_replay_handle *handle = &replay->handles[i];
        if (handle->node == GV_NONE || !matches(gv_name(names, handle->name_id), from))
            continue;
        const char *op = gv_name(names, replay->nodes[handle->node].op_id);
        if (*to && (!op || strcmp(op, to) != 0))
            continue;
        handle->cut = true;
        count++;
    }
    for (uint32_t i = 0; *to && i < replay->edge_count; i++) {
        struct gv_replay_edge *edge = &replay->edges[i];
        const char *op = gv_name(names, replay->nodes[edge->node].op_id);
        const char *input = gv_name(names, replay->nodes[edge->input].op_id);
        bool fits = op && input && strcmp(op, from) == 0 && strcmp(input, to) == 0;
        edge->cut = edge->cut || fits;
        count += fits;
    }
    return count;
}

static bool is_inside(const struct gv_names *names, uint32_t scope_id, const char *wanted)
{
    uint32_t i = gv_index_find(&names->scope_index, scope_id);
    for (; i != GV_NONE; i = names->scopes[i].parent) {
        const char *name = gv_name(names, names->scopes[i].name_id);
        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

uint32_t gv_replay_no_grad(struct gv_replay *replay, const struct gv_names *names,
                           const char *scope)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < replay->node_index.count; i++) {
        struct gv_replay_node *node = &replay->nodes[i];
        bool inside = is_inside(names, node->scope_id, scope);
        node->gone = node->gone || inside;
        count += inside;
    }
    return count;
}

/* Nodes of one region: those of the scope that one step made one after the other. */
static void close_region(struct gv_replay *replay, uint32_t first, uint32_t last, uint32_t step_id)
{
    int64_t end = replay->nodes[last].begin, backward = 0;
    for (uint32_t i = first; i <= last; i++) {
        int64_t visit = replay->nodes[i].backward;
        if (replay->nodes[i].recomputed && visit > 0 && (!backward || visit < backward))
            backward = visit;
    }
    for (uint32_t i = first; i <= last; i++) {
        if (!replay->nodes[i].recomputed || replay->nodes[i].step_id != step_id)
            continue;
        replay->nodes[i].scope_begin = replay->nodes[first].begin;
        replay->nodes[i].scope_end = end;
        replay->nodes[i].scope_backward = backward;
    }
}

uint32_t gv_replay_checkpoint(struct gv_replay *replay, const struct gv_names *names,
                              const char *scope)
{
    uint32_t count = 0, first = GV_NONE, last = GV_NONE;
    for (uint32_t i = 0; i < replay->node_index.count; i++) {
        struct gv_replay_node *node = &replay->nodes[i];
        if (!is_inside(names, node->scope_id, scope))
            continue;
        node->recomputed = true;
        count++;
        if (first != GV_NONE && node->step_id != replay->nodes[first].step_id) {
            close_region(replay, first, last, replay->nodes[first].step_id);
            first = i;
        }
        first = first == GV_NONE ? i : first;
        last = i;
    }
    if (first != GV_NONE)
        close_region(replay, first, last, replay->nodes[first].step_id);
    return count;
}

/* --- new ends --- */

struct player {
    struct gv_replay *replay;
    const struct gv_run *run;
    uint32_t *first_handle; /* by node: handles [first, next first) */
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* At `seq` the program could reach the node by a cut variable only: there, it has no graph. */
static bool reached_by_cut(const struct player *p, uint32_t node, int64_t seq)
{
    bool cut = false;
    for (uint32_t i = p->first_handle[node]; i < p->first_handle[node + 1]; i++) {
        const struct gv_replay_handle *handle = &p->replay->handles[i];
        if (handle->begin > seq || handle->end <= seq)
            continue;
        if (!handle->cut)
            return false;
        cut = true;
    }
    return cut;
}

#define ALIASES_MAX 64 /* handles of one node that are looked at, back from the newest */

/* A second handle that is made while only cut variables lead to the node has no graph either. */
static void cut_aliases(struct player *p)
{
    for (uint32_t i = 0; i < p->replay->handle_count; i++) {
        struct gv_replay_handle *handle = &p->replay->handles[i];
        bool cut = false, held = false;
        if (handle->node == GV_NONE)
            break; /* sorted by node: no more of them */
        uint32_t first = p->first_handle[handle->node];
        first = i - first > ALIASES_MAX ? i - ALIASES_MAX : first;
        for (uint32_t k = first; k < i; k++) {
            const struct gv_replay_handle *other = &p->replay->handles[k];
            bool covers = other->begin < handle->begin && other->end > handle->begin;
            cut = cut || (covers && other->cut);
            held = held || (covers && !other->cut);
        }
        handle->cut = handle->cut || (cut && !held);
    }
}

/* The recorded end stays when the holders did not change, or when none of them explains it: one that
 * was not seen held on past the close of a step. */
static int64_t new_end(const struct player *p, int64_t end, int64_t old_hold, int64_t new_hold,
                       int64_t begin)
{
    if (old_hold == 0 || new_hold >= old_hold)
        return end;
    if (old_hold < end && end != GV_NEVER) {
        const struct gv_step *step = gv_step_at(p->run, old_hold);
        if (step && step->completed && end > step->end_seq + 1 && old_hold < step->end_seq)
            return end;
    }
    return later(new_hold, begin);
}

static void hold_node(struct gv_replay *replay, uint32_t node, int64_t old_end, int64_t end)
{
    replay->nodes[node].old_hold = later(replay->nodes[node].old_hold, old_end);
    replay->nodes[node].new_hold = later(replay->nodes[node].new_hold, end);
}

static void hold_storage(struct gv_replay *replay, uint32_t storage, int64_t old_end, int64_t end)
{
    replay->storages[storage].old_hold = later(replay->storages[storage].old_hold, old_end);
    replay->storages[storage].new_hold = later(replay->storages[storage].new_hold, end);
}

static void play_handles(struct gv_replay *replay)
{
    for (uint32_t i = 0; i < replay->handle_count; i++) {
        const struct gv_replay_handle *handle = &replay->handles[i];
        if (handle->node != GV_NONE)
            hold_node(replay, handle->node, handle->end, handle->cut ? handle->begin : handle->end);
        if (handle->storage != GV_NONE)
            hold_storage(replay, handle->storage, handle->end, handle->end);
    }
}

static void play_saved(const struct player *p, const struct gv_replay_node *node,
                       const struct gv_replay_saved *saved)
{
    struct gv_replay *replay = p->replay;
    int64_t end = node->gone ? saved->begin : earlier(saved->end, node->new_end);
    if (saved->source != GV_NONE) {
        bool lost = node->gone || reached_by_cut(p, saved->source, saved->begin);
        hold_node(replay, saved->source, saved->end, lost ? 0 : end);
    }
    if (saved->storage == GV_NONE)
        return;
    struct gv_replay_storage *storage = &replay->storages[saved->storage];
    bool outside = storage->begin < node->scope_begin; /* the region's input: it is kept */
    bool inner = node->recomputed && !outside && end > node->scope_end;
    if (inner && node->scope_backward > 0 && node->scope_backward < end)
        storage->again_begin = storage->again_begin
                                   ? earlier(storage->again_begin, node->scope_backward)
                                   : node->scope_backward;
    hold_storage(replay, saved->storage, saved->end,
                 inner ? later(node->scope_end, saved->begin) : end);
}

/* Holders are younger than what they hold: from the youngest node to the oldest, each end is known
 * before it is needed. */
static void play_nodes(const struct player *p)
{
    struct gv_replay *replay = p->replay;
    uint32_t saved = replay->saved_count, edge = replay->edge_count;
    for (uint32_t i = replay->node_index.count; i > 0; i--) {
        struct gv_replay_node *node = &replay->nodes[i - 1];
        node->new_end = node->gone
                            ? node->begin
                            : new_end(p, node->end, node->old_hold, node->new_hold, node->begin);
        for (; saved > 0 && replay->saved[saved - 1].node == i - 1; saved--)
            play_saved(p, node, &replay->saved[saved - 1]);
        for (; edge > 0 && replay->edges[edge - 1].node == i - 1; edge--) {
            const struct gv_replay_edge *e = &replay->edges[edge - 1];
            bool lost = e->cut || node->gone || reached_by_cut(p, e->input, node->begin);
            hold_node(replay, e->input, node->end, lost ? 0 : node->new_end);
        }
    }
}

int gv_replay_run(struct gv_replay *replay, const struct gv_run *run)
{
    struct player p = {replay, run, NULL};
    uint32_t nodes = replay->node_index.count, at = 0;
    p.first_handle = gv_zeroed((size_t)nodes + 1, sizeof(*p.first_handle));
    if (!p.first_handle)
        return -ENOMEM;
    for (uint32_t node = 0; node <= nodes; node++) {
        while (at < replay->handle_count && replay->handles[at].node < node)
            at++;
        p.first_handle[node] = at;
    }
    cut_aliases(&p);
    play_handles(replay);
    play_nodes(&p);
    for (uint32_t i = 0; i < replay->storage_index.count; i++) {
        struct gv_replay_storage *s = &replay->storages[i];
        s->new_end = new_end(&p, s->end, s->old_hold, s->new_hold, s->begin);
    }
    free(p.first_handle);
    return 0;
}

/* --- timeline --- */

static int by_seq(const void *left, const void *right)
{
    const struct gv_replay_change *a = left, *b = right;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; /* frees first */
}

int gv_replay_timeline(const struct gv_replay *replay, bool changed,
                       struct gv_replay_change **ret_changes, uint32_t *ret_count)
{
    uint32_t count = 0, storages = replay->storage_index.count;
    if (storages >= GV_NONE / 4)
        return -EOVERFLOW;
    struct gv_replay_change *changes = gv_zeroed(4 * (size_t)storages, sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    for (uint32_t i = 0; i < storages; i++) {
        const struct gv_replay_storage *s = &replay->storages[i];
        int64_t size = (int64_t)s->size_bytes, end = changed ? s->new_end : s->end;
        if (size == 0)
            continue;
        changes[count++] = (struct gv_replay_change){s->begin, size};
        if (end != GV_NEVER)
            changes[count++] = (struct gv_replay_change){end, -size};
        if (!changed || s->again_begin == 0 || s->again_begin <= end)
            continue;
        changes[count++] = (struct gv_replay_change){s->again_begin, size};
        if (s->end != GV_NEVER)
            changes[count++] = (struct gv_replay_change){s->end, -size};
    }
    if (count > 1)
        qsort(changes, count, sizeof(*changes), by_seq);
    *ret_changes = changes;
    *ret_count = count;
    return 0;
}
