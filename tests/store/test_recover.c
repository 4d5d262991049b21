/* SPDX-License-Identifier: MIT */
/* What gp_store_open makes of the files that a run left, whatever became of them. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libgradprof/store/recover.h"
#include "tests/store/script.h"
#include "tests/store/store_fixture.h"

static struct gp_recover_result result;
static char error[512];

static struct gp_db *open_store(struct store_fixture *fixture)
{
    struct gp_db *db;
    if (gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    return db;
}

static void expect_error(const char *path, int status, const char *text)
{
    struct gp_db *db;
    assert_int_equal(gp_store_open(path, &db, &result, NULL, NULL, error, sizeof(error)), status);
    if (!strstr(error, text) || strchr(error, '\n'))
        fail_msg("expected '%s' in '%s'", text, error);
}

/* The profiler got so far with the database and was killed. */
static void ingest_until(struct store_fixture *fixture, uint64_t until)
{
    struct gp_ingest *ingest;
    assert_int_equal(gp_ingest_create(fixture->db_path, log_builder_header(&fixture->log), &ingest,
                                      error, sizeof(error)),
                     0);
    assert_int_equal(log_builder_replay(&fixture->log, ingest, until), 0);
    assert_int_equal(gp_ingest_commit(ingest), 0);
    gp_ingest_abandon(ingest);
}

static char *expected_dump(struct store_fixture *fixture)
{
    store_ingest_all(fixture);
    char *dump = store_dump(fixture->db_path);
    unlink(fixture->db_path);
    return dump;
}

/* --- imports ----------------------------------------------------------------------------------- */

