/* SPDX-License-Identifier: MIT */
/*
 * Reading rows with few words. Every function returns 0 or a negative errno; what went wrong stands
 * in query->error as one line.
 */
#ifndef GV_QUERY_H
#define GV_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/store/db.h"

#define GV_ERROR_MAX 512

struct gv_query {
    struct gp_db *db;
    const char *path;
    char error[GV_ERROR_MAX];
    /* May be NULL; called every 65,536 rows with the rows so far and 0. */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    uint64_t rows;
};

/* Called for each row; a negative return ends the query with it. */
typedef int gv_row_function(struct gp_statement *row, void *user);

/* Runs `sql` with `bind_count` integers bound. */
int gv_each(struct gv_query *query, const char *sql, const int64_t *binds, int bind_count,
            gv_row_function *function, void *user);

/* The first column of the first row into *ret_value; `fallback` when there is no row or it is NULL. */
int gv_one(struct gv_query *query, const char *sql, int64_t fallback, int64_t *ret_value);

/* Sets the error text; returns `r`. */
int gv_fail(struct gv_query *query, int r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A 32-bit column: NULL, negative and too large values read as 0 ("none"). */
uint32_t gv_column_u32(struct gp_statement *row, int column);
/* A byte count: negative values read as 0. */
uint64_t gv_column_bytes(struct gp_statement *row, int column);

#endif
