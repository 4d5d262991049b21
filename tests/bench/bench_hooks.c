/* SPDX-License-Identifier: MIT */
/*
 * What a hook costs: the same calls with and without libgradprof.so, against a runtime that does
 * nothing (tests/preload/fake_runtime.c), and against one that takes 0.65 us as a driver does.
 *
 *   bench_hooks LIBGRADPROF.SO [PAIRS]
 *
 * Runs itself once per row; prints one line per row. CPU time of the calling thread is what is
 * measured, so that other programs on the machine disturb little; percentiles and throughput are by the
 * wall clock.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gradprof/gradprof.h>

int cudaMalloc(void **ret_address, size_t size_bytes);
int cudaFree(void *address);

#define SAMPLES 200000u /* single calls timed for the percentile */
#define DEPTH 23        /* with main, the C library and the bench's own: a stack of 30 frames */
#define REPEATS 5       /* the quickest counts: the others were disturbed */

static uint64_t clock_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pairs(uint64_t count)
{
    void *address;

    for (uint64_t i = 0; i < count; i++) {
        cudaMalloc(&address, 4096);
        cudaFree(address);
    }
}

__attribute__((noinline)) static void deep(int depth, void (*work)(uint64_t), uint64_t count)
{
    if (depth > 0)
        deep(depth - 1, work, count);
    else
        work(count);
    __asm__ volatile(""); /* keep the frame: no tail call */
}

static void allocations(uint64_t count) /* never freed: every event takes a stack */
{
    void *address;

    for (uint64_t i = 0; i < count; i++)
        cudaMalloc(&address, 4096);
}

static void annotations(uint64_t count)
{
    int node;

    for (uint64_t i = 0; i < count; i++) {
        gradprof_scope_push(GRADPROF_SCOPE_OP, "ConvolutionBackward0");
        gradprof_save(&node, "input", &node, NULL);
        gradprof_release(&node, "input");
        gradprof_scope_pop();
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static double percentile(void)
{
    uint64_t *ns = malloc(SAMPLES * sizeof(*ns));
    double result;

    for (unsigned i = 0; i < SAMPLES; i++) {
        void *address;
        uint64_t start = clock_of(CLOCK_MONOTONIC);
        cudaMalloc(&address, 4096);
        ns[i] = clock_of(CLOCK_MONOTONIC) - start;
    }
    qsort(ns, SAMPLES, sizeof(*ns), compare);
    result = (double)ns[SAMPLES - SAMPLES / 1000];
    free(ns);
    return result;
}

static double per_event(void (*work)(uint64_t), int depth, uint64_t count, double events)
{
    uint64_t start;

    deep(depth, work, count / 10 + 1); /* warm: stacks and names are known afterwards */
    start = clock_of(CLOCK_THREAD_CPUTIME_ID);
    deep(depth, work, count);
    return (double)(clock_of(CLOCK_THREAD_CPUTIME_ID) - start) / (double)count / events;
}

/* unw_backtrace alone, from the same depth: what no profiler that takes stacks can save. */
static int (*backtrace_function)(void **frames, int size);

static void unwind_only(uint64_t count)
{
    void *frames[144];

    for (uint64_t i = 0; i < count; i++)
        backtrace_function(frames, 144);
}

static double bare_unwinder(uint64_t count)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return 0;
    backtrace_function = (int (*)(void **, int))dlsym(library, "unw_backtrace");
    return per_event(unwind_only, DEPTH, count, 1);
}

static uint64_t thread_pairs;
static pthread_barrier_t barrier;

static void *worker(void *unused)
{
    pthread_barrier_wait(&barrier);
    pairs(thread_pairs);
    return NULL;
}

/* Calls per second of all threads together, by the wall clock. */
static double throughput(int threads, uint64_t count)
{
    pthread_t ids[256];
    uint64_t start;

    thread_pairs = count;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, worker, NULL);
    pthread_barrier_wait(&barrier);
    start = clock_of(CLOCK_MONOTONIC);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 2.0 * (double)count * threads * 1e9 / (double)(clock_of(CLOCK_MONOTONIC) - start);
}

