/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, gzipped: samples of two values, inuse_objects and inuse_space, with the
 * owner class as a label. The messages follow pprof's proto/profile.proto; field numbers below.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/export_gzip.h"
#include "viewer/export_proto.h"
#include "viewer/export_stacks.h"
#include "viewer/export_text.h"

enum { /* of Profile */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6,
       PROFILE_TIME_NS = 9,
       PROFILE_DURATION_NS = 10,
       PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12,
       PROFILE_DEFAULT_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { MAPPING_ID = 1, MAPPING_FILE = 5 };
enum { MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILES = 8, MAPPING_HAS_LINES = 9 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct profile {
    struct gv_export *export;
    struct gv_proto out, part, inner;
    struct gv_texts strings, mappings, functions, locations;
    int error; /* 0 or -ENOMEM, the first one */
};

/* The number of `text` in `texts`; *ret_new tells a new one. */
static uint32_t add_text(struct profile *p, struct gv_texts *texts, const char *text, bool *ret_new)
{
    uint32_t number = 0, before = texts->count;
    int r = text ? gv_texts_add(texts, text, &number) : -ENOMEM;
    if (r < 0)
        p->error = r;
    *ret_new = texts->count > before;
    return number;
}

static uint32_t string_of(struct profile *p, const char *text)
{
    bool is_new;
    uint32_t number = add_text(p, &p->strings, text, &is_new);
    if (is_new)
        gv_proto_text(&p->out, PROFILE_STRING, text);
    return number;
}

/* The part is complete: it goes into the profile. */
static void put_part(struct profile *p, unsigned field)
{
    gv_proto_message(&p->out, field, &p->part);
    gv_proto_clear(&p->part);
}

static void put_value_type(struct profile *p, unsigned field, const char *type, const char *unit)
{
    gv_proto_uint(&p->part, VALUE_TYPE, string_of(p, type));
    gv_proto_uint(&p->part, VALUE_UNIT, string_of(p, unit));
    put_part(p, field);
}

static uint32_t mapping_of(struct profile *p, const char *module)
{
    bool is_new;
    uint32_t number = add_text(p, &p->mappings, module, &is_new);
    if (!is_new)
        return number + 1;
    gv_proto_uint(&p->part, MAPPING_ID, number + 1);
    gv_proto_uint(&p->part, MAPPING_FILE, string_of(p, module));
    gv_proto_uint(&p->part, MAPPING_HAS_FUNCTIONS, 1);
    gv_proto_uint(&p->part, MAPPING_HAS_FILES, 1);
    gv_proto_uint(&p->part, MAPPING_HAS_LINES, 1);
    put_part(p, PROFILE_MAPPING);
    return number + 1;
}

static uint32_t function_of(struct profile *p, const char *name, const char *file)
{
    char *key;
    bool is_new;
    if (asprintf(&key, "%s\n%s", name, file) < 0)
        key = NULL;
    uint32_t number = add_text(p, &p->functions, key, &is_new);
    free(key);
    if (!is_new)
        return number + 1;
    gv_proto_uint(&p->part, FUNCTION_ID, number + 1);
    gv_proto_uint(&p->part, FUNCTION_NAME, string_of(p, name));
    gv_proto_uint(&p->part, FUNCTION_SYSTEM_NAME, string_of(p, name));
    gv_proto_uint(&p->part, FUNCTION_FILE, string_of(p, file));
    put_part(p, PROFILE_FUNCTION);
    return number + 1;
}

/* A new location with the line of `place` in it. */
static void put_location(struct profile *p, uint32_t number, const char *name,
                         const struct gv_place *place)
{
    uint32_t mapping = place->module ? mapping_of(p, place->module) : 0;
    uint32_t function = function_of(p, name, place->file ? place->file : "");
    gv_proto_uint(&p->inner, LINE_FUNCTION, function);
    gv_proto_uint(&p->inner, LINE_NUMBER, place->line);
    gv_proto_uint(&p->part, LOCATION_ID, number + 1);
    gv_proto_uint(&p->part, LOCATION_MAPPING, mapping);
    gv_proto_uint(&p->part, LOCATION_ADDRESS, place->offset);
    gv_proto_message(&p->part, LOCATION_LINE, &p->inner);
    gv_proto_clear(&p->inner);
    put_part(p, PROFILE_LOCATION);
}

static uint32_t location_of(struct profile *p, const struct gv_place *place)
{
    char *name = gv_place_function(place), *key = NULL;
    bool is_new = false;
    if (name &&
        asprintf(&key, "%s\n%s\n%" PRIu32 "\n%s\n%" PRIx64, name, place->file ? place->file : "",
                 place->line, place->module ? place->module : "", place->offset) < 0)
        key = NULL;
    uint32_t number = add_text(p, &p->locations, key, &is_new);
    if (is_new)
        put_location(p, number, name, place);
    free(name);
    free(key);
    return number + 1;
}

static int put_sample(struct profile *p, const struct gv_tally_row *row)
{
    struct gv_place places[GV_EXPORT_FRAMES];
    struct gv_proto sample = {0};
    int count;
    int r = gv_export_frames(p->export, row->key[0], places, &count);
    if (r < 0)
        return r;
    struct gv_proto numbers = {0};
    for (int i = 0; i < count; i++)
        gv_proto_number(&numbers, location_of(p, &places[i]));
    gv_proto_message(&sample, SAMPLE_LOCATION, &numbers);
    gv_proto_clear(&numbers);
    gv_proto_number(&numbers, row->count);
    gv_proto_number(&numbers, row->bytes);
    gv_proto_message(&sample, SAMPLE_VALUE, &numbers);
    gv_proto_clear(&numbers);
    gv_proto_uint(&numbers, LABEL_KEY, string_of(p, "owner"));
    gv_proto_uint(&numbers, LABEL_TEXT, string_of(p, gv_owner_key((enum gv_owner)row->key[1])));
    gv_proto_message(&sample, SAMPLE_LABEL, &numbers);
    gv_proto_message(&p->out, PROFILE_SAMPLE, &sample);
    gv_proto_free(&numbers);
    gv_proto_free(&sample);
    return p->error;
}

static void put_head(struct profile *p)
{
    const struct gv_export *export = p->export;
    int64_t start_ns = gv_meta_integer(&export->run, "start_unix_ns", 0);
    int64_t last_ns = gv_meta_integer(&export->run, "last_ns", 0);
    string_of(p, ""); /* string 0 is the empty one */
    put_value_type(p, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
    put_value_type(p, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
    put_value_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
    gv_proto_uint(&p->out, PROFILE_PERIOD, 1);
    gv_proto_uint(&p->out, PROFILE_DEFAULT_TYPE, string_of(p, "inuse_space"));
    if (start_ns > 0 && export->moment.t_ns >= 0)
        gv_proto_uint(&p->out, PROFILE_TIME_NS, (uint64_t)(start_ns + export->moment.t_ns));
    if (last_ns > 0)
        gv_proto_uint(&p->out, PROFILE_DURATION_NS, (uint64_t)last_ns);
}

int gv_export_pprof(struct gv_export *export)
{
    struct profile p = {.export = export};
    struct gv_tally stacks;
    int r = gv_export_stacks(export, &stacks);
    if (r < 0)
        return r;
    put_head(&p);
    const char *program = gv_meta_text(&export->run, "executable");
    if (program)
        mapping_of(&p, program); /* the first mapping is the program's */
    for (uint32_t i = 0; i < stacks.count && r == 0; i++)
        r = put_sample(&p, &stacks.rows[i]);
    if (r == 0)
        r = p.error || p.out.lost ? -ENOMEM : gv_gzip_put(export->out, p.out.data, p.out.bytes);
    gv_proto_free(&p.out);
    gv_proto_free(&p.part);
    gv_proto_free(&p.inner);
    gv_texts_free(&p.strings);
    gv_texts_free(&p.mappings);
    gv_texts_free(&p.functions);
    gv_texts_free(&p.locations);
    gv_tally_free(&stacks);
    return r;
}
