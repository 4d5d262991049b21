/* SPDX-License-Identifier: MIT */
/* What stays from step to step: a block for each finding, a line for each note. */
#include <inttypes.h>
#include <stdio.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

static void head_line(struct gv_text *text, const struct gv_finding *f)
{
    char rate[128] = "", shown[64];
    if (f->bytes_per_step)
        snprintf(rate, sizeof(rate), " +%s per step", gv_size(f->bytes_per_step).text);
    else if (f->nodes_per_step)
        snprintf(rate, sizeof(rate), " +%s nodes per step, no device memory",
                 gv_count((int64_t)f->nodes_per_step).text);
    gv_line(text, gv_finding_fails(f, false) ? GV_RED : GV_BOLD, "%s  %s%s",
            gv_class_name(f->class),
            gv_fit(f->root[0] ? f->root : "(no variable known)", 30, shown, sizeof(shown)), rate);
}

static void place_fields(struct gv_text *text, const struct gv_finding *f)
{
    char where[GV_LABEL_MAX];
    gv_place_text(&f->place, where, sizeof(where));
    if (f->place.file || f->place.module || f->place.function)
        gv_field(text, "line", "%s", where);
    if (f->source[0])
        gv_field(text, "", "%s", f->source);
    if (f->also[0])
        gv_field(text, "also", "%s", f->also);
}

static void figures(struct gv_text *text, const struct gv_finding *f)
{
    if (f->class == GV_CLASS_BOUNDED)
        gv_field(text, "adds", "nothing any more");
    else if (f->nodes_per_step)
        gv_field(text, "adds", "%s bytes and %s nodes per step",
                 gv_count((int64_t)f->bytes_per_step).text,
                 gv_count((int64_t)f->nodes_per_step).text);
    else
        gv_field(text, "adds", "%s bytes per step", gv_count((int64_t)f->bytes_per_step).text);
    gv_field(text, "since", "step %" PRIu32 ": %" PRIu32 " step%s left %s (%s bytes)%s%s%s",
             f->since_step, f->steps, f->steps == 1 ? "" : "s", gv_size(f->held_bytes).text,
             gv_count((int64_t)f->held_bytes).text, f->held_nodes ? " and " : "",
             f->held_nodes ? gv_count((int64_t)f->held_nodes).text : "",
             f->held_nodes ? " nodes" : "");
    if (f->period_steps)
        gv_field(text, "comes, goes", "let go after about %" PRIu32 " steps, then again",
                 f->period_steps);
    if (f->fails_in_step)
        gv_field(text, "runs out", "out of %s in step %" PRIu32, gv_size(f->capacity_bytes).text,
                 f->fails_in_step);
}

static void path_field(struct gv_text *text, const struct gv_finding *f)
{
    char path[GV_FINDING_TEXT + GV_FINDING_PATH * 72];
    size_t used = (size_t)snprintf(path, sizeof(path), "%s", f->root[0] ? f->root : "(none)");
    for (uint32_t i = 0; i < f->path_length && used < sizeof(path); i++)
        used += (size_t)snprintf(path + used, sizeof(path) - used, " > %s", f->path[i]);
    if (f->path_length)
        gv_field(text, "path", "%s", path);
}

static void finding_block(struct gv_text *text, const struct gv_finding *f)
{
    head_line(text, f);
    place_fields(text, f);
    figures(text, f);
    path_field(text, f);
    gv_field(text, "cut", "%s: frees %s (%s bytes)", f->cut, gv_size(f->frees_bytes).text,
             gv_count((int64_t)f->frees_bytes).text);
    gv_field(text, "advice", "%s", f->advice);
    gv_field(text, "evidence", "%s; %s; fingerprint %s", gv_evidence_text(f),
             gv_certainty_name(f->certainty), f->fingerprint);
    gv_line(text, GV_PLAIN, "%s", "");
}

static void note_line(struct gv_text *text, const struct gv_finding *f)
{
    char where[GV_LABEL_MAX], name[64];
    gv_place_short(&f->place, where, sizeof(where));
    gv_line(text, GV_DIM, "  %-11s %s %10s  since step %" PRIu32 "  %s", gv_class_name(f->class),
            gv_pad(f->root[0] ? f->root : "(no variable)", 24, name, sizeof(name)),
            gv_size(f->held_bytes).text, f->since_step, where);
}

void gv_text_leaks(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    const struct gv_leaks *leaks = &report->leaks;
    uint32_t findings = leaks->count - leaks->notes, shown = limit ? limit : 10;
    if (findings == 0 && leaks->can_judge)
        gv_line(text, GV_GREEN, "CLEAN: nothing grows from step to step (%" PRIu32 " steps).",
                leaks->steps);
    else if (findings == 0)
        gv_line(text, GV_BOLD,
                "CANNOT JUDGE: %" PRIu32 " step%s; growth needs %d or more (gradprof_step_begin).",
                leaks->steps, leaks->steps == 1 ? "" : "s", GV_STEPS_TO_JUDGE);
    else
        gv_line(text, GV_BOLD, "%" PRIu32 " FINDING%s in %" PRIu32 " steps", findings,
                findings == 1 ? "" : "S", leaks->steps);
    gv_line(text, GV_PLAIN, "%s", "");
    for (uint32_t i = 0; i < findings && i < shown; i++)
        finding_block(text, &leaks->findings[i]);
    if (findings > shown)
        gv_line(text, GV_DIM, "... %" PRIu32 " more (--limit)", findings - shown);
    if (leaks->notes)
        gv_line(text, GV_BOLD, "NOTES: kept, but not growing without end");
    for (uint32_t i = findings; i < leaks->count && i < findings + shown; i++)
        note_line(text, &leaks->findings[i]);
}
