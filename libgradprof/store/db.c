/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a reader waits for a writer's commit (or the other way round) before -EBUSY. */
#define BUSY_TIMEOUT_MS 2000

struct gp_db {
    sqlite3 *handle;
    char error[512];
};

struct gp_statement {
    sqlite3_stmt *handle;
    struct gp_db *db;
};

static int io_errno(sqlite3 *handle, int fallback)
{
    int saved = handle ? sqlite3_system_errno(handle) : 0;
    return saved ? -saved : fallback;
}

static int errno_of(sqlite3 *handle, int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_IOERR:
        return io_errno(handle, -EIO);
    case SQLITE_CANTOPEN:
        return io_errno(handle, -EACCES);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    default:
        return -EINVAL;
    }
}

/* Keeps SQLite's text on one line, as the interface promises. */
static int fail(struct gp_db *db, int code)
{
    snprintf(db->error, sizeof(db->error), "%s", sqlite3_errmsg(db->handle));
    for (char *c = db->error; *c; c++) {
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
    return errno_of(db->handle, code);
}

static int open_error(const char *path, int status, char *error, size_t error_size)
{
    if (error)
        snprintf(error, error_size, "%s: %s", path, strerror(-status));
    return status;
}

/* SQLite opens a folder and a missing file with the same code: find the plain reason first. */
static int check_path(const char *path, enum gp_db_mode mode)
{
    if (mode == GP_DB_CREATE) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
            return -errno;
        close(fd);
        return 0;
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    return access(path, mode == GP_DB_READ_ONLY ? R_OK : R_OK | W_OK) < 0 ? -errno : 0;
}

int gp_db_open(const char *path, enum gp_db_mode mode, struct gp_db **ret_db, char *error,
               size_t error_size)
{
    int status = check_path(path, mode);
    if (status < 0)
        return open_error(path, status, error, error_size);
    struct gp_db *db = calloc(1, sizeof(*db));
    if (!db)
        return open_error(path, -ENOMEM, error, error_size);
    int flags = mode == GP_DB_READ_ONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int code = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        status = db->handle ? fail(db, code) : -ENOMEM;
        gp_db_close(db);
        return open_error(path, status, error, error_size);
    }
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    /* A database may come from anywhere: no functions with side effects from its schema. */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    *ret_db = db;
    return 0;
}

void gp_db_close(struct gp_db *db)
{
    if (!db)
        return;
    sqlite3_close_v2(db->handle);
    free(db);
}

const char *gp_db_error(const struct gp_db *db)
{
    return db->error;
}

int gp_db_execute(struct gp_db *db, const char *sql)
{
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : fail(db, code);
}

int gp_db_prepare(struct gp_db *db, const char *sql, struct gp_statement **ret_statement)
{
    struct gp_statement *statement = calloc(1, sizeof(*statement));
    if (!statement)
        return -ENOMEM;
    int code = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &statement->handle, NULL);
    if (code != SQLITE_OK) {
        free(statement);
        return fail(db, code);
    }
    statement->db = db;
    *ret_statement = statement;
    return 0;
}

void gp_statement_destroy(struct gp_statement *statement)
{
    if (!statement)
        return;
    sqlite3_finalize(statement->handle);
    free(statement);
}

static int bound(struct gp_statement *statement, int code)
{
    return code == SQLITE_OK ? 0 : fail(statement->db, code);
}

int gp_bind_int64(struct gp_statement *statement, int parameter, int64_t value)
{
    return bound(statement, sqlite3_bind_int64(statement->handle, parameter, value));
}

int gp_bind_text(struct gp_statement *statement, int parameter, const char *text, size_t length)
{
    return bound(statement, sqlite3_bind_text64(statement->handle, parameter, text, length,
                                                SQLITE_TRANSIENT, SQLITE_UTF8));
}

int gp_bind_blob(struct gp_statement *statement, int parameter, const void *data, size_t length)
{
    return bound(statement,
                 sqlite3_bind_blob64(statement->handle, parameter, data, length, SQLITE_TRANSIENT));
}

int gp_bind_null(struct gp_statement *statement, int parameter)
{
    return bound(statement, sqlite3_bind_null(statement->handle, parameter));
}

int gp_step(struct gp_statement *statement)
{
    int code = sqlite3_step(statement->handle);
    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : fail(statement->db, code);
}

void gp_reset(struct gp_statement *statement)
{
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
}

void gp_rerun(struct gp_statement *statement)
{
    sqlite3_reset(statement->handle);
}

bool gp_column_is_null(struct gp_statement *statement, int column)
{
    return sqlite3_column_type(statement->handle, column) == SQLITE_NULL;
}

int64_t gp_column_int64(struct gp_statement *statement, int column)
{
    return sqlite3_column_int64(statement->handle, column);
}

const char *gp_column_text(struct gp_statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement->handle, column);
}

const void *gp_column_blob(struct gp_statement *statement, int column, size_t *ret_length)
{
    const void *data = sqlite3_column_blob(statement->handle, column);
    *ret_length = (size_t)sqlite3_column_bytes(statement->handle, column);
    return data;
}

int gp_db_begin(struct gp_db *db)
{
    return gp_db_execute(db, "BEGIN");
}

int gp_db_commit(struct gp_db *db)
{
    return gp_db_execute(db, "COMMIT");
}

int gp_db_rollback(struct gp_db *db)
{
    return gp_db_execute(db, "ROLLBACK");
}