static void test_log_without_database(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 3);
    char *expected = expected_dump(fixture);
    log_builder_write(&fixture->log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_true(result.log_found);
    assert_false(result.still_running);
    assert_int_equal(result.imported_events, fixture->log.events);
    assert_int_equal(result.holes, 0);
    assert_int_equal(result.lost, 0);
    assert_string_equal(result.note, "");
    assert_false(store_file_exists(fixture->log_path));
    char *found = store_dump(fixture->db_path);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

static void test_rest_of_a_run(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 3);
    char *expected = expected_dump(fixture);
    ingest_until(fixture, 30);
    log_builder_write(&fixture->log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_true(result.imported_events > 0);
    assert_true(result.imported_events < fixture->log.events - 10);
    char *found = store_dump(fixture->db_path);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

/* Killed while the database was made: a file without a table in it. */
static void test_empty_database(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 2);
    log_builder_write(&fixture->log, fixture->log_path);
    fclose(fopen(fixture->db_path, "w"));
    struct gp_db *db = open_store(fixture);
    assert_query(db, "SELECT value FROM meta WHERE key = 'finished'", 1);
    assert_query(db, "SELECT count(*) FROM node", 2);
    gp_db_close(db);
    fclose(fopen(fixture->db_path, "w"));
    expect_error(fixture->db_path, -EINVAL, "empty database");
}

/* Killed between the last commit and the removal of the log. */
static void test_finished_database(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 2);
    store_ingest_all(fixture);
    char *expected = store_dump(fixture->db_path);
    log_builder_write(&fixture->log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_int_equal(result.imported_events, 0);
    assert_false(store_file_exists(fixture->log_path));
    char *found = store_dump(fixture->db_path);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

static void test_log_of_another_run(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 2);
    store_ingest_all(fixture);
    log_builder_header(&fixture->log)->run_id = 99;
    log_builder_write(&fixture->log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_non_null(strstr(result.note, "another run"));
    assert_true(store_file_exists(fixture->log_path));
}

static void test_holes(void **state)
{
    struct store_fixture *fixture = *state;
    log_builder_alloc(&fixture->log, 0x1000, 1);
    uint64_t hole = log_builder_alloc(&fixture->log, 0x2000, 1);
    log_builder_string(&fixture->log, "a name");
    uint64_t last = log_builder_alloc(&fixture->log, 0x3000, 1);
    log_builder_alloc(&fixture->log, 0x4000, 1);
    atomic_store(&log_builder_at(&fixture->log, hole)->commit, 0);
    atomic_store(&log_builder_at(&fixture->log, hole + 1)->commit, 0); /* its payload is there */
    atomic_store(&log_builder_at(&fixture->log, last + 1)->commit, 0);
    log_builder_write(&fixture->log, fixture->log_path);
    struct gp_db *db = open_store(fixture);
    assert_int_equal(result.imported_events, 2);
    assert_int_equal(result.holes, 4);
    assert_int_equal(result.lost, 0);
    assert_query(db, "SELECT count(*) FROM allocation", 2);
    assert_query(db, "SELECT count(*) FROM string", 0);
    assert_query(db, "SELECT value FROM counter WHERE name = 'holes'", 4);
    assert_query(db, "SELECT value FROM meta WHERE key = 'clean_exit'", 0);
    gp_db_close(db);
}

/* --- damage ------------------------------------------------------------------------------------ */

static void add_many(struct log_builder *log, unsigned segments)
{
    for (uint64_t i = 0; i < segments * (uint64_t)GP_SEGMENT_RECORDS; i++)
        log_builder_alloc(log, 0x1000 + i * 16, 1);
}

static void test_truncated_log(void **state)
{
    struct store_fixture *fixture = *state;
    add_many(&fixture->log, 2);
    log_builder_write(&fixture->log, fixture->log_path);
    assert_int_equal(truncate(fixture->log_path,
                              GP_LOG_HEADER_BYTES + GP_SEGMENT_BYTES + 10 * GP_RECORD_BYTES + 1),
                     0);
    struct gp_db *db = open_store(fixture);
    assert_int_equal(result.imported_events, GP_SEGMENT_RECORDS + 10);
    assert_int_equal(result.lost, GP_SEGMENT_RECORDS - 10);
    assert_non_null(strstr(result.note, "16394 events imported, 16374 lost"));
    assert_query(db, "SELECT value FROM counter WHERE name = 'lost_events'",
                 GP_SEGMENT_RECORDS - 10);
    assert_query(db, "SELECT count(*) FROM allocation", GP_SEGMENT_RECORDS + 10);
    gp_db_close(db);
}

/* Wherever the file ends: the events before that, and the rest is counted. */
static void test_truncated_anywhere(void **state)
{
    struct store_fixture *fixture = *state;
    static const long after_header[] = {0, 1, 63, 64, 65, 640, 4095, 4096, GP_SEGMENT_BYTES - 1};
    for (unsigned i = 0; i < 200; i++)
        log_builder_alloc(&fixture->log, 0x1000 + i * 16, 1);
    for (size_t i = 0; i < sizeof(after_header) / sizeof(*after_header); i++) {
        uint64_t left = (uint64_t)after_header[i] / GP_RECORD_BYTES;
        left = left < 200 ? left : 200;
        log_builder_write(&fixture->log, fixture->log_path);
        assert_int_equal(truncate(fixture->log_path, GP_LOG_HEADER_BYTES + after_header[i]), 0);
        struct gp_db *db = open_store(fixture);
        assert_int_equal(result.imported_events, left);
        /* without a single record nothing says that the segment was there: counted all the same */
        assert_int_equal(result.lost + result.holes, 200 - left);
        assert_query(db, "SELECT count(*) FROM allocation", left);
        gp_db_close(db);
        unlink(fixture->db_path);
    }
    for (long size = 0; size < 3; size++) {
        log_builder_write(&fixture->log, fixture->log_path);
        assert_int_equal(truncate(fixture->log_path, size * (GP_LOG_HEADER_BYTES - 1) / 2), 0);
        expect_error(fixture->db_path, -EINVAL, "truncated");
    }
}

/* The database was deleted: what was recycled before is lost. */
static void test_recycled_segments(void **state)
{
    struct store_fixture *fixture = *state;
    add_many(&fixture->log, 2);
    atomic_store(&log_builder_header(&fixture->log)->segment[0].number_plus_1, 0);
    log_builder_write(&fixture->log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_int_equal(result.imported_events, GP_SEGMENT_RECORDS);
    assert_int_equal(result.lost, GP_SEGMENT_RECORDS);
}

/* A damaged word in the header costs nothing that is still there. */
static void test_damaged_header_words(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    add_many(log, 1);
    struct gp_log_header *header = log_builder_header(log);
    atomic_store(&header->next, UINT64_MAX);
    atomic_store(&header->segment[7].number_plus_1, 8); /* nothing in it proves it */
    atomic_store(&header->segment[9].number_plus_1, UINT64_C(1) << 60 | 10);
    log_builder_write(log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_int_equal(result.imported_events, GP_SEGMENT_RECORDS);
    assert_int_equal(result.lost + result.holes, 0);
    unlink(fixture->db_path);
    atomic_store(&header->next, 0);
    log_builder_write(log, fixture->log_path);
    gp_db_close(open_store(fixture));
    assert_int_equal(result.imported_events, GP_SEGMENT_RECORDS);
}

static void test_unreadable_log(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 1);
    store_ingest_all(fixture);
    log_builder_header(&fixture->log)->magic = 1;
    log_builder_write(&fixture->log, fixture->log_path);
    expect_error(fixture->db_path, -EINVAL, "not a gradprof event log");
    assert_true(store_file_exists(fixture->log_path));
}

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

static void flip_bytes(struct log_builder *log, unsigned count)
{
    uint64_t used = atomic_load(&log_builder_header(log)->next) * GP_RECORD_BYTES;
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = next_random() % 4 == 0 ? next_random() % 512
                                             : GP_LOG_HEADER_BYTES + next_random() % used;
        log->image[at] ^= (unsigned char)(1 + next_random() % 255);
    }
}

/* Whatever is overwritten: an error of one line, or a database that SQLite finds sound. */
static void test_flipped_bytes(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 4);
    size_t bytes = GP_LOG_HEADER_BYTES + GP_SEGMENT_BYTES;
    unsigned char *whole = malloc(bytes);
    memcpy(whole, fixture->log.image, bytes);
    int opened = 0;
    for (unsigned seed = 1; seed <= 100; seed++) {
        struct gp_db *db;
        random_state = seed;
        memcpy(fixture->log.image, whole, bytes);
        flip_bytes(&fixture->log, 1 + seed % 20);
        log_builder_write(&fixture->log, fixture->log_path);
        if (gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error)) == 0) {
            opened++;
            assert_query(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", 1);
            assert_query(db, "SELECT value FROM meta WHERE key = 'finished'", 1);
            gp_db_close(db);
        } else {
            assert_null(strchr(error, '\n'));
        }
        unlink(fixture->db_path);
    }
    assert_in_range(opened, 40, 99); /* both ends were met */
    free(whole);
}

