/* SPDX-License-Identifier: MIT */
#include "viewer/libraries.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64 /* of runtime, driver and profiler frames on top of a stack */

static const char *const below[] = {"libgradprof.so", "libcudart", "libcuda.so", "libhostcuda.so"};
static const char *const vendors[] = {"libcublas",   "libcudnn",    "libnccl",   "libcufft",
                                      "libcusolver", "libcusparse", "libcurand", "libnvrtc",
                                      "libcutensor", "libnvjpeg",   "libnpp"};

enum module_class { OTHER, BELOW, VENDOR };

struct module {
    uint32_t path_id;
    enum module_class class;
};

struct stack {
    int64_t parent_id;
    uint32_t module; /* index, GV_NONE: none */
};

struct loading {
    struct gv_libraries *libraries;
    struct gv_index module_index;
    struct module *modules;
    uint32_t module_capacity;
    struct stack *stacks;
    uint32_t stack_capacity;
    bool any_vendor;
};

static bool begins_with_any(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static enum module_class class_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    if (!name)
        return OTHER;
    if (begins_with_any(name, vendors, sizeof(vendors) / sizeof(vendors[0])))
        return VENDOR;
    return begins_with_any(name, below, sizeof(below) / sizeof(below[0])) ? BELOW : OTHER;
}

static int module_row(struct gp_statement *row, void *user)
{
    struct loading *loading = user;
    uint32_t count = loading->module_index.count;
    int r =
        gv_reserve(&loading->modules, &loading->module_capacity, count, sizeof(*loading->modules));
    if (r == 0)
        r = gv_index_add(&loading->module_index, gp_column_int64(row, 0));
    if (r < 0)
        return r;
    loading->modules[count] =
        (struct module){gv_column_u32(row, 1), class_of(gp_column_text(row, 2))};
    loading->any_vendor |= loading->modules[count].class == VENDOR;
    return 0;
}

static int stack_row(struct gp_statement *row, void *user)
{
    struct loading *loading = user;
    uint32_t count = loading->libraries->stack_index.count;
    int r = gv_reserve(&loading->stacks, &loading->stack_capacity, count, sizeof(*loading->stacks));
    if (r == 0)
        r = gv_index_add(&loading->libraries->stack_index, gp_column_int64(row, 0));
    if (r == 0)
        loading->stacks[count] =
            (struct stack){gp_column_int64(row, 1),
                           gv_index_find(&loading->module_index, gp_column_int64(row, 2))};
    return r;
}

static uint32_t resolve(const struct loading *loading, uint32_t stack)
{
    for (int depth = 0; stack != GV_NONE && depth < DEPTH_MAX; depth++) {
        const struct stack *s = &loading->stacks[stack];
        const struct module *module = s->module == GV_NONE ? NULL : &loading->modules[s->module];
        if (!module || module->class == OTHER)
            return 0;
        if (module->class == VENDOR)
            return module->path_id;
        stack = gv_index_find(&loading->libraries->stack_index, s->parent_id);
    }
    return 0;
}

static int load_stacks(struct gv_query *query, struct loading *loading)
{
    struct gv_libraries *libraries = loading->libraries;
    int r = gv_each(query,
                    "SELECT s.id, s.parent_id, f.module_id FROM stack s "
                    "JOIN frame f ON f.id = s.frame_id ORDER BY s.id",
                    NULL, 0, stack_row, loading);
    if (r == 0)
        r = gv_index_finish(&libraries->stack_index);
    libraries->path_ids = gv_zeroed(libraries->stack_index.count, sizeof(*libraries->path_ids));
    if (r == 0 && !libraries->path_ids)
        r = gv_fail(query, -1, "%s: not enough memory", query->path);
    for (uint32_t i = 0; r == 0 && i < libraries->stack_index.count; i++)
        libraries->path_ids[i] = resolve(loading, i);
    return r;
}

int gv_libraries_load(struct gv_query *query, struct gv_libraries *ret_libraries)
{
    struct gv_libraries libraries = {0};
    struct loading loading = {.libraries = &libraries};
    int r = gv_each(query,
                    "SELECT m.id, m.path_id, s.text FROM module m "
                    "LEFT JOIN string s ON s.id = m.path_id ORDER BY m.id",
                    NULL, 0, module_row, &loading);
    if (r == 0)
        r = gv_index_finish(&loading.module_index);
    if (r == 0 && loading.any_vendor)
        r = load_stacks(query, &loading);
    gv_index_free(&loading.module_index);
    free(loading.modules);
    free(loading.stacks);
    if (r < 0)
        gv_libraries_free(&libraries);
    else
        *ret_libraries = libraries;
    return r;
}

void gv_libraries_free(struct gv_libraries *libraries)
{
    gv_index_free(&libraries->stack_index);
    free(libraries->path_ids);
    memset(libraries, 0, sizeof(*libraries));
}

uint32_t gv_library_of(const struct gv_libraries *libraries, uint32_t stack_id)
{
    uint32_t index =
        libraries->path_ids ? gv_index_find(&libraries->stack_index, stack_id) : GV_NONE;
    return index == GV_NONE ? 0 : libraries->path_ids[index];
}
