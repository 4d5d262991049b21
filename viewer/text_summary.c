/* SPDX-License-Identifier: MIT */
/* What a newcomer reads in ten seconds: what died, who holds the memory, what to do. */
#include <inttypes.h>
#include <string.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

static void head(struct gv_text *text, const struct gv_report *report)
{
    char program[128], path[64], line[256];
    gv_pad(gv_report_program(report), 44, program, sizeof(program));
    gv_fit_left(report->query.path, 30, path, sizeof(path));
    snprintf(line, sizeof(line), "%s  %s", program, path);
    gv_line(text, GV_DIM, "%s", line);
    gv_line(text, GV_PLAIN, "%s", "");
}

/* "the output of ConvolutionBackward0 in features.0", from the scopes that were open. */
static void wanted_text(const struct gv_report *report, uint32_t scope_id, char *ret_text,
                        size_t size)
{
    const struct gv_names *names = &report->names;
    const char *tensor = gv_name(names, gv_scope_name(names, scope_id, GV_SCOPE_TENSOR));
    const char *op = gv_name(names, gv_scope_name(names, scope_id, GV_SCOPE_OP));
    const char *module = gv_name(names, gv_scope_name(names, scope_id, GV_SCOPE_MODULE));
    if (!op && !tensor) {
        gv_scope_path(names, scope_id, ret_text, size);
        return;
    }
    snprintf(ret_text, size, "%s%s%.80s%s%.80s", tensor ? tensor : "memory", op ? " of " : "",
             op ? op : "", module ? " in module " : "", module ? module : "");
}

static void device_field(struct gv_text *text, const struct gv_report *report,
                         const struct gv_failure *failure)
{
    const struct gv_device *device = gv_device_find(&report->run, failure->device_id);
    const char *name = device ? gv_name(&report->names, device->name_id) : NULL;
    uint64_t capacity = failure->limit_bytes ? failure->limit_bytes : gv_device_capacity(device);
    uint64_t live = failure->live_bytes;
    if (capacity == 0)
        gv_field(text, "device", "%s%s%s in use (%s bytes)", name ? name : "", name ? ": " : "",
                 gv_size(live).text, gv_count((int64_t)live).text);
    else
        gv_field(text, "device", "%s%s%s of %s in use, %s free", name ? name : "", name ? ": " : "",
                 gv_size_like(live, capacity).text, gv_size(capacity).text,
                 gv_size_like(capacity > live ? capacity - live : 0, capacity).text);
}

static void failure_block(struct gv_text *text, const struct gv_report *report,
                          const struct gv_failure *failure)
{
    char step[64] = "", wanted[GV_LABEL_MAX];
    if (failure->step_id)
        snprintf(step, sizeof(step), " in step %" PRIu32, failure->step_id);
    gv_line(text, GV_RED, "OUT OF MEMORY%s: %s refused (%s bytes)", step,
            gv_size(failure->asked_bytes).text, gv_count((int64_t)failure->asked_bytes).text);
    wanted_text(report, failure->scope_id, wanted, sizeof(wanted));
    if (wanted[0])
        gv_field(text, "wanted for", "%s", wanted);
    gv_place_field(text, report, "line", gv_report_place(report, failure->stack_id));
    device_field(text, report, failure);
    if (report->run.failure_count > 1)
        gv_field(text, "refusals", "%" PRIu32 " in this run; this is the last one",
                 report->run.failure_count);
    gv_line(text, GV_PLAIN, "%s", "");
}

static void culprit_block(struct gv_text *text, const struct gv_report *report,
                          const struct gv_root *root)
{
    char name[GV_LABEL_MAX], shown[64];
    uint32_t index = (uint32_t)(root - report->roots.roots);
    gv_root_name(report, index, name, sizeof(name));
    gv_line(text, GV_RED, "%s KEEPS OLD GRAPHS ALIVE: %s of the %s in use",
            gv_fit(name, 24, shown, sizeof(shown)), gv_size(root->retained_bytes).text,
            gv_size(report->chosen.bytes).text);
    gv_root_block(text, report, index, 4);
    gv_line(text, GV_PLAIN, "%s", "");
}