/* --- the owner lives --------------------------------------------------------------------------- */

/* A child that holds the log as the profiler does, until it is told to end. */
static pid_t hold_log(const char *log_path, int *ret_pipe)
{
    int ready[2], end[2];
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(log_path, O_RDWR);
        close(end[1]);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        _exit(read(end[0], &byte, 1) != 0);
    }
    close(ready[1]);
    close(end[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *ret_pipe = end[1];
    return child;
}

static void test_owner_is_alive(void **state)
{
    struct store_fixture *fixture = *state;
    int pipe_end, status;
    script_add_run(&fixture->log, 3);
    log_builder_write(&fixture->log, fixture->log_path);
    pid_t child = hold_log(fixture->log_path, &pipe_end);
    expect_error(fixture->db_path, -ENOENT, "still running and has not written");
    ingest_until(fixture, 40);
    struct gp_db *db = open_store(fixture);
    assert_true(result.still_running);
    assert_int_equal(result.imported_events, 0);
    assert_non_null(strstr(result.note, "still running"));
    assert_query(db, "SELECT value FROM meta WHERE key = 'finished'", 0);
    assert_in_range(store_int(db, "SELECT value FROM meta WHERE key = 'ingested_seq'"), 40, 41);
    gp_db_close(db);
    close(pipe_end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    db = open_store(fixture);
    assert_false(result.still_running);
    assert_query(db, "SELECT value FROM meta WHERE key = 'finished'", 1);
    gp_db_close(db);
}

/* --- places that cannot be written ------------------------------------------------------------- */

static void as_somebody_else(void)
{
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
                           setresuid(65534, 65534, 65534) < 0))
        _exit(2);
}

static int count_entries(const char *folder)
{
    char command[256];
    int count = -1;
    snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
    FILE *stream = popen(command, "r");
    if (!stream || fscanf(stream, "%d", &count) != 1)
        fail_msg("%s", command);
    pclose(stream);
    return count;
}

/* Runs in a child without root's rights: 0 is success. */
static int read_in_locked_folder(struct store_fixture *fixture)
{
    struct gp_db *db;
    as_somebody_else();
    if (gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error)) < 0) {
        fprintf(stderr, "%s\n", error);
        return 3;
    }
    int finished = store_int(db, "SELECT value FROM meta WHERE key = 'finished'") == 1;
    int nodes = store_int(db, "SELECT count(*) FROM node") == 3;
    gp_db_close(db);
    return finished && nodes ? 0 : 4;
}

