/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libgradprof/store/copy.h"
#include "libgradprof/store/db.h"
#include "libgradprof/store/import.h"
#include "libgradprof/store/meta.h"
#include "libgradprof/store/store_check.h"

struct recovery {
    const char *path;
    char log_path[PATH_MAX];
    char *target; /* the database that is written: path, or a copy */
    size_t target_size;
    struct gp_recover_result *result;
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    char *error;
    size_t error_size;
    bool writable; /* database, log and folder */
    bool copied;
};

/* --- who else is there ------------------------------------------------------------------------- */

/* The profiler, and whoever imports, holds a write lock on the log for as long as it lives. */
static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* 1: this is ours now, 0: somebody else lives and has it, negative errno. The lock goes with the fd. */
static int take_log(const char *log_path, int *ret_fd)
{
    int fd = open(log_path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EROFS))
        fd = open(log_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *ret_fd = fd;
    if (is_locked(fd))
        return 0;
    if (fcntl(fd, F_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
        return 0;
    return 1; /* without a lock where the file cannot be written or locked: then only for reading */
}

static bool is_writable(const char *path)
{
    return access(path, W_OK) == 0 || errno == ENOENT;
}

static bool folder_is_writable(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return access(".", W_OK) == 0;
    slash[slash == folder] = '\0';
    return access(folder, W_OK) == 0;
}

/* --- the database before the import ------------------------------------------------------------ */

enum store_state { STORE_ABSENT, STORE_UNFINISHED, STORE_FINISHED, STORE_OTHER_RUN };

static void remove_store(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
}

static int relation_state(struct gp_db *db, const struct gp_log_header *header,
                          enum store_state *ret_state)
{
    enum gp_run_relation relation = GP_RUN_OTHER;
    int status = gp_run_compare(db, header, &relation);
    *ret_state = relation == GP_RUN_UNFINISHED ? STORE_UNFINISHED
                 : relation == GP_RUN_FINISHED ? STORE_FINISHED
                                               : STORE_OTHER_RUN;
    return status;
}

/* A database that the killed run did not get to fill is made again. */
static int look_at_store(const struct recovery *recovery, const struct gp_log_header *header,
                         enum store_state *ret_state)
{
    struct gp_db *db;
    bool empty = false;
    *ret_state = STORE_ABSENT;
    if (access(recovery->target, F_OK) < 0)
        return 0;
    int status = gp_store_check_file(recovery->target, recovery->error, recovery->error_size);
    if (status == 0)
        status = gp_db_open(recovery->target, GP_DB_READ_WRITE, &db, recovery->error,
                            recovery->error_size);
    if (status < 0)
        return status;
    status = gp_store_check(db, recovery->path, &empty, recovery->error, recovery->error_size);
    if (status == 0)
        status = relation_state(db, header, ret_state);
    gp_db_close(db);
    if (empty) {
        remove_store(recovery->target);
        status = 0;
    }
    return status;
}

/* --- import ------------------------------------------------------------------------------------ */

static int run_import(const struct recovery *recovery, const struct gp_log_view *view,
                      struct gp_ingest *ingest)
{
    const struct gp_import import = {.view = view,
                                     .ingest = ingest,
                                     .result = recovery->result,
                                     .progress = recovery->progress,
                                     .user = recovery->user};
    uint64_t dropped = atomic_load(&view->header->dropped);
    int status = gp_import_log(&import);
    if (status == 0 && dropped)
        status = gp_ingest_counter(ingest, "dropped_events", dropped);
    if (status < 0) {
        const char *why = gp_ingest_error(ingest);
        snprintf(recovery->error, recovery->error_size,
                 "%s: import stopped: %s; nothing is lost, run it again when that is mended",
                 recovery->log_path, *why ? why : strerror(-status));
        gp_ingest_abandon(ingest);
        return status;
    }
    status = gp_ingest_finish(ingest, atomic_load(&view->header->clean) == 1);
    if (status < 0)
        snprintf(recovery->error, recovery->error_size,
                 "%s: import could not be finished: %s; nothing is lost, run it again when that is "
                 "mended",
                 recovery->log_path, strerror(-status));
    return status;
}

/* Imports into recovery->target. `*ret_done`: nothing in the log is needed any more. */
static int import_log(const struct recovery *recovery, const struct gp_log_view *view,
                      bool *ret_done)
{
    struct gp_recover_result *result = recovery->result;
    struct gp_ingest *ingest;
    enum store_state state;
    int status = look_at_store(recovery, view->header, &state);
    if (status < 0)
        return status;
    if (state == STORE_OTHER_RUN)
        snprintf(result->note, sizeof(result->note),
                 "%.100s belongs to another run than the database and was left alone",
                 recovery->log_path);
    *ret_done = state == STORE_FINISHED; /* killed just before it removed its log */
    if (state == STORE_OTHER_RUN || state == STORE_FINISHED)
        return 0;
    status = (state == STORE_ABSENT ? gp_ingest_create : gp_ingest_open)(
        recovery->target, view->header, &ingest, recovery->error, recovery->error_size);
    if (status == 0)
        status = run_import(recovery, view, ingest);
    *ret_done = status == 0;
    if (status == 0 && result->lost)
        snprintf(result->note, sizeof(result->note),
                 "the event log was damaged: %" PRIu64 " events imported, %" PRIu64 " lost",
                 result->imported_events, result->lost);
    return status;
}

static int make_copy(struct recovery *recovery)
{
    int status = gp_copy_create(recovery->path, recovery->target, recovery->target_size,
                                recovery->error, recovery->error_size);
    recovery->copied = status == 0;
    return status;
}

/* The log is ours and its owner is dead. */
static int recover_dead(struct recovery *recovery)
{
    struct gp_log_view view;
    bool done = false;
    int status = gp_log_open(recovery->log_path, &view, recovery->error, recovery->error_size);
    if (status < 0)
        return status;
    if (!recovery->writable)
        status = make_copy(recovery);
    if (status == 0)
        status = import_log(recovery, &view, &done);
    gp_log_close(&view);
    if (done && !recovery->copied)
        unlink(recovery->log_path);
    return status;
}

/* A run that left no log, yet did not close its database: make it a plain file again. */
static int recover_without_log(struct recovery *recovery)
{
    struct gp_db *db;
    if (!gp_store_is_wal(recovery->path))
        return 0;
    if (!recovery->writable)
        return make_copy(recovery);
    if (gp_db_open(recovery->path, GP_DB_READ_WRITE, &db, NULL, 0) == 0) {
        gp_db_execute(db, "PRAGMA journal_mode = DELETE"); /* refused while others read: no harm */
        gp_db_close(db);
    }
    return 0;
}

static int recover_with_log(struct recovery *recovery)
{
    int fd = -1;
    int taken = take_log(recovery->log_path, &fd);
    if (taken == -ENOENT)
        return recover_without_log(recovery);
    if (taken < 0) {
        snprintf(recovery->error, recovery->error_size, "%s: %s", recovery->log_path,
                 strerror(-taken));
        return taken;
    }
    recovery->result->log_found = 1;
    recovery->result->still_running = taken == 0;
    int status = 0;
    if (taken)
        status = recover_dead(recovery);
    else
        snprintf(recovery->result->note, sizeof(recovery->result->note),
                 "the program is still running (or its log is being imported): this is what is "
                 "recorded so "
                 "far");
    close(fd);
    return status;
}

int gp_recover(const char *path, char *ret_path, size_t ret_path_size,
               struct gp_recover_result *ret_result,
               void (*progress)(void *user, uint64_t done, uint64_t total), void *user, char *error,
               size_t error_size)
{
    struct recovery recovery = {.path = path,
                                .target = ret_path,
                                .target_size = ret_path_size,
                                .result = ret_result,
                                .progress = progress,
                                .user = user,
                                .error = error,
                                .error_size = error_size};
    *ret_result = (struct gp_recover_result){0};
    int length = snprintf(recovery.log_path, sizeof(recovery.log_path), "%s-log", path);
    if (length < 0 || (size_t)length >= sizeof(recovery.log_path) ||
        (size_t)snprintf(ret_path, ret_path_size, "%s", path) >= ret_path_size) {
        snprintf(error, error_size, "%.100s...: %s", path, strerror(ENAMETOOLONG));
        return -ENAMETOOLONG;
    }
    recovery.writable =
        folder_is_writable(path) && is_writable(path) && is_writable(recovery.log_path);
    int status = recover_with_log(&recovery);
    if (status < 0 && recovery.copied)
        gp_copy_remove(ret_path);
    return status;
}

/* --- opening for reading ----------------------------------------------------------------------- */

static int open_checked(const char *path, const char *shown_path, struct gp_db **ret_db,
                        char *error, size_t error_size)
{
    struct gp_db *db;
    bool empty;
    int status = gp_store_check_file(path, error, error_size);
    if (status == 0)
        status = gp_db_open(path, GP_DB_READ_ONLY, &db, error, error_size);
    if (status < 0)
        return status;
    status = gp_store_check(db, shown_path, &empty, error, error_size);
    if (status < 0)
        gp_db_close(db);
    else
        *ret_db = db;
    return status;
}

int gp_store_open(const char *path, struct gp_db **ret_db, struct gp_recover_result *ret_result,
                  void (*progress)(void *user, uint64_t done, uint64_t total), void *user,
                  char *error, size_t error_size)
{
    char real_path[PATH_MAX];
    int status = gp_recover(path, real_path, sizeof(real_path), ret_result, progress, user, error,
                            error_size);
    if (status < 0)
        return status;
    status = open_checked(real_path, path, ret_db, error, error_size);
    if (status == -ENOENT && ret_result->still_running)
        snprintf(
            error, error_size,
            "%s: the program is still running and has not written anything yet; try again soon",
            path);
    if (strcmp(real_path, path) != 0)
        gp_copy_remove(real_path);
    return status;
}
