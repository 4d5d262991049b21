/* SPDX-License-Identifier: MIT */
/*
 * The recorded run once more, with something changed. Every object's end is recomputed from its
 * holders: what holds a node or a storage longest says when it goes. Where nothing changed, or where
 * the record shows that something unseen held it, the recorded end stays; so a replay without a
 * change is the recorded run to the byte.
 */
#ifndef GV_REPLAY_H
#define GV_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/memory.h"
#include "viewer/names.h"
#include "viewer/query.h"
#include "viewer/run.h"

#define GV_NEVER INT64_MAX /* not freed in this run */

struct gv_replay_storage {
    int64_t begin, end, new_end; /* seq */
    int64_t old_hold, new_hold;  /* the longest holder's end, recorded and now; 0: none seen */
    int64_t again_begin;         /* recomputed for a backward: lives again from here to `end`; 0 */
    uint64_t size_bytes;         /* 0: not device memory */
};

struct gv_replay_node {
    int64_t begin, end, new_end;
    int64_t old_hold, new_hold;
    int64_t backward;
    uint32_t op_id, scope_id, step_id;
    bool gone; /* never made: --no-grad */
    bool recomputed;
    /* recomputed: the region's first and last node, and its first visit by a backward */
    int64_t scope_begin, scope_end, scope_backward;
};

struct gv_replay_handle {
    int64_t begin, end;
    uint32_t node, storage, name_id;
    bool cut; /* holds its tensor, but not the tensor's graph */
};

struct gv_replay_saved {
    int64_t begin, end;
    uint32_t node, storage, source;
};

struct gv_replay_edge {
    uint32_t node, input;
    bool cut;
};

struct gv_replay {
    struct gv_index storage_index, node_index;
    struct gv_replay_storage *storages;
    struct gv_replay_node *nodes;
    struct gv_replay_handle *handles; /* sorted by node once loaded */
    struct gv_replay_saved *saved;    /* sorted by node */
    struct gv_replay_edge *edges;     /* sorted by node */
    uint32_t handle_count, saved_count, edge_count;
    uint32_t storage_capacity, node_capacity, handle_capacity, saved_capacity, edge_capacity;
};

int gv_replay_load(struct gv_query *query, struct gv_replay *ret_replay);
void gv_replay_free(struct gv_replay *replay);

/* The changes; each returns how much it applies to, 0: nothing of that name. */
uint32_t gv_replay_detach(struct gv_replay *replay, const struct gv_names *names, const char *what);
uint32_t gv_replay_no_grad(struct gv_replay *replay, const struct gv_names *names,
                           const char *scope);
uint32_t gv_replay_checkpoint(struct gv_replay *replay, const struct gv_names *names,
                              const char *scope);

/* Recomputes all ends. 0 or -ENOMEM. */
int gv_replay_run(struct gv_replay *replay, const struct gv_run *run);

struct gv_replay_change {
    int64_t seq;
    int64_t bytes;
};

/* The timeline in order of seq; to be freed. `changed`: as recomputed, else as recorded. */
int gv_replay_timeline(const struct gv_replay *replay, bool changed,
                       struct gv_replay_change **ret_changes, uint32_t *ret_count);

#endif
