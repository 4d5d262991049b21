/* SPDX-License-Identifier: MIT */
#include "viewer/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8

static uint32_t depth_of(const struct gv_run *run, const struct gv_step *step)
{
    uint32_t depth = 0;
    while (step && step->parent_id && step->parent_id < step->id && depth < DEPTH_MAX) {
        step = gv_step_find(run, step->parent_id);
        depth++;
    }
    return depth;
}

/* The outermost level with three steps or more, else the one with most steps. */
static uint32_t choose_depth(const struct gv_run *run)
{
    uint32_t counts[DEPTH_MAX + 1] = {0}, best = 0;
    for (uint32_t i = 0; i < run->step_count; i++)
        counts[depth_of(run, &run->steps[i])]++;
    for (uint32_t depth = 0; depth <= DEPTH_MAX; depth++) {
        if (counts[depth] >= 3)
            return depth;
        if (counts[depth] > counts[best])
            best = depth;
    }
    return best;
}

static int by_end(const void *left, const void *right)
{
    const struct gv_step *a = *(const struct gv_step *const *)left;
    const struct gv_step *b = *(const struct gv_step *const *)right;
    return a->end_seq < b->end_seq ? -1 : a->end_seq > b->end_seq;
}

static void add(struct gv_spans *spans, int64_t end_seq, uint32_t step_id)
{
    int64_t before = spans->count ? spans->end_seq[spans->count - 1] : spans->begin_seq;
    if (end_seq <= before)
        return; /* steps of another thread that closed at the same event */
    if (spans->count == 0 || end_seq - before < spans->shortest_seq)
        spans->shortest_seq = end_seq - before;
    spans->end_seq[spans->count] = end_seq;
    spans->step_id[spans->count++] = step_id;
}

/* A refusal after the last completed step: the run died in the step after it. */
static void add_refusal(const struct gv_run *run, struct gv_spans *spans)
{
    if (run->failure_count == 0 || run->step_count == 0)
        return;
    const struct gv_failure *failure = &run->failures[run->failure_count - 1];
    uint32_t step_id = failure->step_id;
    const struct gv_step *step = gv_step_find(run, step_id);
    while (step && step->parent_id && depth_of(run, step) > spans->depth)
        step = gv_step_find(run, step->parent_id);
    add(spans, failure->seq, step ? step->id : step_id);
}

int gv_spans_make(const struct gv_run *run, struct gv_spans *ret_spans)
{
    struct gv_spans spans = {.depth = choose_depth(run), .shortest_seq = 1, .begin_seq = INT64_MAX};
    const struct gv_step **steps = calloc((size_t)run->step_count + 1, sizeof(struct gv_step *));
    spans.end_seq = calloc((size_t)run->step_count + 2, sizeof(*spans.end_seq));
    spans.step_id = calloc((size_t)run->step_count + 2, sizeof(*spans.step_id));
    if (!steps || !spans.end_seq || !spans.step_id) {
        free(steps);
        gv_spans_free(&spans);
        return -ENOMEM;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->step_count; i++) {
        const struct gv_step *step = &run->steps[i];
        if (depth_of(run, step) != spans.depth)
            continue;
        if (step->begin_seq < spans.begin_seq)
            spans.begin_seq = step->begin_seq;
        if (step->completed)
            steps[count++] = step;
    }
    if (count > 1)
        qsort(steps, count, sizeof(struct gv_step *), by_end);
    for (uint32_t i = 0; i < count; i++)
        add(&spans, steps[i]->end_seq, steps[i]->id);
    add_refusal(run, &spans);
    free(steps);
    *ret_spans = spans;
    return 0;
}

void gv_spans_free(struct gv_spans *spans)
{
    free(spans->end_seq);
    free(spans->step_id);
    memset(spans, 0, sizeof(*spans));
}

uint32_t gv_span_of(const struct gv_spans *spans, int64_t seq)
{
    if (seq < spans->begin_seq)
        return 0;
    uint32_t low = 0, high = spans->count; /* the first span that ends at or after seq */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans->end_seq[middle] >= seq)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}
