/* SPDX-License-Identifier: MIT */
#include "viewer/json_build.h"

#include <errno.h>

static bool lost;

void gv_json_start(void)
{
    lost = false;
}

void gv_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        lost = true;
}

void gv_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        lost = true;
}

json_t *gv_json_text(const char *text)
{
    return text ? json_string(text) : json_null();
}

json_t *gv_json_bytes(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *gv_json_known(bool known, uint64_t value)
{
    return known ? gv_json_bytes(value) : json_null();
}

int gv_json_finish(json_t *document, FILE *out)
{
    int r = lost ? -ENOMEM : 0;
    if (r == 0 && json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) < 0)
        r = -EIO;
    json_decref(document);
    if (r == 0)
        fputc('\n', out);
    return r;
}
