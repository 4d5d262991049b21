/* SPDX-License-Identifier: MIT */
/* What the files leaks*.c share: one moment of the run, the close of span `now`. */
#ifndef GV_LEAKS_PRIVATE_H
#define GV_LEAKS_PRIVATE_H

#include "viewer/clusters.h"
#include "viewer/dominator.h"
#include "viewer/growth.h"
#include "viewer/leaks.h"
#include "viewer/tally.h"

struct gv_scene {
    const struct gv_leaks_input *in;
    const struct gv_spans *spans;
    uint32_t now; /* the span whose close is looked at */
    bool last;    /* it is the last one of the run */
    struct gv_rows rows;
    struct gv_roots roots;
    struct gv_clusters clusters;
    struct gv_digraph inputs; /* node -> nodes it keeps alive, at the moment */
    uint32_t *node_span;      /* by node: span it was made in; 0 also for AccumulateGrad */
    uint32_t *carrier_edges;  /* by cluster: graph edges from one step into an earlier one that
                                   end at a node which the cluster held */
    uint32_t *reached;        /* by node: clusters' walks stamp it here */
    uint32_t stamp;
    uint32_t *queue, *came_from; /* of the last walk: nodes in order, and by node its holder */
    uint32_t queue_length;
    uint8_t *explained; /* by cluster: it is part of a finding */
    uint8_t *counted;   /* by allocation: it is part of a finding */
    struct gv_leaks *out;
};

/* leaks_scene.c */
int gv_scene_make(struct gv_scene *scene);
void gv_scene_free(struct gv_scene *scene);
/* Stamps and queues every node that the cluster's handles reach. `stamp` 0: a new one. Returns the
 * stamp. */
uint32_t gv_scene_walk(struct gv_scene *scene, uint32_t cluster, uint32_t stamp);
bool gv_scene_is_live(uint8_t live);
/* A finding with place, source and root filled in; NULL: no memory. */
struct gv_finding *gv_scene_finding(struct gv_scene *scene, enum gv_class class);
void gv_scene_name_cluster(struct gv_scene *scene, uint32_t cluster, struct gv_finding *finding);
void gv_scene_source(struct gv_scene *scene, struct gv_finding *finding);
/* Nodes of an earlier step live: only then graphs must be looked at. */
bool gv_scene_has_old_nodes(const struct gv_scene *scene);
/* Allocation that counts as device memory of its own. */
bool gv_scene_counts(const struct gv_scene *scene, const struct gv_allocation *a);

/* leaks_past.c: what outlived a later step and is gone by now, by (key a, key b) -> spans */
struct gv_past {
    struct gv_tally spans; /* (a, b, span made in) -> count; value: last span of its life */
    uint64_t used_later;   /* nodes only: visited by a backward in a later span than their own */
};
int gv_past_handles(struct gv_scene *scene, struct gv_past *ret_past);     /* (pattern, site) */
int gv_past_nodes(struct gv_scene *scene, struct gv_past *ret_past);       /* (op, 0) */
int gv_past_allocations(struct gv_scene *scene, struct gv_past *ret_past); /* (site, 0) */
void gv_past_fill(const struct gv_past *past, uint32_t a, uint32_t b,
                  struct gv_survivors *survivors);
void gv_past_free(struct gv_past *past);
int gv_past_carriers(struct gv_scene *scene); /* fills carrier_edges */

/* leaks_graph.c, leaks_tensor.c: add to scene->out. 0 or a negative errno. */
int gv_leaks_graphs(struct gv_scene *scene, const struct gv_past *nodes);
int gv_leaks_tensors(struct gv_scene *scene);
int gv_leaks_lost(struct gv_scene *scene);

/* leaks_advice.c */
struct gv_graph_traits { /* what the advice depends on */
    bool accumulates;    /* one operation's results feed the same operation in the next step */
    bool carried;        /* the chain goes from step to step through this variable */
    bool collection;     /* many handles, each with a graph of its own */
    bool visited;        /* a backward went through most of the old nodes */
    bool told_to_keep;   /* most of their saved tensors outlived a backward through them */
    bool validation;     /* nodes made in a scope that says so */
    bool cloned;         /* the path begins with a copy that keeps history */
    bool gradient;       /* the root is a gradient */
    bool small;          /* single numbers */
};
/* `head`: the operation that the variable is the result of. */
void gv_advise_graph(struct gv_finding *finding, const struct gv_graph_traits *traits,
                     const char *head);
void gv_advise_tensor(struct gv_finding *finding);
void gv_advise_lost(struct gv_finding *finding);

#endif
