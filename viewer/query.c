/* SPDX-License-Identifier: MIT */
#include "viewer/query.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gv_fail(struct gv_query *query, int r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(query->error, sizeof(query->error), format, arguments);
    va_end(arguments);
    return r;
}

static int fail_sql(struct gv_query *query, int r)
{
    return gv_fail(query, r, "%s: %s", query->path, gp_db_error(query->db));
}

static int fail_row(struct gv_query *query, int r)
{
    if (query->error[0])
        return r;
    if (r == -EINVAL)
        return gv_fail(query, r, "%s: the rows contradict each other; the file is damaged",
                       query->path);
    return gv_fail(query, r, "%s: %s", query->path, strerror(-r));
}

static int run_rows(struct gv_query *query, struct gp_statement *statement,
                    gv_row_function *function, void *user)
{
    int r;
    while ((r = gp_step(statement)) > 0) {
        r = function(statement, user);
        if (r < 0)
            return fail_row(query, r);
        if ((++query->rows & 0xffff) == 0 && query->progress)
            query->progress(query->user, query->rows, 0);
    }
    return r < 0 ? fail_sql(query, r) : 0;
}

int gv_each(struct gv_query *query, const char *sql, const int64_t *binds, int bind_count,
            gv_row_function *function, void *user)
{
    struct gp_statement *statement;
    int r = gp_db_prepare(query->db, sql, &statement);
    if (r < 0)
        return fail_sql(query, r);
    for (int i = 0; i < bind_count && r == 0; i++)
        r = gp_bind_int64(statement, i + 1, binds[i]);
    r = r < 0 ? fail_sql(query, r) : run_rows(query, statement, function, user);
    gp_statement_destroy(statement);
    return r;
}

static int take_first(struct gp_statement *row, void *user)
{
    if (!gp_column_is_null(row, 0))
        *(int64_t *)user = gp_column_int64(row, 0);
    return 0;
}

int gv_one(struct gv_query *query, const char *sql, int64_t fallback, int64_t *ret_value)
{
    int64_t value = fallback;
    int r = gv_each(query, sql, NULL, 0, take_first, &value);
    if (r == 0)
        *ret_value = value;
    return r;
}

uint32_t gv_column_u32(struct gp_statement *row, int column)
{
    int64_t value = gp_column_int64(row, column);
    return value < 0 || value >= UINT32_MAX ? 0 : (uint32_t)value;
}

uint64_t gv_column_bytes(struct gp_statement *row, int column)
{
    int64_t value = gp_column_int64(row, column);
    return value < 0 ? 0 : (uint64_t)value;
}
