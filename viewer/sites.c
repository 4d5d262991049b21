/* SPDX-License-Identifier: MIT */
#include "viewer/sites.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/memory.h"
#include "viewer/names.h"
#include "viewer/symbols.h"
#include "viewer/tally.h"

#define STACK_DEPTH_MAX 1024 /* deeper ones, and cycles in damaged files, are cut */

struct module {
    struct gv_module of;
    char *path;
    unsigned char *build_id;
    enum gv_module_state state;
};

struct frame {               /* a return address with what is inlined there */
    int first_place, places; /* in sites->places */
};

struct gv_sites {
    struct gv_query *query;
    struct gv_symbols *symbols;
    struct gp_statement *stack_row, *frame_row;
    struct gv_index module_index;
    struct module *modules;
    uint32_t module_capacity;
    struct gv_tally frames_seen; /* (frame_id) -> value = frame + 1 */
    struct frame *frames;
    uint32_t frame_count, frame_capacity;
    struct gv_place *places;
    uint32_t place_count, place_capacity;
    char **texts; /* that the places point to */
    uint32_t text_count, text_capacity;
    struct gv_tally stacks_seen; /* (stack_id) -> value = site */
    struct gv_place *sites;      /* by site - 1 */
    uint32_t site_count, site_capacity;
};

/* What is not the program's own. Frames without a module are Python's. */
static const struct {
    enum { MODULE_NAME, FUNCTION_NAME } what; /* begins with `prefix` */
    const char *prefix;
} foreign[] = {
    {MODULE_NAME, "libgradprof.so"}, {MODULE_NAME, "libhostcuda.so"}, {MODULE_NAME, "libcudart.so"},
    {MODULE_NAME, "libcuda.so"},     {MODULE_NAME, "libc.so"},        {MODULE_NAME, "libc-"},
    {MODULE_NAME, "libstdc++.so"},   {MODULE_NAME, "libpthread"},     {MODULE_NAME, "ld-linux"},
    {MODULE_NAME, "ag_backend_"},    {FUNCTION_NAME, "ag_"},          {FUNCTION_NAME, "gradprof_"},
};

/* Python's own files and installed packages. */
static const char *const foreign_folders[] = {"/dist-packages/", "/site-packages/", "/lib/python3",
                                              "<frozen "};

static bool is_foreign_file(const struct gv_place *place)
{
    bool found = false;
    for (size_t i = 0; i < sizeof(foreign_folders) / sizeof(foreign_folders[0]); i++)
        found |= place->file && !place->module && strstr(place->file, foreign_folders[i]);
    return found;
}

static bool is_foreign(const struct gv_place *place)
{
    if (is_foreign_file(place))
        return true;
    const char *slash = place->module ? strrchr(place->module, '/') : NULL;
    const char *module = slash ? slash + 1 : place->module;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        const char *text = foreign[i].what == MODULE_NAME ? module : place->function;
        if (module && text && strncmp(text, foreign[i].prefix, strlen(foreign[i].prefix)) == 0)
            return true;
    }
    return false;
}

static int module_row(struct gp_statement *row, void *user)
{
    struct gv_sites *sites = user;
    uint32_t count = sites->module_index.count;
    int r = gv_reserve(&sites->modules, &sites->module_capacity, count, sizeof(*sites->modules));
    if (r == 0)
        r = gv_index_add(&sites->module_index, gp_column_int64(row, 0));
    if (r < 0)
        return r;
    struct module *module = &sites->modules[count];
    const char *path = gp_column_text(row, 1);
    *module = (struct module){.path = path ? gv_clean(path) : NULL};
    size_t length = 0;
    const void *build_id = gp_column_blob(row, 3, &length);
    module->build_id = build_id && length ? malloc(length) : NULL;
    if (module->build_id)
        memcpy(module->build_id, build_id, length);
    module->of = (struct gv_module){module->path, (uint64_t)gp_column_int64(row, 2),
                                    module->build_id, module->build_id ? length : 0};
    return 0;
}

