/* SPDX-License-Identifier: MIT */
/*
 * Dominator tree of a directed graph (cycles allowed) with one entry vertex, by Lengauer and
 * Tarjan's algorithm with path compression: O(edges * log(vertices)), no recursion, since a chain of
 * ten million nodes is an ordinary input.
 *
 * x dominates y when every path from the entry to y goes through x. If x were taken away, exactly
 * what it dominates would become unreachable; hence "retained".
 */
#ifndef GV_DOMINATOR_H
#define GV_DOMINATOR_H

#include <stdint.h>

/* The graph by compressed rows: successors of v are to[first[v]] ... to[first[v + 1] - 1]. */
struct gv_digraph {
    uint32_t vertices, edges;
    uint32_t *first; /* vertices + 1 */
    uint32_t *to;    /* edges */
};

/* Edges are pairs (from[i], to[i]); `reverse` exchanges them. 0 or -ENOMEM. */
int gv_digraph_build(uint32_t vertices, uint32_t edges, const uint32_t *from, const uint32_t *to,
                     struct gv_digraph *ret_graph);
void gv_digraph_free(struct gv_digraph *graph);

struct gv_dominators {
    uint32_t reached;   /* vertices reachable from the entry, itself included */
    uint32_t *preorder; /* reached entries: every vertex comes after the one that dominates it */
    uint32_t *idom;     /* by vertex: immediate dominator; the entry's own is itself; GV_NONE when
                           not reachable */
};

/* `successors` is consumed (freed) on the way to keep the peak low; `predecessors` stays.
 * 0 or -ENOMEM. */
int gv_dominators_build(struct gv_digraph *successors, const struct gv_digraph *predecessors,
                        uint32_t entry, struct gv_dominators *ret_dominators);
void gv_dominators_free(struct gv_dominators *dominators);

#endif
