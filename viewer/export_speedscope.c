/* SPDX-License-Identifier: MIT */
/* speedscope's own file format: two profiles over one list of frames, live bytes and allocations. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "viewer/export_stacks.h"
#include "viewer/export_text.h"
#include "viewer/json_build.h"

struct document {
    struct gv_export *export;
    struct gv_texts seen;
    json_t *frames, *samples, *bytes, *counts;
    uint64_t total_bytes, total_count;
};

static json_t *frame_json(const char *name, const struct gv_place *place)
{
    json_t *frame = json_object();
    gv_json_set(frame, "name", json_string(name));
    if (place && place->file)
        gv_json_set(frame, "file", json_string(place->file));
    if (place && place->line)
        gv_json_set(frame, "line", gv_json_bytes(place->line));
    return frame;
}

/* The number of a frame in the list; `place` NULL: of an owner class, which no function is named. */
static int number_of(struct document *d, const char *name, const struct gv_place *place,
                     uint32_t *ret_number)
{
    char *key;
    uint32_t before = d->seen.count;
    if (asprintf(&key, "%s\n%s\n%" PRIu32, name, place && place->file ? place->file : "",
                 place ? place->line : 0) < 0)
        return -ENOMEM;
    int r = gv_texts_add(&d->seen, key, ret_number);
    if (r == 0 && d->seen.count > before)
        gv_json_append(d->frames, frame_json(name, place));
    free(key);
    return r;
}

static int add_place(struct document *d, const struct gv_place *place, json_t *sample)
{
    uint32_t number;
    char *name = gv_place_function(place);
    int r = name ? number_of(d, name, place, &number) : -ENOMEM;
    if (r == 0)
        gv_json_append(sample, gv_json_bytes(number));
    free(name);
    return r;
}

static int add_stack(struct document *d, const struct gv_tally_row *row)
{
    struct gv_place places[GV_EXPORT_FRAMES];
    char owner[64];
    uint32_t number;
    int count;
    json_t *sample = json_array();
    int r = gv_export_frames(d->export, row->key[0], places, &count);
    for (int i = count - 1; i >= 0 && r == 0; i--)
        r = add_place(d, &places[i], sample);
    snprintf(owner, sizeof(owner), "[%s]", gv_owner_key((enum gv_owner)row->key[1]));
    if (r == 0)
        r = number_of(d, owner, NULL, &number);
    if (r < 0) {
        json_decref(sample);
        return r;
    }
    gv_json_append(sample, gv_json_bytes(number));
    gv_json_append(d->samples, sample);
    gv_json_append(d->bytes, gv_json_bytes(row->bytes));
    gv_json_append(d->counts, gv_json_bytes(row->count));
    d->total_bytes += row->bytes;
    d->total_count += row->count;
    return 0;
}

static json_t *profile_json(const char *name, const char *unit, json_t *samples, json_t *weights,
                            uint64_t total)
{
    json_t *profile = json_object();
    gv_json_set(profile, "type", json_string("sampled"));
    gv_json_set(profile, "name", json_string(name));
    gv_json_set(profile, "unit", json_string(unit));
    gv_json_set(profile, "startValue", json_integer(0));
    gv_json_set(profile, "endValue", gv_json_bytes(total));
    gv_json_set(profile, "samples", json_incref(samples));
    gv_json_set(profile, "weights", json_incref(weights));
    return profile;
}

static int print(struct document *d)
{
    json_t *document = json_object(), *shared = json_object(), *profiles = json_array();
    char *bytes = gv_export_title(d->export, "live device bytes");
    char *counts = gv_export_title(d->export, "live allocations");
    if (!bytes || !counts)
        gv_json_append(profiles, NULL); /* remembered as lost */
    gv_json_set(document, "$schema",
                json_string("https://www.speedscope.app/file-format-schema.json"));
    gv_json_set(document, "exporter", json_string("gradprof"));
    gv_json_set(document, "name", json_string(bytes));
    gv_json_set(document, "activeProfileIndex", json_integer(0));
    gv_json_set(shared, "frames", json_incref(d->frames));
    gv_json_set(document, "shared", shared);
    gv_json_append(profiles, profile_json(bytes, "bytes", d->samples, d->bytes, d->total_bytes));
    gv_json_append(profiles, profile_json(counts, "none", d->samples, d->counts, d->total_count));
    gv_json_set(document, "profiles", profiles);
    free(bytes);
    free(counts);
    return gv_json_finish(document, d->export->out);
}

int gv_export_speedscope(struct gv_export *export)
{
    struct document d = {.export = export};
    struct gv_tally stacks;
    int r = gv_export_stacks(export, &stacks);
    if (r < 0)
        return r;
    gv_json_start();
    d.frames = json_array();
    d.samples = json_array();
    d.bytes = json_array();
    d.counts = json_array();
    for (uint32_t i = 0; i < stacks.count && r == 0; i++)
        r = add_stack(&d, &stacks.rows[i]);
    if (r == 0)
        r = print(&d);
    json_decref(d.frames);
    json_decref(d.samples);
    json_decref(d.bytes);
    json_decref(d.counts);
    gv_texts_free(&d.seen);
    gv_tally_free(&stacks);
    return r;
}
