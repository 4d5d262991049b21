/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libgradprof/store/db.h"

#define OPEN_ATTEMPTS 20 /* lost races with other processes that start in the same folder */
#define FD_LOW 200       /* out of the way of programs that count on small descriptors */
#define SUFFIX_BYTES 32  /* room for "-log", ".old", a process id */
#define SQLITE_HEADER "SQLite format 3"
#define SQLITE_APPLICATION_ID_OFFSET 68 /* big-endian, in the database's first page */

/* --- names ----------------------------------------------------------------------------------------- */

void gp_output_identify(struct gp_output_identity *ret_identity, char *host_buffer, size_t size)
{
    static const char *const variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
                                            "PMI_RANK"};

    ret_identity->pid = getpid();
    ret_identity->rank = NULL;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        if (value == NULL || *value == 0 || value[strspn(value, "0123456789")] != 0)
            continue;
        ret_identity->rank = value;
        break;
    }
    if (gethostname(host_buffer, size) != 0)
        snprintf(host_buffer, size, "unknown");
    host_buffer[size - 1] = 0;
    ret_identity->host = host_buffer;
}

static int append(char *name, size_t size, const char *text, size_t length)
{
    size_t used = strlen(name);

    if (used + length + SUFFIX_BYTES >= size)
        return -ENAMETOOLONG;
    memcpy(name + used, text, length);
    name[used + length] = 0;
    return 0;
}

static int expand(const char *pattern, const struct gp_output_identity *identity, char *ret_name,
                  size_t size)
{
    char number[24];
    int r = 0;

    snprintf(number, sizeof(number), "%ld", (long)identity->pid);
    *ret_name = 0;
    for (const char *p = pattern; *p && r == 0; p++) {
        const char *text = p;
        size_t length = 1;
        if (p[0] == '%' && p[1] != 0 && strchr("prh%", p[1]) != NULL) {
            p++;
            text = *p == 'p'   ? number
                   : *p == 'r' ? (identity->rank != NULL ? identity->rank : "0")
                   : *p == 'h' ? identity->host
                               : "%";
            length = strlen(text);
        }
        r = append(ret_name, size, text, length);
    }
    return r;
}

/* run.db -> run.1234.db; a name without extension gets it at the end. */
static int insert_pid(char *name, size_t size, pid_t pid)
{
    char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    char rest[256], part[24];

    if (dot == NULL || (slash != NULL && dot < slash) || dot == name || dot == slash + 1 ||
        strlen(dot) >= sizeof(rest))
        dot = name + strlen(name);
    snprintf(rest, sizeof(rest), "%s", dot);
    *dot = 0;
    int length = snprintf(part, sizeof(part), ".%ld", (long)pid);
    int r = append(name, size, part, (size_t)length);
    return r == 0 ? append(name, size, rest, strlen(rest)) : r;
}

static bool has_pid(const char *pattern)
{
    for (const char *p = strchr(pattern, '%'); p != NULL && p[1]; p = strchr(p + 2, '%'))
        if (p[1] == 'p')
            return true;
    return false;
}

int gp_output_name(const char *pattern, const struct gp_output_identity *identity, bool own_name,
                   char *ret_name, size_t size)
{
    int r;

    if (*pattern == 0)
        pattern = identity->rank != NULL ? "run.rank%r.db" : "run.db";
    r = expand(pattern, identity, ret_name, size);
    if (r == 0 && own_name && !has_pid(pattern))
        r = insert_pid(ret_name, size, identity->pid);
    return r;
}

/* --- older recordings ------------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

/* Ours to move: one of our databases, or an empty beginning of one. */
static bool is_recording(const char *path)
{
    unsigned char page[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t length = read(fd, page, sizeof(page));
    close(fd);
    if (length == 0)
        return true;
    if (length < (ssize_t)sizeof(page) || memcmp(page, SQLITE_HEADER, sizeof(SQLITE_HEADER)) != 0)
        return false;
    uint32_t id = (uint32_t)page[SQLITE_APPLICATION_ID_OFFSET] << 24 |
                  (uint32_t)page[SQLITE_APPLICATION_ID_OFFSET + 1] << 16 |
                  (uint32_t)page[SQLITE_APPLICATION_ID_OFFSET + 2] << 8 |
                  page[SQLITE_APPLICATION_ID_OFFSET + 3];
    return id == GP_APPLICATION_ID;
}

static int move_one(const char *db_path, const char *companion)
{
    char from[PATH_MAX + SUFFIX_BYTES], to[PATH_MAX + SUFFIX_BYTES];

    snprintf(from, sizeof(from), "%s%s", db_path, companion);
    snprintf(to, sizeof(to), "%s.old%s", db_path, companion);
    if (!exists(from)) {
        unlink(to); /* of an even older one: must not be read as this one's */
        return 0;
    }
    return rename(from, to) == 0 ? 0 : -errno;
}

/* NAME and its companions become NAME.old. The log goes last: while it is there, and locked by us, no
 * other process takes the name. -EEXIST: what is there is not ours to move. */
static int move_older(const char *db_path)
{
    static const char *const companions[] = {"-wal", "-shm", "", "-log"};
    char old[PATH_MAX + SUFFIX_BYTES];
    int r = 0;

    snprintf(old, sizeof(old), "%s.old", db_path);
    if (exists(db_path) && !is_recording(db_path))
        return -EEXIST;
    if (exists(old) && !is_recording(old))
        return -EEXIST;
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]) && r == 0; i++)
        r = move_one(db_path, companions[i]);
    return r;
}

