/* SPDX-License-Identifier: MIT */
#include "viewer/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/pieces.h"
#include "viewer/source.h"
#include "viewer/units.h"

struct checker {
    struct gv_check_run *run;
    const struct gv_policy *policy;
    const struct gv_report *report;
};

static bool is_set(const struct checker *c, enum gv_policy_key key)
{
    return c->policy->set >> key & 1;
}

static struct gv_check_item *add(struct checker *c, const char *rule, enum gv_outcome outcome)
{
    struct gv_check_run *run = c->run;
    if (gv_reserve(&run->items, &run->capacity, run->count, sizeof(*run->items)) < 0)
        return NULL;
    run->items[run->count] = (struct gv_check_item){.rule = rule, .outcome = outcome};
    return &run->items[run->count++];
}

static enum gv_outcome outcome_of(const struct checker *c, const struct gv_finding *finding,
                                  const struct gv_allow **ret_allow)
{
    *ret_allow = NULL;
    if (c->policy->allow_leaks || !gv_finding_fails(finding, c->policy->strict))
        return GV_WARNED;
    *ret_allow = gv_policy_allows(c->policy, finding->fingerprint, finding->root);
    if (!*ret_allow)
        return GV_FAILED;
    return (*ret_allow)->reason ? GV_ALLOWED : GV_KNOWN;
}

static int add_finding(struct checker *c, const struct gv_finding *finding)
{
    const struct gv_allow *allow;
    char place[GV_LABEL_MAX];
    struct gv_check_item *item = add(c, "leaks", outcome_of(c, finding, &allow));
    if (!item)
        return -ENOMEM;
    item->is_finding = true;
    item->finding = *finding;
    item->file = finding->place.file ? strdup(gv_source_short(finding->place.file)) : NULL;
    item->function = finding->place.function ? strdup(finding->place.function) : NULL;
    item->finding.place =
        (struct gv_place){item->function, item->file, finding->place.line, NULL, 0};
    gv_place_short(&finding->place, place, sizeof(place));
    snprintf(item->text, sizeof(item->text),
             "%s %.200s at %.120s: +%s and %s nodes per step, since step %" PRIu32 "%s%.300s",
             gv_class_name(finding->class), finding->root[0] ? finding->root : "(no variable)",
             place, gv_size(finding->bytes_per_step).text,
             gv_count((int64_t)finding->nodes_per_step).text, finding->since_step,
             allow && allow->reason ? "; allowed: "
             : allow                ? "; in the baseline"
                                    : "",
             allow && allow->reason ? allow->reason : "");
    return (finding->place.file && !item->file) ? -ENOMEM : 0;
}

static int check_leaks(struct checker *c)
{
    const struct gv_leaks *leaks = &c->report->leaks;
    uint32_t findings = 0;
    for (uint32_t i = 0; i < leaks->count; i++) {
        if (leaks->findings[i].expected)
            continue;
        findings++;
        int r = add_finding(c, &leaks->findings[i]);
        if (r < 0)
            return r;
    }
    if (findings || !leaks->can_judge)
        return 0;
    struct gv_check_item *item = add(c, "leaks", GV_PASSED);
    if (!item)
        return -ENOMEM;
    snprintf(item->text, sizeof(item->text), "nothing grows from step to step (%" PRIu32 " steps)",
             leaks->steps);
    return 0;
}

static int check_limit(struct checker *c, enum gv_policy_key key, const char *rule, uint64_t bytes,
                       const char *what)
{
    if (!is_set(c, key))
        return 0;
    uint64_t limit = c->policy->limits[key];
    struct gv_check_item *item = add(c, rule, bytes > limit ? GV_FAILED : GV_PASSED);
    if (!item)
        return -ENOMEM;
    snprintf(item->text, sizeof(item->text), "%s: %s (%s bytes), %s %s (%s bytes)", what,
             gv_size(bytes).text, gv_count((int64_t)bytes).text,
             bytes > limit ? "more than" : "at most", gv_size(limit).text,
             gv_count((int64_t)limit).text);
    return 0;
}

