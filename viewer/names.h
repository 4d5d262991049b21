/* SPDX-License-Identifier: MIT */
/* Interned texts and scope paths of a database, all in memory (they are few). */
#ifndef GV_NAMES_H
#define GV_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "viewer/libraries.h"
#include "viewer/memory.h"
#include "viewer/query.h"

enum gv_scope_kind { /* values of the annotation API */
                     GV_SCOPE_MODULE = 1,
                     GV_SCOPE_OP = 2,
                     GV_SCOPE_TENSOR = 3,
                     GV_SCOPE_PHASE = 4
};

struct gv_scope {
    uint32_t parent; /* index, GV_NONE at the top; always smaller than the scope's own */
    uint32_t kind, name_id;
};

struct gv_names {
    struct gv_index string_index;
    char **strings; /* safe to show: see gv_clean */
    uint32_t string_capacity;
    struct gv_index scope_index;
    struct gv_scope *scopes;
    uint32_t scope_capacity;
    struct gv_libraries libraries; /* and the stacks that are theirs */
};

int gv_names_load(struct gv_query *query, struct gv_names *ret_names);
void gv_names_free(struct gv_names *names);

/* NULL for id 0, unknown ids and empty texts. */
const char *gv_name(const struct gv_names *names, uint32_t string_id);

/* Name id of the innermost scope of `kind` on the path of scope row `scope_id`; 0: none. */
uint32_t gv_scope_name(const struct gv_names *names, uint32_t scope_id, enum gv_scope_kind kind);

/* "features.0 > ConvolutionBackward0 > output", or "" */
void gv_scope_path(const struct gv_names *names, uint32_t scope_id, char *ret_path, size_t size);

/* A copy of `text` that is valid UTF-8: bytes that are not become U+FFFD. NULL: no memory. */
char *gv_clean(const char *text);

#endif
