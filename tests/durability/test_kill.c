/* SPDX-License-Identifier: MIT */
/*
 * test_kill VICTIM LIBGRADPROF.SO: kills the victim with SIGKILL at random moments of its run (10; 200
 * with GRADPROF_TEST_LONG=1), finishes the import, and compares the database with what the victim had
 * noted: each call that had returned is there, happens-before is kept, the database is sound.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libgradprof/store/db.h"
#include "libgradprof/store/recover.h"
#include "tests/durability/notes.h"

#define EXIT_SHARE 10 /* one kill in so many falls into the exit, when the log is drained */
#define IDS (NOTES_THREADS << 20)

struct moment { /* a noted call and where the database has it */
    uint64_t begin, end, seq;
};

static struct notes *notes;
static int notes_fd;
static uint64_t alloc_seq[IDS], free_seq[IDS]; /* by id; 0: not in the database */
static struct moment moments[NOTES_THREADS * NOTES_EACH];

static void fail(const char *what, uint64_t a, uint64_t b)
{
    fprintf(stderr, "FAILED: %s (%" PRIu64 ", %" PRIu64 ")\n", what, a, b);
    exit(1);
}

/* --- one run ------------------------------------------------------------------------------------------ */

static pid_t start_victim(const char *victim, const char *library)
{
    char fd[16];
    pid_t child;

    memset(notes, 0, sizeof(*notes));
    snprintf(fd, sizeof(fd), "%d", notes_fd);
    child = fork();
    if (child != 0)
        return child;
    setenv("LD_PRELOAD", library, 1);
    setenv("GRADPROF_DB", "run.db", 1);
    setenv("GRADPROF_QUIET", "1", 1);
    unsetenv("GRADPROF_TEST_LONG"); /* ours; the library would say that it does not know it */
    execl(victim, victim, fd, NULL);
    _exit(127);
}

static bool moment_has_come(uint64_t noted)
{
    if (noted >= NOTES_THREADS * NOTES_EACH)
        return atomic_load(&notes->done) != 0;
    return atomic_load(&notes->noted) >= noted;
}