/* Device bytes that each step adds, by the lowest closes of the first and the last third after the
 * warm-up: a sawtooth's floor. */
static uint64_t growth_of(const struct gv_run *run)
{
    uint64_t lowest[2] = {UINT64_MAX, UINT64_MAX};
    uint32_t at[2] = {0, 0}, number = 0, first = 3, steps = run->completed_steps;
    if (steps < first + 1)
        first = 1;
    uint32_t third = (steps - first + 1 + 2) / 3;
    for (uint32_t i = 0; i < run->step_count; i++) {
        const struct gv_step *step = &run->steps[i];
        if (!step->completed || ++number < first)
            continue;
        int half = number < first + third ? 0 : number > steps - third ? 1 : -1;
        if (half >= 0 && step->end_bytes < lowest[half]) {
            lowest[half] = step->end_bytes;
            at[half] = number;
        }
    }
    if (at[1] <= at[0] || lowest[1] <= lowest[0])
        return 0;
    return (lowest[1] - lowest[0]) / (at[1] - at[0]);
}

static int check_unattributed(struct checker *c)
{
    const struct gv_account *peak = &c->report->peak;
    if (!is_set(c, GV_POLICY_UNATTRIBUTED))
        return 0;
    double share =
        peak->bytes ? 100.0 * (double)peak->owner_bytes[GV_OWNER_UNATTRIBUTED] / (double)peak->bytes
                    : 0;
    double limit = (double)c->policy->limits[GV_POLICY_UNATTRIBUTED] / 1000;
    struct gv_check_item *item = add(c, "max-unattributed", share > limit ? GV_FAILED : GV_PASSED);
    if (!item)
        return -ENOMEM;
    snprintf(item->text, sizeof(item->text), "unattributed at the peak: %.2f %%, %s %.2f %%", share,
             share > limit ? "more than" : "at most", limit);
    return 0;
}

static bool has_failed(const struct checker *c)
{
    for (uint32_t i = 0; i < c->run->count; i++)
        if (c->run->items[i].outcome == GV_FAILED)
            return true;
    return false;
}

/* Why nothing can be said of this run; NULL: it can, or something was found already. */
static const char *cannot_judge(const struct checker *c)
{
    if (has_failed(c))
        return NULL;
    const struct gv_run *run = &c->report->run;
    bool growth = !c->policy->allow_leaks || is_set(c, GV_POLICY_GROWTH);
    if (c->report->recovered.still_running)
        return "the program is still running";
    if (c->report->peak.allocations == 0 && c->report->rows.node_index.count == 0)
        return "the run has no device allocation and no graph node: was the profiler loaded?";
    if (gv_counter_value(run, "dropped_events") || gv_counter_value(run, "lost_events"))
        return "the recording is incomplete (dropped or lost events)";
    if (growth && is_set(c, GV_POLICY_STEPS) &&
        run->completed_steps < c->policy->limits[GV_POLICY_STEPS])
        return "fewer completed steps than min-steps asks for";
    if (growth && !is_set(c, GV_POLICY_STEPS) && !c->report->leaks.can_judge)
        return "too few completed steps to tell growth from a start (5 are enough)";
    return NULL;
}

static int check_all(struct checker *c)
{
    const struct gv_report *report = c->report;
    int r = check_leaks(c);
    if (r == 0)
        r = check_limit(c, GV_POLICY_GROWTH, "max-growth", growth_of(&report->run),
                        "growth per step");
    if (r == 0)
        r = check_limit(c, GV_POLICY_PEAK, "max-peak", report->peak.bytes, "peak");
    if (r == 0)
        r = check_limit(c, GV_POLICY_END, "max-end", report->end.bytes, "live at the end");
    if (r == 0)
        r = check_unattributed(c);
    const char *reason = cannot_judge(c);
    if (r < 0 || !reason)
        return r;
    struct gv_check_item *item = add(c, "evidence", GV_CANNOT_JUDGE);
    if (!item)
        return -ENOMEM;
    snprintf(item->text, sizeof(item->text), "%s", reason);
    return 0;
}