/* Old graphs that no single variable keeps alive. False when there are none. */
static bool old_graphs_block(struct gv_text *text, const struct gv_report *report)
{
    const struct gv_retention *retention = &report->retention;
    bool shared = gv_are_old(report, &retention->shared);
    /* One graph that no variable is known to hold: the last loss, more often than not. */
    if (!shared && (retention->rest.graphs < 2 || !gv_are_old(report, &retention->rest)))
        return false;
    char graphs[128], names[1024] = "";
    gv_graphs_text(shared ? &retention->shared : &retention->rest, graphs, sizeof(graphs));
    if (shared) {
        gv_sharers_text(report, names, sizeof(names));
        gv_line(text, GV_RED, "SEVERAL VARIABLES TOGETHER KEEP OLD GRAPHS ALIVE");
        gv_field(text, "who", "%s", names);
        gv_field(text, "keep", "%s, with %s saved for backward", graphs,
                 gv_size(retention->shared_owner_bytes[GV_OWNER_SAVED]).text);
        gv_field(text, "cure", "detach() each of them; one alone frees nothing");
    } else {
        gv_line(text, GV_RED, "OLD GRAPHS ARE ALIVE THAT NO VARIABLE HOLDS");
        gv_field(text, "what", "%s, with %s: nodes that hold each other, or whose end was not seen",
                 graphs, gv_size(retention->rest_bytes).text);
    }
    gv_line(text, GV_PLAIN, "%s", "");
    return true;
}

/* No variable keeps an old graph: say so, as far as it can be known. */
static void verdict_block(struct gv_text *text, const struct gv_report *report)
{
    char moment[128];
    gv_moment_text(report, &report->chosen.moment, moment, sizeof(moment));
    if (report->rows.allocation_index.count == 0 && report->peak.bytes == 0) {
        gv_line(text, GV_BOLD, "NO DEVICE MEMORY WAS ALLOCATED in this run.");
        gv_line(text, GV_PLAIN, "%s", "");
        return;
    }
    enum gv_style style = report->run.failure_count ? GV_BOLD : GV_GREEN;
    if (report->run.step_count == 0)
        gv_line(text, GV_BOLD, "%s of device memory %s.", gv_size(report->chosen.bytes).text,
                moment);
    else
        gv_line(text, style, "NO OLD GRAPH IS KEPT: %s of device memory %s.",
                gv_size(report->chosen.bytes).text, moment);
    if (report->run.step_count == 0 && report->retention.live_nodes > 0)
        gv_line(text, GV_PLAIN,
                "  The program marks no steps, so old graphs cannot be told from "
                "new ones.");
    else if (report->run.step_count > 0)
        gv_line(text, GV_PLAIN, "  No variable holds the graph of an earlier step.");
    gv_line(text, GV_PLAIN, "%s", "");
}

static void owner_row(struct gv_text *text, const char *label, uint64_t a, uint64_t a_whole,
                      uint64_t b, uint64_t b_whole)
{
    gv_line(text, GV_PLAIN, "  %-26s %11s %8s   %11s %8s", label, gv_size_like(a, a).text,
            gv_share(a, a_whole).text, gv_size_like(b, b).text, gv_share(b, b_whole).text);
}

static void owners_block(struct gv_text *text, const struct gv_report *report)
{
    const struct gv_account *a = &report->chosen, *b = &report->peak;
    char moment[128], peak[128];
    gv_moment_text(report, &a->moment, moment, sizeof(moment));
    gv_moment_text(report, &b->moment, peak, sizeof(peak));
    gv_line(text, GV_BOLD, "MEMORY BY OWNER  %32s   %20s", moment, peak);
    for (int owner = 0; owner < GV_OWNER_COUNT; owner++)
        if (a->owner_bytes[owner] || b->owner_bytes[owner])
            owner_row(text, gv_owner_label((enum gv_owner)owner), a->owner_bytes[owner], a->bytes,
                      b->owner_bytes[owner], b->bytes);
    owner_row(text, "all device memory", a->bytes, a->bytes, b->bytes, b->bytes);
    gv_line(text, GV_PLAIN, "  %-26s %20.2f %%   %18.2f %%", "attributed to an owner",
            a->attributed_percent, b->attributed_percent);
    if (a->pinned_bytes || b->pinned_bytes)
        gv_line(text, GV_PLAIN, "  %-26s %11s %8s   %11s", "pinned host memory (extra)",
                gv_size(a->pinned_bytes).text, "", gv_size(b->pinned_bytes).text);
    gv_line(text, GV_PLAIN, "%s", "");
}

