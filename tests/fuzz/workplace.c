/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/workplace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64], db_path[96], log_path[96];

static void remove_folder(void)
{
    workplace_clear();
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0])
        return;
    snprintf(folder, sizeof(folder), "/tmp/gp-fuzz-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(db_path, sizeof(db_path), "%s/run.db", folder);
    snprintf(log_path, sizeof(log_path), "%s/run.db-log", folder);
    atexit(remove_folder);
}

const char *workplace_db_path(void)
{
    make_folder();
    return db_path;
}

const char *workplace_log_path(void)
{
    make_folder();
    return log_path;
}

void workplace_write(const char *path, uint64_t size, uint64_t offset, const void *bytes,
                     size_t count)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        pwrite(fd, bytes, count, (off_t)offset) != (ssize_t)count || close(fd) < 0)
        abort();
}

void workplace_clear(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-log"};
    char path[128];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(path, sizeof(path), "%s%s", db_path, endings[i]);
        unlink(path);
    }
}
