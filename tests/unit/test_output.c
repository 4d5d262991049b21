/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libgradprof/core/output.h"
#include "libgradprof/store/db.h"

static const struct gp_output_identity plain = {.pid = 1234, .host = "node7"};
static const struct gp_output_identity ranked = {.pid = 1234, .rank = "3", .host = "node7"};

static void names(void **state)
{
    static const struct {
        const char *pattern;
        const struct gp_output_identity *identity;
        bool own;
        const char *name;
    } rows[] = {
        {"", &plain, false, "run.db"},
        {"", &plain, true, "run.1234.db"},
        {"", &ranked, false, "run.rank3.db"},
        {"", &ranked, true, "run.rank3.1234.db"},
        {"out/%h-%r-%p.db", &ranked, false, "out/node7-3-1234.db"},
        {"out/%h-%r-%p.db", &ranked, true, "out/node7-3-1234.db"},
        {"%r.db", &plain, false, "0.db"},
        {"a%%p.db", &plain, true, "a%p.1234.db"},
        {"a%zb%", &plain, false, "a%zb%"},
        {"noext", &plain, true, "noext.1234"},
        {"dir.d/noext", &plain, true, "dir.d/noext.1234"},
        {".hidden", &plain, true, ".hidden.1234"},
    };
    char name[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(
            gp_output_name(rows[i].pattern, rows[i].identity, rows[i].own, name, sizeof(name)), 0);
        assert_string_equal(name, rows[i].name);
    }
    assert_int_equal(gp_output_name("%h%h%h%h%h%h%h%h", &plain, false, name, 40), -ENAMETOOLONG);
}

/* --- files: each test in an empty folder ----------------------------------------------------------------- */

static char folder[64];

static int enter_folder(void **state)
{
    strcpy(folder, "/tmp/gradprof-output-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int leave_folder(void **state)
{
    char command[256];

    if (chdir("/") != 0)
        return -1;
    snprintf(command, sizeof(command), "chmod 700 %s; rm -rf %s", folder, folder);
    return system(command);
}

static void put(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
}

/* The first page of one of our databases; `mark` tells copies apart. */
static void put_recording(const char *path, char mark)
{
    unsigned char page[4096] = "SQLite format 3";

    page[68] = GP_APPLICATION_ID >> 24;
    page[69] = GP_APPLICATION_ID >> 16 & 255;
    page[70] = GP_APPLICATION_ID >> 8 & 255;
    page[71] = GP_APPLICATION_ID & 255;
    page[200] = (unsigned char)mark;
    put(path, (const char *)page, sizeof(page));
}

static int mark_of(const char *path)
{
    unsigned char page[4096];
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        return -1;
    ssize_t length = read(fd, page, sizeof(page));
    close(fd);
    return length == sizeof(page) ? page[200] : -2;
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

static char db[512], log_path[512], error[512];

static int open_output(const struct gp_output_identity *identity, bool forked, int *ret_fd)
{
    error[0] = 0;
    return gp_output_open("", identity, forked, db, log_path, sizeof(db), ret_fd, error,
                          sizeof(error));
}

static void empty_folder(void **state)
{
    int fd;

    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_string_equal(db, "run.db");
    assert_string_equal(log_path, "run.db-log");
    assert_true(there("run.db-log"));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void older_recording_moves_with_companions(void **state)
{
    int fd;

    put_recording("run.db", 'n');
    put_recording("run.db.old", 'o');
    put("run.db-wal", "wal", 3);
    put("run.db-log", "log", 3);
    put("run.db.old-shm", "shm", 3);
    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_string_equal(db, "run.db");
    assert_false(there("run.db"));
    assert_false(there("run.db-wal"));
    assert_int_equal(mark_of("run.db.old"), 'n');
    assert_true(there("run.db.old-wal"));
    assert_true(there("run.db.old-log"));
    assert_false(there("run.db.old-shm"));
    struct stat status;
    assert_int_equal(stat("run.db-log", &status), 0);
    assert_int_equal(status.st_size, 0);
    close(fd);
}

static void finished_recording_leaves_no_log_behind(void **state)
{
    int fd;

    put_recording("run.db", 'n');
    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_int_equal(mark_of("run.db.old"), 'n');
    assert_false(there("run.db.old-log"));
    close(fd);
}

static void foreign_files_stay(void **state)
{
    static const char text[] = "somebody's thesis";
    int fd;

    put("run.db", text, sizeof(text));
    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_string_equal(db, "run.1234.db");
    assert_true(there("run.db"));
    assert_false(there("run.db-log"));
    close(fd);
    unlink("run.db");
    put_recording("run.db", 'n');
    put("run.db.old", text, sizeof(text));
    unlink("run.1234.db-log");
    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_string_equal(db, "run.1234.db");
    assert_int_equal(mark_of("run.db"), 'n');
    assert_int_equal(mark_of("run.db.old"), -2);
    close(fd);
}

static void running_owner_keeps_its_name(void **state)
{
    int ready[2], done[2], fd;
    char byte;

    assert_int_equal(pipe(ready) + pipe(done), 0);
    pid_t owner = fork();
    if (owner == 0) { /* POSIX locks are between processes */
        int r = open_output(&plain, false, &fd);
        put_recording("run.db", 'r');
        if (write(ready[1], r == 0 ? "1" : "0", 1) != 1 || read(done[0], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, '1');
    assert_int_equal(open_output(&plain, false, &fd), 0);
    assert_string_equal(db, "run.1234.db");
    assert_int_equal(mark_of("run.db"), 'r');
    close(fd);
    assert_int_equal(write(done[1], "1", 1), 1);
    waitpid(owner, NULL, 0);
    unlink("run.1234.db-log");
    assert_int_equal(open_output(&plain, false, &fd), 0); /* it is gone: its files are history */
    assert_string_equal(db, "run.db");
    assert_int_equal(mark_of("run.db.old"), 'r');
    close(fd);
}

static void forked_child_has_its_own(void **state)
{
    int fd;

    assert_int_equal(open_output(&plain, true, &fd), 0);
    assert_string_equal(db, "run.1234.db");
    close(fd);
}

static void unwritable_folder(void **state)
{
    int fd;

    if (geteuid() == 0) { /* root writes anywhere: a folder that is not there does as well */
        assert_int_equal(gp_output_open("missing/run.db", &plain, false, db, log_path, sizeof(db),
                                        &fd, error, sizeof(error)),
                         -ENOENT);
        assert_string_equal(error, "cannot record to missing/run.db: No such file or directory");
        return;
    }
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(open_output(&plain, false, &fd), -EACCES);
    assert_string_equal(error, "cannot record to run.db: Permission denied");
}

#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        FILE_TEST(empty_folder),
        FILE_TEST(older_recording_moves_with_companions),
        FILE_TEST(finished_recording_leaves_no_log_behind),
        FILE_TEST(foreign_files_stay),
        FILE_TEST(running_owner_keeps_its_name),
        FILE_TEST(forked_child_has_its_own),
        FILE_TEST(unwritable_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
