/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "viewer/json_build.h"
#include "viewer/text.h"
#include "viewer/units.h"
#include "viewer/whatif.h"

#define STEPS_SHOWN 12

static void fails_text(const struct gv_outlook *outlook, char *ret_text, size_t size)
{
    if (!outlook->fails)
        snprintf(ret_text, size, "fits");
    else if (outlook->fails_in_step)
        snprintf(ret_text, size, "out in step %" PRIu32, outlook->fails_in_step);
    else
        snprintf(ret_text, size, "out outside steps");
}

static void row(struct gv_text *text, const char *label, uint64_t before, uint64_t after)
{
    int64_t change = (int64_t)after - (int64_t)before;
    gv_line(text, GV_PLAIN, "  %-16s %18s %18s %19s", label, gv_count((int64_t)before).text,
            gv_count((int64_t)after).text, gv_count(change).text);
}

static void steps_block(struct gv_text *text, const struct gv_whatif *whatif)
{
    for (uint32_t i = 0; i < whatif->step_count; i++) {
        const struct gv_whatif_step *step = &whatif->steps[i];
        char label[32];
        if (i >= STEPS_SHOWN - 1 && i + 1 < whatif->step_count) {
            if (i == STEPS_SHOWN - 1)
                gv_line(text, GV_DIM, "  ... %" PRIu32 " more", whatif->step_count - STEPS_SHOWN);
            continue;
        }
        snprintf(label, sizeof(label), "end of step %" PRIu32, step->id);
        row(text, label, step->before_bytes, step->after_bytes);
    }
}

int gv_whatif_text(const struct gv_whatif *whatif, FILE *out, bool color)
{
    struct gv_text text = {out, color};
    char before[64], after[64];
    const struct gv_options *options = whatif->options;
    for (int i = 0; i < options->extra_count; i++)
        gv_field(&text, i == 0 ? "change" : "", "%s %s", options->extras[i].name + 2,
                 options->extras[i].value);
    if (whatif->limit_bytes)
        gv_field(&text, "device", "%s%s", gv_size(whatif->limit_bytes).text,
                 options->limit_text ? " (--limit)" : "");
    if (whatif->cut_short)
        gv_field(&text, "recorded", "up to a refused allocation; what would follow is not known");
    gv_line(&text, GV_PLAIN, "%s", "");
    gv_line(&text, GV_BOLD, "  %-16s %18s %18s %19s", "BYTES", "recorded", "with the change",
            "difference");
    row(&text, "peak", whatif->before.peak_bytes, whatif->after.peak_bytes);
    steps_block(&text, whatif);
    fails_text(&whatif->before, before, sizeof(before));
    fails_text(&whatif->after, after, sizeof(after));
    if (whatif->limit_bytes)
        gv_line(&text, whatif->after.fails ? GV_RED : GV_GREEN, "  %-16s %18s %18s", "device",
                before, after);
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static json_t *outlook_json(const struct gv_outlook *outlook)
{
    json_t *object = json_object();
    gv_json_set(object, "peak_bytes", gv_json_bytes(outlook->peak_bytes));
    gv_json_set(object, "end_bytes", gv_json_bytes(outlook->end_bytes));
    gv_json_set(object, "fails", json_boolean(outlook->fails));
    gv_json_set(object, "fails_in_step",
                gv_json_known(outlook->fails_in_step != 0, outlook->fails_in_step));
    return object;
}

int gv_whatif_json(const struct gv_whatif *whatif, FILE *out)
{
    json_t *document = json_object(), *changes = json_array(), *steps = json_array();
    const struct gv_options *options = whatif->options;
    gv_json_start();
    for (int i = 0; i < options->extra_count; i++) {
        json_t *change = json_object();
        gv_json_set(change, "change", json_string(options->extras[i].name + 2));
        gv_json_set(change, "what", json_string(options->extras[i].value));
        gv_json_append(changes, change);
    }
    for (uint32_t i = 0; i < whatif->step_count; i++) {
        const struct gv_whatif_step *s = &whatif->steps[i];
        json_t *step = json_object();
        gv_json_set(step, "id", gv_json_bytes(s->id));
        gv_json_set(step, "recorded_end_bytes", gv_json_bytes(s->before_bytes));
        gv_json_set(step, "end_bytes", gv_json_bytes(s->after_bytes));
        gv_json_set(step, "peak_bytes", gv_json_bytes(s->after_peak_bytes));
        gv_json_append(steps, step);
    }
    gv_json_set(document, "schema", json_integer(GV_JSON_SCHEMA));
    gv_json_set(document, "database", json_string(options->path));
    gv_json_set(document, "changes", changes);
    gv_json_set(document, "limit_bytes",
                gv_json_known(whatif->limit_bytes != 0, whatif->limit_bytes));
    gv_json_set(document, "recorded_until_refusal", json_boolean(whatif->cut_short));
    gv_json_set(document, "before", outlook_json(&whatif->before));
    gv_json_set(document, "after", outlook_json(&whatif->after));
    gv_json_set(document, "steps", steps);
    return gv_json_finish(document, out);
}
