/* SPDX-License-Identifier: MIT */
/*
 * What each root keeps alive, by the dominator tree of
 *
 *     entry -> root -> its tensors' storages
 *              root -> its graph edge -> node -> input nodes, saved storages, nodes of saved tensors
 *
 * A storage or node is *retained* by a root when every path to it goes through that root. What two
 * or more roots reach by separate paths is *shared*; live storage that no root reaches is the *rest*.
 * So retained + shared + rest = live bytes, exactly.
 */
#ifndef GV_RETENTION_H
#define GV_RETENTION_H

#include <stdint.h>

#include "viewer/dominator.h"
#include "viewer/owners.h"
#include "viewer/roots.h"
#include "viewer/rows.h"
#include "viewer/tally.h"

#define GV_HOLDERS_MAX 4
#define GV_PATH_MAX 64

struct gv_retention {
    uint64_t retained_bytes, shared_bytes, rest_bytes, live_bytes;
    uint64_t shared_owner_bytes[GV_OWNER_COUNT], rest_owner_bytes[GV_OWNER_COUNT];
    struct gv_graphs shared, rest;         /* nodes that several roots reach, that none reaches */
    uint32_t shared_roots[GV_HOLDERS_MAX]; /* some that reach the largest shared graph, else the
                                              largest shared storage */
    int shared_root_count;
    uint32_t live_nodes;
    /* (root, op, slot) -> storages counted once, under the first slot that saved them; op 0: held by
     * the root directly. Sorted by bytes. */
    struct gv_tally groups;
    /* the graph, kept for gv_retention_path */
    struct gv_digraph predecessors;
    uint32_t *largest; /* by row of groups: the largest storage in it, as an allocation index */
    uint32_t node_base, allocation_base;
};

/* Fills the roots' figures too. */
int gv_retention_make(struct gv_query *query, const struct gv_rows *rows,
                      const struct gv_names *names, int index, struct gv_roots *roots,
                      struct gv_retention *ret_retention);
void gv_retention_free(struct gv_retention *retention);

struct gv_path {
    uint32_t nodes[GV_PATH_MAX]; /* node indices from the root's side, the first GV_PATH_MAX */
    uint32_t length;             /* nodes on the path, perhaps more than are listed */
    uint32_t last_node;          /* the one that saves the storage; GV_NONE: the root holds it */
    uint32_t slot_id;            /* in which the last node saves the storage */
};

/* Shortest path from `root` to the storage `largest[group]`. 0, -ENOENT: none, or -ENOMEM. */
int gv_retention_path(const struct gv_retention *retention, const struct gv_rows *rows,
                      uint32_t root, uint32_t group, struct gv_path *ret_path);

#endif
