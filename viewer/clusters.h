/* SPDX-License-Identifier: MIT */
/*
 * Roots that a reader would mend at one place: names that differ in numbers only ("losses[3]",
 * "net.layer7.v") and got them on one line. The key of a cluster is the same for dead handles, so
 * that its past can be looked up.
 */
#ifndef GV_CLUSTERS_H
#define GV_CLUSTERS_H

#include "viewer/names.h"
#include "viewer/roots.h"
#include "viewer/rows.h"

struct gv_cluster {
    uint32_t pattern; /* hash of the name with "*" for each number */
    uint32_t site;
    uint32_t first_root; /* index: speaks for the cluster */
    uint32_t roots, handles, tensors;
};

struct gv_clusters {
    struct gv_cluster *clusters;
    uint32_t count, capacity;
    uint32_t *of_root; /* by root */
};

/* 0 or -ENOMEM. */
int gv_clusters_make(const struct gv_names *names, const struct gv_roots *roots,
                     struct gv_clusters *ret_clusters);
void gv_clusters_free(struct gv_clusters *clusters);

uint32_t gv_name_pattern_hash(const char *name); /* NULL is a name too */

/* "losses[*]" of "losses[12]". */
void gv_name_pattern(const char *name, char *ret_pattern, size_t size);

#endif