int gv_sites_create(struct gv_query *query, struct gv_sites **ret_sites)
{
    struct gv_sites *sites = calloc(1, sizeof(*sites));
    if (!sites)
        return gv_fail(query, -ENOMEM, "%s: not enough memory", query->path);
    sites->query = query;
    sites->symbols = gv_symbols_create();
    int r = gv_each(query,
                    "SELECT m.id, s.text, m.base, m.build_id FROM module m "
                    "LEFT JOIN string s ON s.id = m.path_id ORDER BY m.id",
                    NULL, 0, module_row, sites);
    if (r == 0)
        r = gv_index_finish(&sites->module_index);
    if (r == 0 &&
        (gp_db_prepare(query->db, "SELECT parent_id, frame_id FROM stack WHERE id = ?1",
                       &sites->stack_row) < 0 ||
         gp_db_prepare(query->db,
                       "SELECT address, module_id, offset, function, file, line FROM frame "
                       "WHERE id = ?1",
                       &sites->frame_row) < 0))
        r = gv_fail(query, -EINVAL, "%s: %s", query->path, gp_db_error(query->db));
    if (r < 0) {
        gv_sites_destroy(sites);
        return r;
    }
    *ret_sites = sites;
    return 0;
}

void gv_sites_destroy(struct gv_sites *sites)
{
    if (!sites)
        return;
    gp_statement_destroy(sites->stack_row);
    gp_statement_destroy(sites->frame_row);
    gv_symbols_destroy(sites->symbols);
    for (uint32_t i = 0; i < sites->module_index.count; i++) {
        free(sites->modules[i].path);
        free(sites->modules[i].build_id);
    }
    for (uint32_t i = 0; i < sites->text_count; i++)
        free(sites->texts[i]);
    gv_index_free(&sites->module_index);
    gv_tally_free(&sites->frames_seen);
    gv_tally_free(&sites->stacks_seen);
    free(sites->modules);
    free(sites->frames);
    free(sites->places);
    free(sites->texts);
    free(sites->sites);
    free(sites);
}

static int keep_text(struct gv_sites *sites, const char *text, const char **ret_text)
{
    *ret_text = NULL;
    if (!text)
        return 0;
    int r =
        gv_reserve(&sites->texts, &sites->text_capacity, sites->text_count, sizeof(*sites->texts));
    char *clean = r == 0 ? gv_clean(text) : NULL;
    if (!clean)
        return -ENOMEM;
    sites->texts[sites->text_count++] = clean;
    *ret_text = clean;
    return 0;
}

static int add_place(struct gv_sites *sites, const struct gv_place *place)
{
    int r = gv_reserve(&sites->places, &sites->place_capacity, sites->place_count,
                       sizeof(*sites->places));
    if (r == 0)
        sites->places[sites->place_count++] = *place;
    return r;
}

/* By DWARF: one place for each inlined call, or one that knows module and offset only. */
static int add_native_places(struct gv_sites *sites, uint32_t module, uint64_t address,
                             struct gv_place place)
{
    struct gv_symbol found[GV_INLINE_MAX];
    int count = 0;
    if (module != GV_NONE) {
        struct module *m = &sites->modules[module];
        /* the call, not the instruction after it, which may belong to the next line */
        count = gv_symbols_find(sites->symbols, module, &m->of, address - 1, found, &m->state);
    }
    int r = count == 0 ? add_place(sites, &place) : 0;
    for (int i = 0; i < count && r == 0; i++) {
        place.line = found[i].line;
        r = keep_text(sites, found[i].function, &place.function);
        if (r == 0)
            r = keep_text(sites, found[i].file, &place.file);
        if (r == 0)
            r = add_place(sites, &place);
    }
    return r;
}

static int read_frame(struct gv_sites *sites, struct gp_statement *row)
{
    struct gv_place place = {.offset = (uint64_t)gp_column_int64(row, 2)};
    uint32_t module = gv_index_find(&sites->module_index, gp_column_int64(row, 1));
    place.module = module == GV_NONE ? NULL : sites->modules[module].path;
    if (gp_column_is_null(row, 3) && gp_column_is_null(row, 4))
        return add_native_places(sites, module, (uint64_t)gp_column_int64(row, 0), place);
    int r = keep_text(sites, gp_column_text(row, 3), &place.function);
    if (r == 0)
        r = keep_text(sites, gp_column_text(row, 4), &place.file);
    place.line = gv_column_u32(row, 5);
    return r == 0 ? add_place(sites, &place) : r;
}

/* Runs `statement` for the row `id`: 1 a row, 0 none, or a negative errno. */
static int look_up(struct gv_sites *sites, struct gp_statement *statement, uint32_t id)
{
    gp_reset(statement);
    int r = gp_bind_int64(statement, 1, id);
    r = r < 0 ? r : gp_step(statement);
    if (r < 0)
        gv_fail(sites->query, r, "%s: %s", sites->query->path, gp_db_error(sites->query->db));
    return r;
}