int gv_check_add(struct gv_check *check, const struct gv_policy *policy,
                 const struct gv_report *report)
{
    int r = gv_reserve(&check->runs, &check->capacity, check->count, sizeof(*check->runs));
    if (r < 0)
        return r;
    struct gv_check_run *run = &check->runs[check->count++];
    *run = (struct gv_check_run){.path = strdup(report->query.path),
                                 .program = strdup(gv_report_program(report)),
                                 .peak_bytes = report->peak.bytes};
    if (!run->path || !run->program)
        return -ENOMEM;
    struct checker c = {run, policy, report};
    return check_all(&c);
}

void gv_check_free(struct gv_check *check)
{
    for (uint32_t i = 0; i < check->count; i++) {
        struct gv_check_run *run = &check->runs[i];
        for (uint32_t k = 0; k < run->count; k++) {
            free(run->items[k].file);
            free(run->items[k].function);
        }
        free(run->items);
        free(run->path);
        free(run->program);
    }
    free(check->runs);
    memset(check, 0, sizeof(*check));
}

uint32_t gv_check_count(const struct gv_check *check, enum gv_outcome outcome)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < check->count; i++)
        for (uint32_t k = 0; k < check->runs[i].count; k++)
            count += check->runs[i].items[k].outcome == outcome;
    return count;
}

int gv_check_status(const struct gv_check *check)
{
    if (gv_check_count(check, GV_FAILED))
        return GV_EXIT_FAIL;
    return gv_check_count(check, GV_CANNOT_JUDGE) ? GV_EXIT_CANNOT_JUDGE : GV_EXIT_PASS;
}

const char *gv_outcome_name(enum gv_outcome outcome)
{
    static const char *const names[] = {"pass", "fail", "note", "allowed", "known", "cannot-judge"};
    return names[outcome];
}

static const struct gv_check_item *first_of(const struct gv_check *check, enum gv_outcome outcome)
{
    for (uint32_t i = 0; i < check->count; i++)
        for (uint32_t k = 0; k < check->runs[i].count; k++)
            if (check->runs[i].items[k].outcome == outcome)
                return &check->runs[i].items[k];
    return NULL;
}

void gv_check_summary(const struct gv_check *check, char *ret_text, size_t size)
{
    uint64_t peak_bytes = 0;
    for (uint32_t i = 0; i < check->count; i++)
        if (check->runs[i].peak_bytes > peak_bytes)
            peak_bytes = check->runs[i].peak_bytes;
    uint32_t failed = gv_check_count(check, GV_FAILED);
    const struct gv_check_item *why = first_of(check, failed ? GV_FAILED : GV_CANNOT_JUDGE);
    char more[48] = "", place[GV_LABEL_MAX];
    if (failed > 1)
        snprintf(more, sizeof(more), ", and %" PRIu32 " more", failed - 1);
    if (failed && why->is_finding) {
        const struct gv_finding *f = &why->finding;
        gv_place_short(&f->place, place, sizeof(place));
        bool host_only = f->bytes_per_step <= GV_SKELETON_BYTES && f->nodes_per_step;
        snprintf(ret_text, size, "FAIL: %s %.80s %.80s +%s%s/step%s", gv_class_name(f->class),
                 f->root[0] ? f->root : "(no variable)", place,
                 host_only ? gv_count((int64_t)f->nodes_per_step).text
                           : gv_size(f->bytes_per_step).text,
                 host_only ? " nodes" : "", more);
    } else if (failed) {
        snprintf(ret_text, size, "FAIL: %.400s%s", why->text, more);
    } else if (why)
        snprintf(ret_text, size, "CANNOT JUDGE: %.400s", why->text);
    else
        snprintf(ret_text, size, "PASS: %" PRIu32 " run%s, peak %s", check->count,
                 check->count == 1 ? "" : "s", gv_size(peak_bytes).text);
}