static double measure(const char *row, uint64_t count)
{
    void *first;

    cudaMalloc(&first, 4096); /* the recording starts here */
    if (strcmp(row, "pairs") == 0)
        return per_event(pairs, 0, count, 2);
    if (strcmp(row, "stack") == 0)
        return per_event(allocations, DEPTH, count, 1);
    if (strcmp(row, "annotations") == 0)
        return per_event(annotations, 0, count, 4);
    if (strcmp(row, "unwinder") == 0)
        return bare_unwinder(count);
    if (strcmp(row, "p99.9") == 0)
        return percentile();
    return throughput(atoi(row), count);
}

/* Runs one row in a process of its own and returns the figure it prints. */
static double run_row(const char *self, const char *library, const char *unwind,
                      const char *latency, const char *row, const char *count)
{
    int ends[2];
    char database[40];
    double result = 0;
    FILE *output;
    pid_t child;

    if (pipe(ends) != 0)
        exit(1);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("GRADPROF_UNWIND", unwind, 1);
        setenv("GRADPROF_QUIET", "1", 1);
        setenv("GRADPROF_DB", "bench_hooks.%p.db", 1);
        setenv("FAKE_LATENCY_NS", latency, 1);
        if (library != NULL)
            setenv("LD_PRELOAD", library, 1);
        execl(self, self, "--row", row, count, NULL);
        _exit(127);
    }
    close(ends[1]);
    output = fdopen(ends[0], "r");
    if (fscanf(output, "%lf", &result) != 1)
        result = -1;
    fclose(output);
    waitpid(child, NULL, 0);
    snprintf(database, sizeof(database), "bench_hooks.%d.db", (int)child);
    unlink(database);
    return result;
}

/* Of several runs the least; of throughputs (rows that are numbers) the most. */
static double best_row(const char *self, const char *library, const char *unwind,
                       const char *latency, const char *row, const char *count)
{
    double best = run_row(self, library, unwind, latency, row, count);

    for (int i = 1; i < REPEATS; i++) {
        double next = run_row(self, library, unwind, latency, row, count);
        if ((next < best) != (atoi(row) > 0))
            best = next;
    }
    return best;
}

static void print_cost(const char *self, const char *library, const char *title, const char *unwind,
                       const char *row, const char *count)
{
    double with = best_row(self, library, unwind, "0", row, count);
    double without = best_row(self, NULL, unwind, "0", row, count);

    printf("%-34s %8.1f ns (%.1f with, %.1f without)\n", title, with - without, with, without);
}

/* Calls per second of 1, 2, 4, ... threads against a driver that takes 0.65 us. */
static void print_scaling(const char *self, const char *library, const char *count)
{
    double one = best_row(self, library, "libunwind", "650", "1", count);
    double one_without = best_row(self, NULL, "libunwind", "650", "1", count);

    for (int threads = 1; threads <= sysconf(_SC_NPROCESSORS_ONLN); threads *= 2) {
        char row[16];
        snprintf(row, sizeof(row), "%d", threads);
        double with = best_row(self, library, "libunwind", "650", row, count);
        double without = best_row(self, NULL, "libunwind", "650", row, count);
        printf("%d threads, 0.65 us driver: %.0f calls/s, %.2f x linear (%.2f without)\n", threads,
               with, with / one / threads, without / one_without / threads);
    }
}

int main(int argc, char **argv)
{
    const char *count = argc > 2 ? argv[2] : "1000000";

    if (argc == 4 && strcmp(argv[1], "--row") == 0) {
        printf("%f\n", measure(argv[2], strtoull(argv[3], NULL, 10)));
        return 0;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: bench_hooks LIBGRADPROF.SO [PAIRS]\n");
        return 2;
    }
    print_cost(argv[0], argv[1], "event, no stack", "off", "pairs", count);
    print_cost(argv[0], argv[1], "event, 30 frames, libunwind", "libunwind", "stack", count);
    printf("%-34s %8.1f ns\n", "  of which unw_backtrace",
           best_row(argv[0], NULL, "off", "0", "unwinder", count));
    print_cost(argv[0], argv[1], "annotation", "off", "annotations", count);
    print_cost(argv[0], argv[1], "allocation p99.9, 0 frames", "off", "p99.9", count);
    print_cost(argv[0], argv[1], "allocation p99.9, stack", "libunwind", "p99.9", count);
    print_scaling(argv[0], argv[1], count);
    return 0;
}
