/* SPDX-License-Identifier: MIT */
#include "viewer/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/leaks_private.h"

/* --- which moments to look at --- */

/* The span whose close had most live nodes; 0 when none had clearly more than the last. */
static uint32_t fullest_span(const struct gv_run *run, const struct gv_spans *spans)
{
    uint64_t last = 0, most = 0;
    uint32_t fullest = 0;
    for (uint32_t k = 1; k <= spans->count; k++) {
        const struct gv_step *step = gv_step_find(run, spans->step_id[k - 1]);
        if (!step || !step->completed)
            continue;
        last = step->end_nodes;
        if (step->end_nodes > most) {
            most = step->end_nodes;
            fullest = k;
        }
    }
    return most > last + last / 5 ? fullest : 0;
}

static int run_scene(struct gv_scene *scene)
{
    struct gv_past nodes = {0};
    int r = gv_scene_make(scene);
    bool graphs = r == 0 && gv_scene_has_old_nodes(scene);
    if (graphs)
        r = gv_past_nodes(scene, &nodes);
    if (r == 0 && graphs)
        r = gv_leaks_graphs(scene, &nodes);
    if (r == 0 && scene->last)
        r = gv_leaks_tensors(scene);
    if (r == 0 && scene->last)
        r = gv_leaks_lost(scene);
    gv_past_free(&nodes);
    gv_scene_free(scene);
    return r;
}

/* --- sawtooth: what was there at the fullest moment and is gone at the end --- */

struct used {
    const struct gv_spans *spans;
    uint32_t later, all;
};

static int used_row(struct gp_statement *row, void *user)
{
    struct used *used = user;
    uint32_t made = gv_span_of(used->spans, gp_column_int64(row, 0));
    uint32_t gone = gv_span_of(used->spans, gp_column_int64(row, 1));
    if (made == 0 || gone < made + 2)
        return 0;
    used->all++;
    used->later +=
        !gp_column_is_null(row, 2) && gv_span_of(used->spans, gp_column_int64(row, 2)) > made;
    return 0;
}

/* Old nodes that a backward of a later step went through before they went: an accumulated loss, a
 * truncated back-propagation over several steps. By design. */
static int used_by_later_backward(const struct gv_leaks_input *in, const struct gv_spans *spans,
                                  bool *ret_used)
{
    struct used used = {.spans = spans};
    int64_t shortest = spans->shortest_seq;
    int r = gv_each(in->query,
                    "SELECT create_seq, destroy_seq, backward_seq FROM node "
                    "WHERE destroy_seq - create_seq >= ?1",
                    &shortest, 1, used_row, &used);
    *ret_used = used.later * 2 > used.all;
    return r;
}

static bool known(const struct gv_leaks *leaks, uint32_t count, const struct gv_finding *finding)
{
    for (uint32_t i = 0; i < count; i++)
        if (!leaks->findings[i].expected && strcmp(leaks->findings[i].root, finding->root) == 0 &&
            leaks->findings[i].place.line == finding->place.line)
            return true;
    return false;
}

static int look_inside(const struct gv_leaks_input *in, const struct gv_spans *spans, uint32_t span,
                       struct gv_leaks *leaks)
{
    struct gv_scene scene = {.in = in, .spans = spans, .now = span, .out = leaks};
    uint32_t before = leaks->count, kept = before;
    bool used = false;
    int r = run_scene(&scene);
    if (r == 0 && leaks->count > before)
        r = used_by_later_backward(in, spans, &used);
    for (uint32_t i = before; i < leaks->count; i++) {
        struct gv_finding finding = leaks->findings[i];
        if (known(leaks, before, &finding) || finding.class == GV_CLASS_BOUNDED)
            continue;
        finding.period_steps = finding.steps + 1;
        finding.expected = used;
        if (used)
            finding.class = GV_CLASS_BOUNDED;
        leaks->findings[kept++] = finding;
    }
    leaks->count = kept;
    return r;
}

/* --- the rest: when it runs out, order, judgement --- */

#define FORESEEABLE_STEPS 100000000