/* --- the log file ----------------------------------------------------------------------------------- */

/* -EBUSY: a running process owns it. Systems without locks (ENOLCK) go on without. */
static int lock_file(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (fcntl(fd, F_SETLK, &lock) == 0)
        return 0;
    return errno == EACCES || errno == EAGAIN ? -EBUSY : 0;
}

static int move_descriptor(int fd)
{
    struct rlimit limit;
    int low = FD_LOW, high;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= FD_LOW)
        low = 3;
    high = fcntl(fd, F_DUPFD_CLOEXEC, low);
    if (high < 0)
        return fd;
    close(fd); /* before it is locked: closing any descriptor of a file drops the locks on it */
    return high;
}

static bool same_file(int fd, const char *path)
{
    struct stat ours, theirs;

    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

static int open_log(const char *log_path, int flags, int *ret_fd)
{
    int fd = open(log_path, O_RDWR | O_CLOEXEC | flags, 0666);
    int r;

    if (fd < 0)
        return -errno;
    fd = move_descriptor(fd);
    r = lock_file(fd);
    if (r == 0 && !same_file(fd, log_path)) /* moved away between open and lock */
        r = -EAGAIN;
    if (r != 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* The name is free: make the log, the claim to it. */
static int claim_free(const char *log_path, int *ret_fd)
{
    int r = open_log(log_path, O_CREAT | O_EXCL, ret_fd);

    return r == -EEXIST || r == -EBUSY ? -EAGAIN : r; /* somebody was quicker: look again */
}

/* Something is there: own its log for a moment, and move all of it away. */
static int clear_name(const char *db_path, const char *log_path)
{
    char old_log[PATH_MAX + SUFFIX_BYTES];
    struct stat status;
    int fd, r;

    r = open_log(log_path, O_CREAT, &fd);
    if (r != 0)
        return r;
    r = move_older(db_path);
    if (fstat(fd, &status) == 0 && status.st_size == 0) { /* made just now, by the open */
        snprintf(old_log, sizeof(old_log), "%s.old-log", db_path);
        unlink(r == 0 ? old_log : log_path);
    }
    close(fd);
    return r;
}

/* -EBUSY: owned by a running process. -EEXIST: not ours to move. -EAGAIN: lost a race. */
static int claim(const char *db_path, const char *log_path, int *ret_fd)
{
    if (exists(log_path) || exists(db_path)) {
        int r = clear_name(db_path, log_path);
        if (r != 0)
            return r;
    }
    return claim_free(log_path, ret_fd);
}

static int claim_patiently(const char *db_path, const char *log_path, int *ret_fd)
{
    int r = -EAGAIN;

    for (int i = 0; i < OPEN_ATTEMPTS && r == -EAGAIN; i++)
        r = claim(db_path, log_path, ret_fd);
    return r;
}

int gp_output_open(const char *pattern, const struct gp_output_identity *identity, bool forked,
                   char *ret_db_path, char *ret_log_path, size_t size, int *ret_fd, char *error,
                   size_t error_size)
{
    int r = -EBUSY;

    for (int own_name = forked; own_name < 2 && (r == -EBUSY || r == -EEXIST); own_name++) {
        r = gp_output_name(pattern, identity, own_name, ret_db_path, size);
        if (r != 0)
            break;
        snprintf(ret_log_path, size, "%.*s-log", (int)(size - sizeof("-log")), ret_db_path);
        r = claim_patiently(ret_db_path, ret_log_path, ret_fd);
    }
    if (r != 0)
        snprintf(error, error_size, "cannot record to %s: %s", ret_db_path,
                 r == -EBUSY || r == -EAGAIN ? "another process owns it" : strerror(-r));
    return r;
}