/* Returns whether the victim was still there to be killed. */
static bool kill_at(pid_t child, uint64_t noted, long extra_ns)
{
    struct timespec pause = {.tv_nsec = extra_ns};
    int status;

    while (!moment_has_come(noted)) {
        if (waitpid(child, &status, WNOHANG) != 0)
            fail("the victim ended by itself", (uint64_t)status, noted);
        usleep(50);
    }
    nanosleep(&pause, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

/* --- the database -------------------------------------------------------------------------------------- */

static void load_allocations(struct gp_db *db)
{
    struct gp_statement *rows;

    memset(alloc_seq, 0, sizeof(alloc_seq));
    memset(free_seq, 0, sizeof(free_seq));
    if (gp_db_prepare(db, "SELECT size_bytes, alloc_seq, free_seq FROM allocation", &rows) != 0)
        fail(gp_db_error(db), 0, 0);
    while (gp_step(rows) == 1) {
        uint64_t id = (uint64_t)gp_column_int64(rows, 0);
        if (id >= IDS || alloc_seq[id] != 0)
            fail("an allocation is there twice, or was never made", id, IDS);
        alloc_seq[id] = (uint64_t)gp_column_int64(rows, 1);
        free_seq[id] = (uint64_t)gp_column_int64(rows, 2);
    }
    gp_statement_destroy(rows);
}

static void check_integrity(struct gp_db *db)
{
    struct gp_statement *row;

    if (gp_db_prepare(db, "PRAGMA integrity_check", &row) != 0 || gp_step(row) != 1)
        fail("integrity_check did not run", 0, 0);
    if (strcmp(gp_column_text(row, 0), "ok") != 0)
        fail(gp_column_text(row, 0), 0, 0);
    gp_statement_destroy(row);
}

/* Every noted call has its place in the database. Returns how many there are. */
static size_t find_noted(void)
{
    size_t count = 0;

    for (size_t t = 0; t < NOTES_THREADS; t++) {
        uint64_t before = 0;
        for (size_t i = 0; i < NOTES_EACH && atomic_load(&notes->note[t][i].end) != 0; i++) {
            const struct note *note = &notes->note[t][i];
            uint64_t seq = note->kind == NOTE_ALLOC ? alloc_seq[note->id] : free_seq[note->id];
            if (seq == 0)
                fail("a call that returned is not in the database", note->id, note->kind);
            if (seq <= before)
                fail("a thread's calls are out of order", before, seq);
            before = seq;
            moments[count++] = (struct moment){note->begin, note->end, seq};
        }
    }
    return count;
}

static int by_begin(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int by_end(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    return x->end < y->end ? -1 : x->end > y->end;
}

/* For each call, the highest seq of all that had ended before it began must be lower than its own. */
static void check_order(size_t count)
{
    struct moment *ended = malloc((count + 1) * sizeof(*ended));
    uint64_t highest = 0;
    size_t e = 0;

    memcpy(ended, moments, count * sizeof(*ended));
    qsort(moments, count, sizeof(*moments), by_begin);
    qsort(ended, count, sizeof(*ended), by_end);
    for (size_t i = 0; i < count; i++) {
        for (; e < count && ended[e].end < moments[i].begin; e++)
            if (ended[e].seq > highest)
                highest = ended[e].seq;
        if (highest >= moments[i].seq && highest != 0)
            fail("happens-before is not kept", highest, moments[i].seq);
    }
    free(ended);
}

static void check_run(size_t *ret_count, struct gp_recover_result *ret_result)
{
    char path[4096], error[512] = "";
    struct gp_db *db;

    if (gp_recover("run.db", path, sizeof(path), ret_result, NULL, NULL, error, sizeof(error)) !=
        0) {
        if (access("run.db", F_OK) == 0 || atomic_load(&notes->noted) > 0)
            fail(error, 0, 0);
        *ret_count = 0; /* killed before the first event */
        return;
    }
    if (gp_db_open(path, GP_DB_READ_ONLY, &db, error, sizeof(error)) != 0)
        fail(error, 0, 0);
    load_allocations(db);
    check_integrity(db);
    gp_db_close(db);
    if (ret_result->lost != 0)
        fail("positions were lost", ret_result->lost, 0);
    *ret_count = find_noted();
    check_order(*ret_count);
}

int main(int argc, char **argv)
{
    const char *repeat = getenv("GRADPROF_TEST_LONG");
    int rounds = repeat != NULL && *repeat == '1' ? 200 : 10;
    unsigned seed = (unsigned)time(NULL);
    char folder[] = "/tmp/gradprof-kill-XXXXXX", command[64];
    char *victim = argc < 3 ? NULL : realpath(argv[1], NULL);
    char *library = argc < 3 ? NULL : realpath(argv[2], NULL);

    if (argc == 4)
        seed = (unsigned)atoi(argv[3]);
    if (victim == NULL || library == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 2;
    notes_fd = memfd_create("notes", 0);
    if (ftruncate(notes_fd, sizeof(*notes)) != 0)
        return 2;
    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, notes_fd, 0);
    printf("seed %u, %d kills, %u calls a run\n", seed, rounds, NOTES_THREADS * NOTES_EACH);
    srandom(seed);
    for (int i = 0; i < rounds; i++) {
        uint64_t when =
            i % EXIT_SHARE == 1 ? UINT64_MAX : (uint64_t)random() % (NOTES_THREADS * NOTES_EACH);
        struct gp_recover_result result;
        size_t count;
        bool killed = kill_at(start_victim(victim, library), when, random() % 20000000);
        check_run(&count, &result);
        printf("%3d: %s after %zu calls; %" PRIu64 " events imported from the log, %" PRIu64
               " holes\n",
               i, killed ? "killed" : "ended", count, result.imported_events, result.holes);
        fflush(stdout);
    }
    free(victim);
    free(library);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 2;
}
