/* SPDX-License-Identifier: MIT */
/*
 * Who owns each byte at a moment. A live device allocation belongs to exactly one class, the first
 * that applies in the order of enum gv_owner; so the classes add up to the live bytes.
 */
#ifndef GV_OWNERS_H
#define GV_OWNERS_H

#include <stdint.h>

#include "viewer/moment.h"
#include "viewer/names.h"
#include "viewer/rows.h"

enum gv_owner {
    GV_OWNER_PARAMETER,       /* by role */
    GV_OWNER_GRADIENT,        /* by role */
    GV_OWNER_OPTIMIZER_STATE, /* by role */
    GV_OWNER_BUFFER,          /* by role */
    GV_OWNER_WORKSPACE,       /* by role */
    GV_OWNER_INPUT,           /* by role, unless only the graph holds it any more */
    GV_OWNER_SAVED,           /* a live node of the graph saves it for its backward */
    GV_OWNER_HANDLE,          /* the program holds it: an output or any other variable */
    GV_OWNER_TEMPORARY,       /* allocated inside a module or an operation, none of the above */
    GV_OWNER_CACHED,          /* kept by the program's own allocator, in no block */
    GV_OWNER_UNATTRIBUTED,
    GV_OWNER_COUNT
};

const char *gv_owner_key(enum gv_owner owner);   /* "saved": for JSON */
const char *gv_owner_label(enum gv_owner owner); /* "saved by graph nodes": for people */

enum gv_owner gv_owner_of(const struct gv_names *names, const struct gv_allocation *a, int moment);

struct gv_account { /* the ledger at one moment, all devices */
    struct gv_moment moment;
    uint64_t bytes, allocations;
    uint64_t owner_bytes[GV_OWNER_COUNT], owner_allocations[GV_OWNER_COUNT];
    uint64_t pinned_bytes; /* host memory; in none of the sums above */
    double attributed_percent;
};

/* `index`: which of the moments that `rows` were loaded for. */
struct gv_account gv_account_make(const struct gv_rows *rows, const struct gv_names *names,
                                  const struct gv_moment *moment, int index);

#endif