static void project(const struct gv_leaks_input *in, const struct gv_spans *spans,
                    struct gv_finding *finding)
{
    const struct gv_run *run = in->run;
    uint64_t capacity = 0;
    for (uint32_t i = 0; i < run->device_count; i++) {
        uint64_t own = gv_device_capacity(&run->devices[i]);
        capacity = own && (!capacity || own < capacity) ? own : capacity;
    }
    finding->capacity_bytes = capacity;
    if (run->failure_count) {
        const struct gv_failure *failure = &run->failures[run->failure_count - 1];
        if (failure->limit_bytes)
            finding->capacity_bytes = failure->limit_bytes;
        finding->fails_in_step = failure->step_id;
        return;
    }
    const struct gv_step *last = gv_step_find(run, spans->step_id[spans->count - 1]);
    if (!capacity || !last || finding->bytes_per_step <= GV_SKELETON_BYTES ||
        finding->period_steps || last->peak_bytes > capacity)
        return;
    uint64_t left = (capacity - last->peak_bytes) / finding->bytes_per_step + 1;
    if (left < FORESEEABLE_STEPS)
        finding->fails_in_step = last->id + (uint32_t)left;
}

static int rank(const struct gv_finding *finding)
{
    return finding->expected                  ? 3
           : gv_finding_fails(finding, false) ? 0
           : gv_finding_fails(finding, true)  ? 1
                                              : 2;
}

static int by_importance(const void *left, const void *right)
{
    const struct gv_finding *a = left, *b = right;
    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    if (a->bytes_per_step != b->bytes_per_step)
        return a->bytes_per_step < b->bytes_per_step ? 1 : -1;
    if (a->nodes_per_step != b->nodes_per_step)
        return a->nodes_per_step < b->nodes_per_step ? 1 : -1;
    return strcmp(a->root, b->root);
}

static void finish(const struct gv_leaks_input *in, const struct gv_spans *spans,
                   struct gv_leaks *leaks)
{
    for (uint32_t i = 0; i < leaks->count; i++) {
        struct gv_finding *finding = &leaks->findings[i];
        if (!finding->expected && finding->class != GV_CLASS_BOUNDED)
            project(in, spans, finding);
        gv_finding_sign(finding);
        leaks->notes += finding->expected;
    }
    if (leaks->count > 1)
        qsort(leaks->findings, leaks->count, sizeof(*leaks->findings), by_importance);
}

/* Enough steps, or a few that end exactly as the one before did. */
static bool can_judge(const struct gv_run *run, const struct gv_spans *spans)
{
    const struct gv_step *last = NULL, *before = NULL;
    uint32_t completed = 0;
    for (uint32_t k = 1; k <= spans->count; k++) {
        const struct gv_step *step = gv_step_find(run, spans->step_id[k - 1]);
        if (!step || !step->completed)
            continue;
        completed++;
        before = last;
        last = step;
    }
    if (completed >= GV_STEPS_TO_JUDGE)
        return true;
    return completed >= 3 && last->end_bytes == before->end_bytes &&
           last->end_nodes == before->end_nodes;
}

int gv_leaks_make(const struct gv_leaks_input *in, struct gv_leaks *ret_leaks)
{
    struct gv_leaks leaks = {0};
    struct gv_spans spans = {0};
    int r = gv_spans_make(in->run, &spans);
    if (r == 0 && spans.count > 0) {
        struct gv_scene scene = {
            .in = in, .spans = &spans, .now = spans.count, .last = true, .out = &leaks};
        uint32_t inside = fullest_span(in->run, &spans);
        r = run_scene(&scene);
        if (r == 0 && inside && inside != spans.count)
            r = look_inside(in, &spans, inside, &leaks);
    }
    if (r == 0) {
        leaks.steps = spans.count;
        leaks.can_judge = can_judge(in->run, &spans);
        finish(in, &spans, &leaks);
    }
    gv_spans_free(&spans);
    if (r < 0) {
        gv_leaks_free(&leaks);
        return in->query->error[0]
                   ? r
                   : gv_fail(in->query, r, "%s: not enough memory", in->query->path);
    }
    *ret_leaks = leaks;
    return 0;
}

void gv_leaks_free(struct gv_leaks *leaks)
{
    free(leaks->findings);
    memset(leaks, 0, sizeof(*leaks));
}
