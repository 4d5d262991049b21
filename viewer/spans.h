/* SPDX-License-Identifier: MIT */
/*
 * The run cut into its steps, for everything that looks at growth. Span k (1 ... count) is all that
 * happened after the close of the step before it and up to the close of step k, so that every event
 * lies in one span; span 0 is what came before the first step. The last span is an unfinished step
 * when the run ended in a refused allocation.
 */
#ifndef GV_SPANS_H
#define GV_SPANS_H

#include "viewer/run.h"

struct gv_spans {
    int64_t begin_seq; /* where the first step opened */
    int64_t *end_seq;  /* end_seq[k - 1]: the last event of span k */
    uint32_t *step_id; /* step_id[k - 1]: the step that span k is named after */
    uint32_t count;
    uint32_t depth;       /* nesting level of these steps, 0: outermost */
    int64_t shortest_seq; /* events of the shortest span: what crosses a whole span is longer */
};

#define GV_STEPS_TO_JUDGE 5 /* fewer completed steps say nothing about growth */

/* Steps of the outermost level that has at least three of them. 0 or -ENOMEM. */
int gv_spans_make(const struct gv_run *run, struct gv_spans *ret_spans);
void gv_spans_free(struct gv_spans *spans);

uint32_t gv_span_of(const struct gv_spans *spans, int64_t seq); /* count + 1 after the last */

#endif
