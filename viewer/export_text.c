/* SPDX-License-Identifier: MIT */
#include "viewer/export_text.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/json_build.h"
#include "viewer/source.h"

char *gv_place_function(const struct gv_place *place)
{
    char *label = NULL;
    int n;
    if (place->function)
        return strdup(place->function);
    if (place->module)
        n = asprintf(&label, "%s+0x%" PRIx64, gv_source_base(place->module), place->offset);
    else
        return strdup(place->file ? gv_source_base(place->file) : "??");
    return n < 0 ? NULL : label;
}

char *gv_place_label(const struct gv_place *place)
{
    char *function = gv_place_function(place), *label = NULL;
    if (!function || !place->file)
        return function;
    if (asprintf(&label, "%s (%s:%" PRIu32 ")", function, gv_source_base(place->file),
                 place->line) < 0)
        label = NULL;
    free(function);
    return label;
}

void gv_put_json(FILE *out, const char *text)
{
    json_t *string = json_string(text);
    if (!string || json_dumpf(string, out, JSON_ENCODE_ANY) < 0)
        fputs("\"\"", out);
    json_decref(string);
}

struct text {
    uint32_t number;
    char content[];
};

static int by_content(const void *left, const void *right)
{
    const struct text *a = left, *b = right;
    return strcmp(a->content, b->content);
}

int gv_texts_add(struct gv_texts *texts, const char *text, uint32_t *ret_number)
{
    size_t length = strlen(text) + 1;
    struct text *new = malloc(sizeof(*new) + length);
    if (!new)
        return -ENOMEM;
    new->number = texts->count;
    memcpy(new->content, text, length);
    struct text **found = tsearch(new, &texts->tree, by_content);
    if (!found || *found != new)
        free(new);
    else
        texts->count++;
    if (!found)
        return -ENOMEM;
    *ret_number = (*found)->number;
    return 0;
}

void gv_texts_free(struct gv_texts *texts)
{
    tdestroy(texts->tree, free);
    *texts = (struct gv_texts){0};
}
