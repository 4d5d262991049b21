/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libgradprof/log/format.h"
#include "libgradprof/store/db.h"

static int run_once(struct gp_statement *statement, int status)
{
    if (status == 0)
        status = gp_step(statement);
    gp_statement_destroy(statement);
    return status;
}

int gp_meta_put_text(struct gp_db *db, const char *key, size_t key_length, const char *value,
                     size_t value_length)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(db, "INSERT OR REPLACE INTO meta VALUES(?,?)", &statement);
    if (status < 0)
        return status;
    status = gp_bind_text(statement, 1, key, key_length);
    if (status == 0)
        status = gp_bind_text(statement, 2, value, value_length);
    return run_once(statement, status);
}

static int put_named(struct gp_db *db, const char *sql, const char *name, int64_t value)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(db, sql, &statement);
    if (status < 0)
        return status;
    status = gp_bind_text(statement, 1, name, strlen(name));
    if (status == 0)
        status = gp_bind_int64(statement, 2, value);
    return run_once(statement, status);
}

int gp_meta_put_int64(struct gp_db *db, const char *key, int64_t value)
{
    return put_named(db, "INSERT OR REPLACE INTO meta VALUES(?,?)", key, value);
}

int gp_counter_put(struct gp_db *db, const char *name, uint64_t value)
{
    return put_named(db, "INSERT OR REPLACE INTO counter VALUES(?,?)", name, (int64_t)value);
}

static int get_named(struct gp_db *db, const char *sql, const char *name, uint64_t *ret_value)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(db, sql, &statement);
    if (status < 0)
        return status;
    status = gp_bind_text(statement, 1, name, strlen(name));
    if (status == 0)
        status = gp_step(statement);
    if (status == 1)
        *ret_value = (uint64_t)gp_column_int64(statement, 0);
    gp_statement_destroy(statement);
    return status < 0 ? status : 0;
}

int gp_meta_get(struct gp_db *db, const char *key, uint64_t *ret_value)
{
    return get_named(db, "SELECT value FROM meta WHERE key = ?", key, ret_value);
}

int gp_counter_get(struct gp_db *db, const char *name, uint64_t *ret_value)
{
    return get_named(db, "SELECT value FROM counter WHERE name = ?", name, ret_value);
}

/* --- which run --------------------------------------------------------------------------------- */

void gp_run_id_text(const struct gp_log_header *header, char ret_text[17])
{
    snprintf(ret_text, 17, "%016" PRIx64, header->run_id);
}

static int get_text(struct gp_db *db, const char *key, char *ret_text, size_t ret_size)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(db, "SELECT value FROM meta WHERE key = ?", &statement);
    if (status < 0)
        return status;
    status = gp_bind_text(statement, 1, key, strlen(key));
    if (status == 0)
        status = gp_step(statement);
    const char *text = status == 1 ? gp_column_text(statement, 0) : NULL;
    snprintf(ret_text, ret_size, "%s", text ? text : "");
    gp_statement_destroy(statement);
    return status < 0 ? status : 0;
}

int gp_run_compare(struct gp_db *db, const struct gp_log_header *header,
                   enum gp_run_relation *ret_relation)
{
    char expected[17], found[32];
    uint64_t finished = 0;
    gp_run_id_text(header, expected);
    int status = get_text(db, "run_id", found, sizeof(found));
    if (status == 0)
        status = gp_meta_get(db, "finished", &finished);
    if (status < 0)
        return status;
    if (strcmp(expected, found) != 0)
        *ret_relation = GP_RUN_OTHER;
    else
        *ret_relation = finished ? GP_RUN_FINISHED : GP_RUN_UNFINISHED;
    return 0;
}
