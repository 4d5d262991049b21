/* SPDX-License-Identifier: MIT */
/* Findings of a run: what is kept from step to step, by structure (a variable reaches the graphs of
 * several earlier steps) and by growth (see growth.h). */
#ifndef GV_LEAKS_H
#define GV_LEAKS_H

#include "viewer/finding.h"
#include "viewer/names.h"
#include "viewer/query.h"
#include "viewer/rows.h"
#include "viewer/run.h"
#include "viewer/sites.h"
#include "viewer/spans.h"

struct gv_leaks {
    struct gv_finding *findings; /* most important first; `expected` ones last */
    uint32_t count, capacity;
    uint32_t notes; /* of them, the expected ones */
    uint32_t steps; /* that were looked at */
    bool can_judge; /* enough steps to tell that nothing grows */
};

struct gv_leaks_input {
    struct gv_query *query;
    const struct gv_names *names;
    const struct gv_run *run;
    struct gv_sites *sites;
    uint64_t run_end_unix_ns;
    const struct gv_rows *rows; /* of some moments, to save a pass over the tables; may be NULL */
};

/* 0 or a negative errno with a line in query->error. */
int gv_leaks_make(const struct gv_leaks_input *input, struct gv_leaks *ret_leaks);
void gv_leaks_free(struct gv_leaks *leaks);

#endif
