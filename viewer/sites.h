/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of a database as source places. A stack's *site* is its innermost frame that belongs to
 * the program itself, not to the engine, the profiler or the C library: the line a user can change.
 * Everything is looked up on demand and remembered.
 */
#ifndef GV_SITES_H
#define GV_SITES_H

#include <stdint.h>

#include "viewer/query.h"

struct gv_place {
    const char *function, *file; /* NULL: not known */
    uint32_t line;
    const char *module; /* path, NULL: not known */
    uint64_t offset;    /* in the module */
};

struct gv_sites;

int gv_sites_create(struct gv_query *query, struct gv_sites **ret_sites);
void gv_sites_destroy(struct gv_sites *sites); /* accepts NULL */

/* Site number of a stack: equal for stacks whose sites are the same function, file and line; 0 when
 * there is none. 0 or a negative errno. */
int gv_site_of(struct gv_sites *sites, uint32_t stack_id, uint32_t *ret_site);

/* The place of a site number; NULL for 0. Valid until the next gv_site_of. */
const struct gv_place *gv_site_place(const struct gv_sites *sites, uint32_t site);

/* The whole stack, innermost first, at most `max` places; inlined calls are places of their own. */
int gv_stack_places(struct gv_sites *sites, uint32_t stack_id, struct gv_place *ret_places, int max,
                    int *ret_count);

/* Modules whose file was rebuilt since the run, of those looked at so far: the n-th one's path, or
 * NULL past the last. Lines in them are left out. */
const char *gv_sites_changed_module(const struct gv_sites *sites, uint32_t n);

#endif