static int find_frame(struct gv_sites *sites, uint32_t frame_id, struct frame *ret_frame)
{
    struct gv_tally_row *seen = gv_tally_row(&sites->frames_seen, frame_id, 0, 0);
    if (!seen)
        return -ENOMEM;
    if (seen->value == 0) {
        struct frame frame = {.first_place = (int)sites->place_count};
        int r = look_up(sites, sites->frame_row, frame_id);
        if (r > 0)
            r = read_frame(sites, sites->frame_row);
        if (r == 0)
            r = gv_reserve(&sites->frames, &sites->frame_capacity, sites->frame_count,
                           sizeof(*sites->frames));
        if (r < 0)
            return r;
        frame.places = (int)sites->place_count - frame.first_place;
        sites->frames[sites->frame_count] = frame;
        seen->value = ++sites->frame_count;
    }
    *ret_frame = sites->frames[seen->value - 1];
    return 0;
}

/* One level of a stack: its frame, and the caller's stack (0 at the outermost). 1, or 0 at the end. */
static int next_frame(struct gv_sites *sites, uint32_t *stack_id, struct frame *ret_frame)
{
    if (*stack_id == 0)
        return 0;
    int r = look_up(sites, sites->stack_row, *stack_id);
    if (r <= 0)
        return r;
    *stack_id = gv_column_u32(sites->stack_row, 0);
    r = find_frame(sites, gv_column_u32(sites->stack_row, 1), ret_frame);
    return r < 0 ? r : 1;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Two call sites on one line are one site: a reader cannot tell them apart. */
static bool same_place(const struct gv_place *a, const struct gv_place *b)
{
    return a->line == b->line && same_text(a->file, b->file) &&
           same_text(a->function, b->function) &&
           (a->file || (a->offset == b->offset && same_text(a->module, b->module)));
}

static int intern_site(struct gv_sites *sites, const struct gv_place *place, uint32_t *ret_site)
{
    for (uint32_t i = 0; i < sites->site_count; i++) {
        if (same_place(&sites->sites[i], place)) {
            *ret_site = i + 1;
            return 0;
        }
    }
    int r =
        gv_reserve(&sites->sites, &sites->site_capacity, sites->site_count, sizeof(*sites->sites));
    if (r < 0)
        return r;
    sites->sites[sites->site_count++] = *place;
    *ret_site = sites->site_count;
    return 0;
}

/* The stacks' prefix tree makes most walks short: they end at the first frame of the program. */
static int walk_to_site(struct gv_sites *sites, uint32_t stack_id, uint32_t *ret_site)
{
    struct frame frame;
    int r;
    *ret_site = 0;
    for (int depth = 0; depth < STACK_DEPTH_MAX; depth++) {
        r = next_frame(sites, &stack_id, &frame);
        if (r <= 0)
            return r;
        for (int i = 0; i < frame.places; i++) {
            const struct gv_place *place = &sites->places[frame.first_place + i];
            if (!is_foreign(place) && (place->file || place->module))
                return intern_site(sites, place, ret_site);
        }
    }
    return 0;
}

int gv_site_of(struct gv_sites *sites, uint32_t stack_id, uint32_t *ret_site)
{
    struct gv_tally_row *seen = gv_tally_row(&sites->stacks_seen, stack_id, 0, 0);
    if (!seen)
        return gv_fail(sites->query, -ENOMEM, "%s: not enough memory", sites->query->path);
    if (seen->count == 0) { /* not walked yet */
        uint32_t site;
        int r = walk_to_site(sites, stack_id, &site);
        if (r < 0)
            return r;
        seen->count = 1;
        seen->value = site;
    }
    *ret_site = seen->value;
    return 0;
}

const struct gv_place *gv_site_place(const struct gv_sites *sites, uint32_t site)
{
    return site && site <= sites->site_count ? &sites->sites[site - 1] : NULL;
}

int gv_stack_places(struct gv_sites *sites, uint32_t stack_id, struct gv_place *ret_places, int max,
                    int *ret_count)
{
    struct frame frame;
    int count = 0, r = 0;
    for (int depth = 0; depth < STACK_DEPTH_MAX && count < max; depth++) {
        r = next_frame(sites, &stack_id, &frame);
        if (r <= 0)
            break;
        for (int i = 0; i < frame.places && count < max; i++)
            ret_places[count++] = sites->places[frame.first_place + i];
    }
    *ret_count = count;
    return r < 0 ? r : 0;
}

const char *gv_sites_changed_module(const struct gv_sites *sites, uint32_t n)
{
    for (uint32_t i = 0; i < sites->module_index.count; i++)
        if (sites->modules[i].state == GV_MODULE_CHANGED && n-- == 0)
            return sites->modules[i].path;
    return NULL;
}
