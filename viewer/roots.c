/* SPDX-License-Identifier: MIT */
#include "viewer/roots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/tally.h"

static const char *const whole_roles[] = {
    [1] = "parameters", [2] = "gradients", [3] = "optimiser state", [6] = "model buffers"};
#define WHOLE_ROLES (sizeof(whole_roles) / sizeof(whole_roles[0]))

struct grouping {
    struct gv_query *query;
    const struct gv_rows *rows;
    int index;
    struct gv_sites *sites;
    struct gv_tally by_name;   /* (name, site, role) -> root + 1 */
    struct gv_tally by_tensor; /* (allocation + 1, node + 1) -> root + 1 */
    struct gv_roots *roots;
};

static uint32_t whole_role_of(const struct gv_rows *rows, const struct gv_handle *handle)
{
    if (handle->allocation == GV_NONE)
        return 0;
    uint32_t role = gv_allocation_role(&rows->allocations[handle->allocation]);
    return role < WHOLE_ROLES && whole_roles[role] ? role : 0;
}

static int new_root(struct gv_roots *roots, const struct gv_root *root, uint32_t *ret_value)
{
    int r = gv_reserve(&roots->roots, &roots->capacity, roots->count, sizeof(*roots->roots));
    if (r < 0)
        return r;
    roots->roots[roots->count++] = *root;
    *ret_value = roots->count;
    return 0;
}

static int group_handle(struct grouping *g, uint32_t i)
{
    const struct gv_handle *handle = &g->rows->handles[i];
    uint32_t role = whole_role_of(g->rows, handle), site;
    int r = gv_site_of(g->sites, handle->stack_id, &site);
    if (r < 0)
        return r;
    struct gv_tally_row *named = role ? gv_tally_row(&g->by_name, 0, 0, role)
                                      : gv_tally_row(&g->by_name, handle->name_id, site, 0);
    struct gv_tally_row *tensor =
        gv_tally_row(&g->by_tensor, handle->allocation + 1, handle->node + 1, 0);
    if (!named || !tensor)
        return -ENOMEM;
    bool empty = handle->allocation == GV_NONE && handle->node == GV_NONE;
    uint32_t value = !role && !empty && tensor->value ? tensor->value : named->value;
    if (value == 0) {
        struct gv_root root = {.role = role, .name_id = handle->name_id, .site = site};
        r = new_root(g->roots, &root, &value);
        if (r < 0)
            return r;
        named->value = value;
    }
    if (!tensor->value) {
        tensor->value = value;
        g->roots->roots[value - 1].tensors++;
    }
    g->roots->of_handle[i] = value - 1;
    g->roots->roots[value - 1].handles++;
    return 0;
}

/* Named handles first, so that a tensor which also hangs on an unnamed one goes by its name. */
static int group_all(struct grouping *g)
{
    for (int named = 1; named >= 0; named--) {
        for (uint32_t i = 0; i < g->rows->handle_count; i++) {
            const struct gv_handle *handle = &g->rows->handles[i];
            if (!(handle->live >> g->index & 1) || (handle->name_id != 0) != named)
                continue;
            int r = group_handle(g, i);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int gv_roots_make(struct gv_query *query, const struct gv_rows *rows, int index,
                  struct gv_sites *sites, struct gv_roots *ret_roots)
{
    struct gv_roots roots = {0};
    struct grouping g = {
        .query = query, .rows = rows, .index = index, .sites = sites, .roots = &roots};
    roots.of_handle = gv_zeroed(rows->handle_count, sizeof(*roots.of_handle));
    int r = roots.of_handle ? 0 : -ENOMEM;
    if (r == 0) {
        memset(roots.of_handle, 0xff, rows->handle_count * sizeof(*roots.of_handle));
        r = group_all(&g);
    }
    gv_tally_free(&g.by_name);
    gv_tally_free(&g.by_tensor);
    if (r < 0) {
        gv_roots_free(&roots);
        return query->error[0] ? r : gv_fail(query, r, "%s: not enough memory", query->path);
    }
    *ret_roots = roots;
    return 0;
}

void gv_roots_free(struct gv_roots *roots)
{
    free(roots->roots);
    free(roots->of_handle);
    memset(roots, 0, sizeof(*roots));
}

void gv_root_title(const struct gv_root *root, const char *name, char *ret_title, size_t size)
{
    const char *title = root->role ? whole_roles[root->role] : name ? name : "(unnamed)";
    if (root->tensors > 1)
        snprintf(ret_title, size, "%s (%" PRIu32 ")", title, root->tensors);
    else
        snprintf(ret_title, size, "%s", title);
}