static void step_row(struct gv_text *text, const struct gv_report *report,
                     const struct gv_step *step, const struct gv_step *before)
{
    char change[64] = "", name[64];
    const char *label = gv_name(&report->names, step->label_id);
    if (before) {
        int64_t grown = (int64_t)step->end_bytes - (int64_t)before->end_bytes;
        snprintf(change, sizeof(change), "%s%s", grown > 0 ? "+" : "", gv_count(grown).text);
    }
    snprintf(name, sizeof(name), "step %" PRIu32, step->id);
    char number[16];
    snprintf(number, sizeof(number), "%" PRIu32, step->id);
    if (label && strcmp(label, number) != 0)
        snprintf(name, sizeof(name), "step %" PRIu32 " (%.40s)", step->id, label);
    char shown[128];
    gv_line(text, GV_PLAIN, "  %s %10s %18s %18s", gv_pad(name, 26, shown, sizeof(shown)),
            gv_size(step->end_bytes).text, gv_count((int64_t)step->end_bytes).text, change);
}

static void steps_block(struct gv_text *text, const struct gv_report *report, uint32_t limit)
{
    const struct gv_run *run = &report->run;
    const struct gv_step *before = NULL;
    uint32_t seen = 0;
    if (run->completed_steps == 0)
        return;
    gv_line(text, GV_BOLD,
            "LIVE AT THE END OF EACH STEP                       bytes"
            "             change");
    for (uint32_t i = 0; i < run->step_count; i++) {
        const struct gv_step *step = &run->steps[i];
        if (!step->completed)
            continue;
        seen++;
        /* the first ones and the last one, with the rest in between left out */
        if (seen < limit || seen == run->completed_steps)
            step_row(text, report, step, before);
        else if (seen == limit)
            gv_line(text, GV_DIM, "  ... %" PRIu32 " more", run->completed_steps - limit);
        before = step;
    }
    gv_line(text, GV_PLAIN, "%s", "");
}

static void devices_field(struct gv_text *text, const struct gv_report *report)
{
    for (uint32_t i = 0; i < report->run.device_count; i++) {
        const struct gv_device *device = &report->run.devices[i];
        const char *name = gv_name(&report->names, device->name_id);
        uint64_t capacity = gv_device_capacity(device);
        gv_field(text, "device", "%" PRIu32 ": %s%s%s%s, peak %s", device->id,
                 name ? name : "name not known", capacity ? ", " : "",
                 capacity ? gv_size(capacity).text : "",
                 device->limit_bytes && device->limit_bytes == capacity ? " (limit)" : "",
                 gv_size(device->peak_bytes).text);
    }
}

static void run_block(struct gv_text *text, const struct gv_report *report)
{
    const struct gv_run *run = &report->run;
    const char *host = gv_meta_text(run, "host");
    int64_t last_ns = gv_meta_integer(run, "last_ns", -1);
    gv_line(text, GV_BOLD, "RUN");
    gv_field(text, "program", "%s%s%s", gv_report_program(report), host ? ", on " : "",
             host ? host : "");
    devices_field(text, report);
    gv_field(text, "length", "%s%s%s step%s, %s completed",
             last_ns >= 0 ? gv_duration((uint64_t)last_ns).text : "", last_ns >= 0 ? ", " : "",
             gv_count(run->step_count).text, run->step_count == 1 ? "" : "s",
             gv_count(run->completed_steps).text);
    gv_field(text, "known from", "%s", gv_report_level(report));
    if (run->child_count)
        gv_field(text, "children",
                 "%" PRIu32 " forked; each that uses a device writes its own file",
                 run->child_count);
    for (uint32_t i = 0; i < report->problem_count; i++)
        gv_field(text, i == 0 ? "problems" : "", "%s", report->problems[i].text);
    if (report->problem_count == 0)
        gv_field(text, "problems", "none");
    gv_line(text, GV_PLAIN, "%s", "");
}

void gv_text_summary(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    const struct gv_failure *failure = gv_report_failure(report);
    const struct gv_root *culprit = gv_report_culprit(report);
    head(text, report);
    if (failure)
        failure_block(text, report, failure);
    if (culprit)
        culprit_block(text, report, culprit);
    else if (!old_graphs_block(text, report))
        verdict_block(text, report);
    char moment[128];
    gv_moment_text(report, &report->chosen.moment, moment, sizeof(moment));
    if (report->roots.count) {
        gv_line(text, GV_BOLD, "WHO HOLDS IT %s", moment);
        gv_roots_table(text, report, limit ? limit : 5);
        gv_line(text, GV_PLAIN, "%s", "");
    }
    owners_block(text, report);
    steps_block(text, report, limit ? limit : 6);
    run_block(text, report);
    gv_line(text, GV_DIM,
            "1 GB = 1024^3 bytes. More: gradprof-report roots | nodes | peak, "
            "--format json");
}