static void test_read_only_folder(void **state)
{
    struct store_fixture *fixture = *state;
    char temporary[160];
    int status;
    script_add_run(&fixture->log, 3);
    ingest_until(fixture, 40);
    log_builder_write(&fixture->log, fixture->log_path);
    snprintf(temporary, sizeof(temporary), "%s/tmp", fixture->folder);
    assert_int_equal(mkdir(temporary, 0777) | chmod(temporary, 0777), 0);
    assert_int_equal(chmod(fixture->folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("TMPDIR", temporary, 1);
        _exit(read_in_locked_folder(fixture));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(count_entries(temporary), 0); /* the copy went away */
    assert_true(store_file_exists(fixture->log_path));
    chmod(fixture->folder, 0755);
    rmdir(temporary);
}

static void test_unreadable_database(void **state)
{
    struct store_fixture *fixture = *state;
    int status;
    script_add_run(&fixture->log, 1);
    store_ingest_all(fixture);
    assert_int_equal(chmod(fixture->folder, 0755) | chmod(fixture->db_path, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        struct gp_db *db;
        as_somebody_else();
        int opened =
            gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error));
        _exit(opened == -EACCES && strstr(error, "permission denied") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_no_space(void **state)
{
    struct store_fixture *fixture = *state;
    int status;
    add_many(&fixture->log, 1);
    log_builder_write(&fixture->log, fixture->log_path);
    pid_t child = fork();
    if (child == 0) { /* a limit on file size: SQLite meets it as a write that fails */
        struct gp_db *db;
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {.rlim_cur = 200000, .rlim_max = 200000};
        setrlimit(RLIMIT_FSIZE, &limit);
        int opened =
            gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error));
        _exit(opened < 0 && strstr(error, "import stopped") && !strchr(error, '\n') ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(store_file_exists(fixture->log_path));
    struct gp_db *db = open_store(fixture); /* the space is back */
    assert_query(db, "SELECT count(*) FROM allocation", GP_SEGMENT_RECORDS);
    gp_db_close(db);
}

/* --- files that are not ours ------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void change(const char *path, const char *sql)
{
    struct gp_db *db;
    assert_int_equal(gp_db_open(path, GP_DB_READ_WRITE, &db, error, sizeof(error)), 0);
    assert_int_equal(gp_db_execute(db, sql), 0);
    gp_db_close(db);
}

static void test_errors(void **state)
{
    struct store_fixture *fixture = *state;
    const char *path = fixture->db_path;
    script_add_run(&fixture->log, 2);
    expect_error(path, -ENOENT, "gradprof run -- COMMAND");
    expect_error(fixture->folder, -EISDIR, "is a folder");
    write_text(path, "SQLite");
    expect_error(path, -EINVAL, "not a database");
    write_text(path, "this is a text file, and not a short one");
    expect_error(path, -EINVAL, "not a database");
    log_builder_write(&fixture->log, fixture->log_path);
    expect_error(path, -EINVAL, "not a database");
    assert_true(store_file_exists(fixture->log_path));
    unlink(fixture->log_path);
    unlink(path);
    fclose(fopen(path, "w"));
    change(path, "CREATE TABLE t(a)");
    expect_error(path, -EINVAL, "not one of gradprof's");
    unlink(path);
    store_ingest_all(fixture);
    change(path, "PRAGMA user_version = 2");
    expect_error(path, -EINVAL, "schema version 2");
    change(path, "PRAGMA user_version = 1; DROP TABLE node");
    expect_error(path, -EBADMSG, "tables are missing");
}

static void test_damaged_database(void **state)
{
    struct store_fixture *fixture = *state;
    script_add_run(&fixture->log, 2);
    store_ingest_all(fixture);
    assert_int_equal(truncate(fixture->db_path, 8192), 0);
    expect_error(fixture->db_path, -EBADMSG, "damaged");
    assert_int_equal(truncate(fixture->db_path, 100), 0);
    struct gp_db *db;
    assert_true(gp_store_open(fixture->db_path, &db, &result, NULL, NULL, error, sizeof(error)) <
                0);
}

/* A WAL database whose log is gone: a run whose owner removed it, or a copy of it. */
static void test_unfinished_without_log(void **state)
{
    struct store_fixture *fixture = *state;
    char wal[200];
    snprintf(wal, sizeof(wal), "%s-wal", fixture->db_path);
    script_add_run(&fixture->log, 3);
    ingest_until(fixture, 40);
    struct gp_db *db = open_store(fixture);
    assert_false(result.log_found);
    assert_query(db, "SELECT value FROM meta WHERE key = 'finished'", 0);
    assert_true(store_int(db, "SELECT value FROM meta WHERE key = 'end_seq'") > 0);
    gp_db_close(db);
    assert_false(store_file_exists(wal));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_log_without_database),
        TEST(test_rest_of_a_run),
        TEST(test_empty_database),
        TEST(test_finished_database),
        TEST(test_log_of_another_run),
        TEST(test_holes),
        TEST(test_truncated_log),
        TEST(test_truncated_anywhere),
        TEST(test_recycled_segments),
        TEST(test_damaged_header_words),
        TEST(test_unreadable_log),
        TEST(test_flipped_bytes),
        TEST(test_owner_is_alive),
        TEST(test_read_only_folder),
        TEST(test_unreadable_database),
        TEST(test_no_space),
        TEST(test_errors),
        TEST(test_damaged_database),
        TEST(test_unfinished_without_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
