/* SPDX-License-Identifier: MIT */
/*
 * SQLite, behind one file pair: db.c is the only file that includes sqlite3.h.
 *
 * Errors: functions return 0 or a negative errno; the text of the last failure is in
 * gp_db_error(db), one line without newline, valid until the next call. Threads: a database and its
 * statements are used by one thread at a time. Destroyers accept NULL.
 */
#ifndef GP_STORE_DB_H
#define GP_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_SCHEMA_VERSION 1
#define GP_APPLICATION_ID 0x67727066 /* "grpf", PRAGMA application_id */

struct gp_db;
struct gp_statement;

enum gp_db_mode { GP_DB_READ_ONLY, GP_DB_READ_WRITE, GP_DB_CREATE };

/* Opens without looking inside. GP_DB_CREATE makes a new file and refuses one that exists. -ENOENT,
 * -EEXIST, -EISDIR, -EACCES, -EIO, -ENOMEM, -ENOSPC, -EROFS. On failure *ret_db is untouched and
 * `error` (may be NULL) holds one line. Later calls also return -EBADMSG (damaged, or not a
 * database), -EBUSY (locked by another process for more than two seconds), -EINVAL (wrong SQL). */
int gp_db_open(const char *path, enum gp_db_mode mode, struct gp_db **ret_db, char *error,
               size_t error_size);
void gp_db_close(struct gp_db *db);
const char *gp_db_error(const struct gp_db *db);

/* Runs SQL text of one or more statements that return no rows. */
int gp_db_execute(struct gp_db *db, const char *sql);

/* A prepared statement; `sql` is copied. */
int gp_db_prepare(struct gp_db *db, const char *sql, struct gp_statement **ret_statement);
void gp_statement_destroy(struct gp_statement *statement);

/* Parameters count from 1, columns from 0. Text is copied by bind; a text column is valid until the
 * next step, reset or destroy. */
int gp_bind_int64(struct gp_statement *statement, int parameter, int64_t value);
int gp_bind_text(struct gp_statement *statement, int parameter, const char *text, size_t length);
int gp_bind_blob(struct gp_statement *statement, int parameter, const void *data, size_t length);
int gp_bind_null(struct gp_statement *statement, int parameter);
int gp_step(struct gp_statement *statement);   /* 1: a row, 0: done, negative errno */
void gp_reset(struct gp_statement *statement); /* ready to run again; bindings are cleared */
void gp_rerun(struct gp_statement *statement); /* ready to run again with the same bindings */
bool gp_column_is_null(struct gp_statement *statement, int column);
int64_t gp_column_int64(struct gp_statement *statement, int column);    /* NULL reads as 0 */
const char *gp_column_text(struct gp_statement *statement, int column); /* NULL reads as NULL */
const void *gp_column_blob(struct gp_statement *statement, int column, size_t *ret_length);

/* Write-ahead log while a run is recorded; one plain file at its end. */
int gp_db_begin(struct gp_db *db);
int gp_db_commit(struct gp_db *db);
int gp_db_rollback(struct gp_db *db);

#endif
