/* SPDX-License-Identifier: MIT */
/*
 * Writing rows in bulk.
 *
 * gp_rows  : rows that are complete when they are made (edge, clock). Buffered, many to an INSERT:
 *            one statement of 64 rows costs half of 64 statements of one.
 * gp_table : rows with a life (allocation, node, saved, handle, step). An object is inserted at the
 *            next flush; one that begins and ends before it costs one row, one that changes later is
 *            written again under its id, which costs half of an UPDATE. Both go in id order, so that
 *            pages are touched in order. No table has an index, so nothing else moves.
 */
#ifndef GP_STORE_ROWS_H
#define GP_STORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/store/db.h"
#include "libgradprof/store/slab.h"

#define GP_ROW_NULL INT64_MIN /* stands for NULL; no stored value is that small */
#define GP_ROW_COLUMNS_MAX 16
#define GP_ROWS_BATCH 64

enum gp_rows_verb { GP_ROWS_INSERT, GP_ROWS_REPLACE };

struct gp_rows {
    struct gp_statement *batch, *single;
    size_t columns, buffered;
    int64_t values[GP_ROWS_BATCH * GP_ROW_COLUMNS_MAX];
};

/* `columns`: "a, b, c". */
int gp_rows_init(struct gp_rows *rows, struct gp_db *db, enum gp_rows_verb verb, const char *table,
                 const char *columns);
void gp_rows_finish(struct gp_rows *rows); /* forgets what is buffered */
int gp_rows_put(struct gp_rows *rows, const int64_t *values);
int gp_rows_flush(struct gp_rows *rows);

enum gp_object_state { GP_OBJECT_FRESH, GP_OBJECT_STORED, GP_OBJECT_CHANGED };

struct gp_object { /* first member of every object with a life */
    uint64_t id;
    uint64_t begin_seq, end_seq; /* end_seq 0: lives */
};

struct gp_object_list {
    struct gp_object **objects;
    size_t count, capacity;
};

struct gp_table_kind {
    const char *name;
    const char *columns; /* "id" is the first */
    size_t object_bytes;
    size_t state_offset; /* of a uint8_t enum gp_object_state in the object */
    void (*values)(const struct gp_object *object, int64_t *ret_values);
};

struct gp_table {
    const struct gp_table_kind *kind;
    struct gp_slab slab;
    struct gp_object_list fresh, changed;
    struct gp_rows insert, replace;
    uint64_t last_id;
};

int gp_table_init(struct gp_table *table, struct gp_db *db, const struct gp_table_kind *kind);
void gp_table_finish(struct gp_table *table);

/* A new object with the next id; NULL: out of memory. */
void *gp_table_create(struct gp_table *table, uint64_t seq);
/* An object that is already a row (resume). */
void *gp_table_adopt(struct gp_table *table, uint64_t id, uint64_t begin_seq);
/* To be called after each change that its row must show. */
int gp_table_touch(struct gp_table *table, struct gp_object *object);
/* Ends it: the caller forgets the object, which goes away at the next flush. */
int gp_table_end(struct gp_table *table, struct gp_object *object, uint64_t seq);
int gp_table_flush(struct gp_table *table);

/* 0 and "not known yet" are stored as NULL. */
static inline int64_t gp_row_value(uint64_t value)
{
    return value ? (int64_t)value : GP_ROW_NULL;
}

#endif
