/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
    return 0;
}

static int copy_bytes(int from, int to)
{
    char buffer[65536];
    ssize_t count;
    while ((count = read(from, buffer, sizeof(buffer))) != 0) {
        int status = count < 0 ? -errno : write_all(to, buffer, (size_t)count);
        if (status < 0 && status != -EINTR)
            return status;
    }
    return 0;
}

/* A source that does not exist is no error: there is nothing to copy then. */
static int copy_file(const char *from_path, const char *to_path)
{
    int from = open(from_path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? 0 : -errno;
    int to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int status = to < 0 ? -errno : copy_bytes(from, to);
    if (to >= 0 && close(to) < 0 && status == 0)
        status = -errno;
    close(from);
    return status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int make_folder(const char *path, char *ret_path, size_t ret_path_size)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_MAX];
    int length =
        snprintf(folder, sizeof(folder), "%s/gradprof-XXXXXX", parent && *parent ? parent : "/tmp");
    if (length < 0 || (size_t)length >= sizeof(folder))
        return -ENAMETOOLONG;
    if ((size_t)length + strlen(base_name(path)) + 2 > ret_path_size)
        return -ENAMETOOLONG;
    if (!mkdtemp(folder))
        return -errno;
    snprintf(ret_path, ret_path_size, "%s/%s", folder, base_name(path));
    return 0;
}

int gp_copy_create(const char *path, char *ret_path, size_t ret_path_size, char *error,
                   size_t error_size)
{
    char from[PATH_MAX], to[PATH_MAX];
    int status = make_folder(path, ret_path, ret_path_size);
    if (status == 0) {
        status = copy_file(path, ret_path);
        snprintf(from, sizeof(from), "%s-wal", path);
        snprintf(to, sizeof(to), "%s-wal", ret_path);
        if (status == 0)
            status = copy_file(from, to);
        if (status < 0)
            gp_copy_remove(ret_path);
    }
    if (status < 0)
        snprintf(
            error, error_size,
            "%s: its folder cannot be written and a temporary copy failed (%s); set TMPDIR to a "
            "folder with more space, or copy the files yourself",
            path, strerror(-status));
    return status;
}

void gp_copy_remove(const char *copy_path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(path, sizeof(path), "%s%s", copy_path, endings[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s", copy_path);
    char *slash = strrchr(path, '/');
    if (slash) {
        *slash = '\0';
        rmdir(path);
    }
}
