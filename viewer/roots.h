/* SPDX-License-Identifier: MIT */
/*
 * Roots: what the program itself holds. Handles that a reader would call the same thing are one
 * root: all parameters, all handles of one name given on one line, all handles on the same tensor.
 */
#ifndef GV_ROOTS_H
#define GV_ROOTS_H

#include <stdint.h>

#include "viewer/rows.h"
#include "viewer/sites.h"

/* Roles of the annotation API whose roots hold a program's state, never its graphs by mistake. */
enum gv_state_role { GV_ROLE_PARAMETER = 1, GV_ROLE_OPTIMIZER_STATE = 3 };

struct gv_graphs { /* nodes that something keeps alive */
    uint32_t nodes;
    uint32_t
        graphs; /* distinct steps they were made in, AccumulateGrad left out; 1 when the run has
                        no steps */
    uint32_t first_step, last_step; /* of the same nodes; 0: none */
};

struct gv_root {
    uint32_t role;    /* enum gradprof_role when the root is a whole role ("parameters"), else 0 */
    uint32_t name_id; /* of its oldest named handle; 0: unnamed */
    uint32_t site;    /* where that handle got its name */
    uint32_t handles;
    uint32_t tensors; /* distinct ones among them: two handles on one tensor are one */
    /* filled by retention */
    uint64_t retained_bytes; /* freed if all its handles went */
    uint64_t own_bytes;      /* the tensors themselves, shared or not */
    uint64_t detach_bytes;   /* freed if its handles kept their tensors but not their graphs */
    struct gv_graphs kept;   /* nodes that nothing else keeps alive */
};

struct gv_roots {
    struct gv_root *roots;
    uint32_t count, capacity;
    uint32_t *of_handle; /* by handle of the rows: root, GV_NONE when not live at the moment */
};

/* Roots at moment `index` of `rows`, in order of their oldest handle. */
int gv_roots_make(struct gv_query *query, const struct gv_rows *rows, int index,
                  struct gv_sites *sites, struct gv_roots *ret_roots);
void gv_roots_free(struct gv_roots *roots);

/* "y_sum", "parameters (16)", "(unnamed)" */
void gv_root_title(const struct gv_root *root, const char *name, char *ret_title, size_t size);

#endif
