/* SPDX-License-Identifier: MIT */
#include "viewer/export_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(int r, const char *path, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s: %s", path, strerror(-r));
    return r;
}

/* mkstemp makes private files; an export is as readable as any file of the user. */
static void open_to_others(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

int gv_file_open(const char *path, struct gv_file *ret_file, char *error, size_t error_size)
{
    struct gv_file file = {.out = stdout, .path = path};
    if (strcmp(path, "-") == 0) {
        *ret_file = file;
        return 0;
    }
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return fail(-EISDIR, path, error, error_size);
    if (asprintf(&file.temporary, "%s.XXXXXX", path) < 0)
        return fail(-ENOMEM, path, error, error_size);
    int fd = mkstemp(file.temporary);
    file.out = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!file.out) {
        int r = fail(-errno, path, error, error_size);
        if (fd >= 0) {
            close(fd);
            unlink(file.temporary);
        }
        free(file.temporary);
        return r;
    }
    open_to_others(fd);
    *ret_file = file;
    return 0;
}

/* The first thing that went wrong with the stream since it was opened. */
static int finish_stream(struct gv_file *file)
{
    errno = 0;
    int r = 0;
    if (fflush(file->out) != 0 || ferror(file->out))
        r = errno ? -errno : -EIO;
    if (file->temporary && fclose(file->out) != 0 && r == 0)
        r = errno ? -errno : -EIO;
    return r;
}

int gv_file_close(struct gv_file *file, int r, char *error, size_t error_size)
{
    int written = finish_stream(file);
    if (r == 0 && written < 0)
        r = fail(written, file->temporary ? file->path : "standard output", error, error_size);
    if (file->temporary) {
        if (r == 0 && rename(file->temporary, file->path) < 0)
            r = fail(-errno, file->path, error, error_size);
        if (r < 0)
            unlink(file->temporary);
        free(file->temporary);
        file->temporary = NULL;
    }
    return r;
}
