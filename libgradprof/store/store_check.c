/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libgradprof/store/db.h"

static const char database_magic[16] = "SQLite format 3";

__attribute__((format(printf, 5, 6))) static int
complain(int status, char *error, size_t error_size, const char *path, const char *format, ...)
{
    int length = snprintf(error, error_size, "%s: ", path);
    if (length < 0 || (size_t)length >= error_size)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error + length, error_size - (size_t)length, format, arguments);
    va_end(arguments);
    return status;
}

static int describe_errno(int status, const char *path, char *error, size_t error_size)
{
    switch (status) {
    case -ENOENT:
        return complain(
            status, error, error_size, path,
            "no such file. Was the profiler there? The loader only warns when LD_PRELOAD "
            "names a library it cannot find; `gradprof run -- COMMAND` finds and checks "
            "it");
    case -EACCES:
        return complain(status, error, error_size, path,
                        "permission denied; it must be readable by you");
    default:
        return complain(status, error, error_size, path, "%s", strerror(-status));
    }
}

/* How many of the first `size` bytes there are, or a negative errno. */
static ssize_t read_start(const char *path, void *ret_bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t count = pread(fd, ret_bytes, size, 0);
    int status = count < 0 ? -errno : 0;
    close(fd);
    return status < 0 ? status : count;
}

int gp_store_check_file(const char *path, char *error, size_t error_size)
{
    struct stat status;
    char start[sizeof(database_magic)];
    if (stat(path, &status) < 0)
        return describe_errno(-errno, path, error, error_size);
    if (S_ISDIR(status.st_mode))
        return complain(-EISDIR, error, error_size, path,
                        "is a folder; name the database in it, such as %s/run.db", path);
    if (!S_ISREG(status.st_mode))
        return complain(-EINVAL, error, error_size, path, "not a regular file");
    ssize_t count = read_start(path, start, sizeof(start));
    if (count < 0)
        return describe_errno((int)count, path, error, error_size);
    if (count > 0 &&
        (count < (ssize_t)sizeof(start) || memcmp(start, database_magic, sizeof(start)) != 0))
        return complain(-EINVAL, error, error_size, path,
                        "not a database, or its beginning was overwritten; expected is the run.db "
                        "that the profiler writes");
    return 0;
}

bool gp_store_is_wal(const char *path)
{
    unsigned char start[20]; /* bytes 18 and 19: write and read version, 2 = WAL */
    return read_start(path, start, sizeof(start)) == (ssize_t)sizeof(start) &&
           (start[18] == 2 || start[19] == 2);
}

static int query_int64(struct gp_db *db, const char *sql, int64_t *ret_value)
{
    struct gp_statement *statement;
    int status = gp_db_prepare(db, sql, &statement);
    if (status < 0)
        return status;
    status = gp_step(statement);
    if (status == 1)
        *ret_value = gp_column_int64(statement, 0);
    gp_statement_destroy(statement);
    return status == 1 ? 0 : status < 0 ? status : -EBADMSG;
}

static int damaged(struct gp_db *db, int status, const char *path, char *error, size_t error_size)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", gp_db_error(db));
    if (status == -EBUSY)
        return complain(status, error, error_size, path,
                        "another process is writing to it; try again");
    return complain(status, error, error_size, path, "cannot be read (%s); %s", text,
                    status == -EBADMSG || status == -EINVAL
                        ? "it is damaged: restore it from a copy, or record the run again"
                        : "check the disk and the permissions of its folder");
}

/* Every table that a reader needs, by name. */
static const char tables_sql[] =
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('meta', 'string', "
    "'device', 'module', 'frame', 'stack', 'scope', 'step', 'allocation', 'node', 'edge', 'saved', "
    "'handle', 'failure', 'clock', 'counter', 'child')";
#define TABLES 17

static int check_identity(struct gp_db *db, const char *path, bool *ret_empty, char *error,
                          size_t error_size)
{
    int64_t objects = 0, application_id = 0, version = 0;
    int status = query_int64(db, "SELECT count(*) FROM sqlite_schema", &objects);
    if (status == 0)
        status = query_int64(db, "PRAGMA application_id", &application_id);
    if (status == 0)
        status = query_int64(db, "PRAGMA user_version", &version);
    if (status < 0)
        return damaged(db, status, path, error, error_size);
    *ret_empty = objects == 0 && application_id == 0;
    if (*ret_empty)
        return complain(-EINVAL, error, error_size, path,
                        "an empty database: the program ended before anything was recorded");
    if (application_id != GP_APPLICATION_ID)
        return complain(-EINVAL, error, error_size, path,
                        "a database, but not one of gradprof's (application id 0x%" PRIx64 ")",
                        (uint64_t)application_id);
    if (version > GP_SCHEMA_VERSION)
        return complain(-EINVAL, error, error_size, path,
                        "schema version %" PRId64 ", this program reads up to %d: use the gradprof "
                        "that recorded it, or a newer one",
                        version, GP_SCHEMA_VERSION);
    return 0;
}

int gp_store_check(struct gp_db *db, const char *path, bool *ret_empty, char *error,
                   size_t error_size)
{
    int64_t tables = 0;
    int status = check_identity(db, path, ret_empty, error, error_size);
    if (status < 0)
        return status;
    status = query_int64(db, tables_sql, &tables);
    if (status == 0)
        status = query_int64(db, "SELECT count(*) FROM meta", &(int64_t){0});
    if (status < 0)
        return damaged(db, status, path, error, error_size);
    if (tables != TABLES)
        return complain(-EBADMSG, error, error_size, path,
                        "tables are missing: it is damaged, or of another program");
    return 0;
}
