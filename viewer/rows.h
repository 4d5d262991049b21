/* SPDX-License-Identifier: MIT */
/*
 * What lives at up to three moments of a run, loaded in one pass over each table. Bit m of a `live`
 * field says that the row lives at moment m. References between rows are indices; GV_NONE when the
 * row referred to lives at none of the moments.
 *
 * Sizes matter: ten million allocations and as many saved slots are a supported input.
 */
#ifndef GV_ROWS_H
#define GV_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/memory.h"
#include "viewer/query.h"

#define GV_MOMENTS_MAX 3

struct gv_allocation {
    uint64_t size_bytes;
    int64_t begin_seq;
    uint32_t traits; /* device | level << 8 | kind << 10 | role << 16 | context << 24 */
    uint32_t stack_id, scope_id, step_id, name_id;
    int64_t parent_id;                     /* of a block, 0: none */
    uint64_t carved_bytes[GV_MOMENTS_MAX]; /* in live blocks, which are rows of their own */
    uint8_t live;
    uint8_t saved; /* moments at which a live node saves it */
    uint8_t held;  /* moments at which the program holds it by a handle */
};

struct gv_node {
    int64_t begin_seq;
    int64_t backward_seq; /* 0: never visited by a backward */
    uint32_t op_id, step_id, scope_id, stack_id;
    uint8_t live;
};

struct gv_edge {
    uint32_t node, input; /* both known */
};

struct gv_saved {
    uint32_t node; /* known */
    uint32_t allocation, source;
    uint32_t slot_id;
    uint8_t live;
};

struct gv_handle {
    uint32_t name_id, stack_id, step_id;
    uint32_t allocation, node;
    uint8_t live;
};

struct gv_rows {
    int moments;
    int64_t seq[GV_MOMENTS_MAX];
    struct gv_index allocation_index, node_index;
    struct gv_allocation *allocations;
    struct gv_node *nodes;
    struct gv_edge *edges;
    struct gv_saved *saved; /* in order of saving */
    struct gv_handle *handles;
    uint32_t edge_count, saved_count, handle_count;
    uint32_t allocation_capacity, node_capacity, edge_capacity, saved_capacity, handle_capacity;
};

int gv_rows_load(struct gv_query *query, const int64_t *seqs, int moments,
                 struct gv_rows *ret_rows);
void gv_rows_free(struct gv_rows *rows);

/* Takes the blocks that lie in mapped physical memory out of it, piece by piece. */
int gv_rows_carve_mapped(struct gv_query *query, struct gv_rows *rows);

/* What of `rows` lives at their moment `index`, as rows of that moment alone. 0 or -ENOMEM. */
int gv_rows_pick(const struct gv_rows *rows, int index, struct gv_rows *ret_rows);

#define GV_ROLE_POOL 7u /* device memory that blocks are carved from */

static inline uint32_t gv_allocation_device(const struct gv_allocation *a)
{
    return a->traits & 0xff;
}

static inline uint32_t gv_allocation_role(const struct gv_allocation *a)
{
    return a->traits >> 16 & 0xff;
}

bool gv_is_device_memory(const struct gv_allocation *a); /* its gv_bytes_at count in the total */
/* What is its own at a moment: without the blocks carved from it. */
static inline uint64_t gv_bytes_at(const struct gv_allocation *a, int moment)
{
    return a->size_bytes - a->carved_bytes[moment];
}
bool gv_is_block(const struct gv_allocation *a);           /* carved from another allocation */
bool gv_is_physical_memory(const struct gv_allocation *a); /* reached through mappings only */
bool gv_is_pinned_memory(const struct gv_allocation *a);   /* host memory: a line of its own */

/* No allocation is larger: more is damage, and capping it keeps every sum within 64 bits. */
#define GV_SIZE_MAX_BYTES (INT64_C(1) << 48)
#define GV_SQL_SIZE "max(0, min(size_bytes, 1 << 48))"

/* The same test in SQL, for columns of the table `allocation`. */
#define GV_SQL_DEVICE_MEMORY "(traits >> 8 & 3) = 0 AND (traits >> 10 & 63) NOT IN (5, 6, 7)"

#endif
