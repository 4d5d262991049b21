/* SPDX-License-Identifier: MIT */
#include "viewer/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at `s`, 0 when it is not one (overlong, surrogate, beyond U+10FFFF,
 * cut off). */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
        return 0;
    return length;
}

char *gv_clean(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    const unsigned char *in = (const unsigned char *)text;
    char *clean = malloc(3 * strlen(text) + 1), *out = clean;
    if (!clean)
        return NULL;
    while (*in) {
        size_t length = utf8_length(in);
        memcpy(out, length ? (const char *)in : replacement, length ? length : 3);
        out += length ? length : 3;
        in += length ? length : 1;
    }
    *out = '\0';
    return clean;
}

static int string_row(struct gp_statement *row, void *user)
{
    struct gv_names *names = user;
    const char *text = gp_column_text(row, 1);
    uint32_t count = names->string_index.count;
    int r = gv_reserve(&names->strings, &names->string_capacity, count, sizeof(*names->strings));
    if (r < 0)
        return r;
    char *clean = gv_clean(text ? text : "");
    if (!clean)
        return -ENOMEM;
    r = gv_index_add(&names->string_index, gp_column_int64(row, 0));
    if (r < 0)
        free(clean);
    else
        names->strings[count] = clean;
    return r;
}

static int scope_row(struct gp_statement *row, void *user)
{
    struct gv_names *names = user;
    uint32_t count = names->scope_index.count;
    int r = gv_reserve(&names->scopes, &names->scope_capacity, count, sizeof(*names->scopes));
    if (r == 0)
        r = gv_index_add(&names->scope_index, gp_column_int64(row, 0));
    if (r < 0)
        return r;
    /* the parent's row id for now; load() turns it into an index */
    names->scopes[count] =
        (struct gv_scope){gv_column_u32(row, 1), gv_column_u32(row, 2), gv_column_u32(row, 3)};
    return 0;
}

static void link_scopes(struct gv_names *names)
{
    for (uint32_t i = 0; i < names->scope_index.count; i++) {
        uint32_t parent = gv_index_find(&names->scope_index, names->scopes[i].parent);
        /* a scope is interned after its parent; anything else would be a cycle in a damaged file */
        names->scopes[i].parent = parent != GV_NONE && parent < i ? parent : GV_NONE;
    }
}

int gv_names_load(struct gv_query *query, struct gv_names *ret_names)
{
    struct gv_names names = {0};
    int r = gv_each(query, "SELECT id, text FROM string ORDER BY id", NULL, 0, string_row, &names);
    if (r == 0)
        r = gv_each(query, "SELECT id, parent_id, kind, name_id FROM scope ORDER BY id", NULL, 0,
                    scope_row, &names);
    if (r == 0 &&
        (gv_index_finish(&names.string_index) < 0 || gv_index_finish(&names.scope_index) < 0))
        r = gv_fail(query, -ENOMEM, "%s: not enough memory", query->path);
    if (r == 0)
        r = gv_libraries_load(query, &names.libraries);
    if (r < 0) {
        gv_names_free(&names);
        return r;
    }
    link_scopes(&names);
    *ret_names = names;
    return 0;
}

void gv_names_free(struct gv_names *names)
{
    for (uint32_t i = 0; i < names->string_index.count; i++)
        free(names->strings[i]);
    free(names->strings);
    free(names->scopes);
    gv_index_free(&names->string_index);
    gv_index_free(&names->scope_index);
    gv_libraries_free(&names->libraries);
    memset(names, 0, sizeof(*names));
}

const char *gv_name(const struct gv_names *names, uint32_t string_id)
{
    uint32_t i = string_id ? gv_index_find(&names->string_index, string_id) : GV_NONE;
    return i == GV_NONE || !names->strings[i][0] ? NULL : names->strings[i];
}

uint32_t gv_scope_name(const struct gv_names *names, uint32_t scope_id, enum gv_scope_kind kind)
{
    uint32_t i = scope_id ? gv_index_find(&names->scope_index, scope_id) : GV_NONE;
    while (i != GV_NONE && names->scopes[i].kind != (uint32_t)kind)
        i = names->scopes[i].parent;
    return i == GV_NONE ? 0 : names->scopes[i].name_id;
}

void gv_scope_path(const struct gv_names *names, uint32_t scope_id, char *ret_path, size_t size)
{
    uint32_t path[32], depth = 0;
    uint32_t i = scope_id ? gv_index_find(&names->scope_index, scope_id) : GV_NONE;
    for (; i != GV_NONE && depth < sizeof(path) / sizeof(path[0]); i = names->scopes[i].parent)
        path[depth++] = i;
    size_t used = 0;
    ret_path[0] = '\0';
    while (depth > 0 && used < size) {
        const char *name = gv_name(names, names->scopes[path[--depth]].name_id);
        int length =
            snprintf(ret_path + used, size - used, "%s%s", used ? " > " : "", name ? name : "?");
        used += (size_t)length;
    }
}
