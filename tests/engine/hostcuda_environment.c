/* SPDX-License-Identifier: MIT */
/*
 * The HOSTCUDA_* variables. They are read once per process, at the first call, so each case is a
 * child process whose exit status and standard error are checked.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/engine/hostcuda_test.h"

#define CHILD_PASSED 0
#define MAX_STDERR 1000

/* Run `body` in a child with NAME=VALUE; what it wrote to standard error is put into `ret_text`. */
static int run_with(const char *name, const char *value, int (*body)(void),
                    char ret_text[MAX_STDERR])
{
    int ends[2], status;
    size_t length = 0;
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv(name, value, 1);
        _exit(body());
    }
    close(ends[1]);
    while ((got = read(ends[0], ret_text + length, MAX_STDERR - 1 - length)) > 0)
        length += (size_t)got;
    ret_text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void passes_in_silence(const char *name, const char *value, int (*body)(void))
{
    char text[MAX_STDERR];
    int status = run_with(name, value, body, text);

    if (status != CHILD_PASSED || text[0])
        fail_msg("%s=%s: check %d, \"%s\"", name, value, status, text);
}

/* One line that names the variable, and the default in force (`body` checks it). */
static void warns(const char *name, const char *value, int (*body)(void))
{
    char text[MAX_STDERR];
    int status = run_with(name, value, body, text);
    const char *newline = strchr(text, '\n');

    if (status != CHILD_PASSED || !strstr(text, name) || !newline || newline[1])
        fail_msg("%s=%s: check %d, \"%s\"", name, value, status, text);
}

/* Returns the number of the first check that does not hold. */
static int has_defaults(void)
{
    size_t free, total;
    int devices;
    void *p;

    if (cudaGetDeviceCount(&devices) || devices != 1)
        return 1;
    if (cudaMemGetInfo(&free, &total) || total != 8 * GIB || free != total)
        return 2;
    for (int i = 0; i < 10; i++)
        if (cudaMalloc(&p, 8) || cudaFree(p))
            return 3;
    return CHILD_PASSED;
}

static int total_is(size_t wanted)
{
    size_t free, total;

    return cudaMemGetInfo(&free, &total) || total != wanted;
}

static int has_three_mib(void)
{
    return total_is(3 * MIB);
}

static int has_5000_bytes(void)
{
    return total_is(5000);
}

static int has_two_tib(void)
{
    return total_is(2048 * GIB);
}

static int has_nothing(void)
{
    void *p;

    return total_is(0) || cudaMalloc(&p, 1) != cudaErrorMemoryAllocation;
}

static int has_sixteen_devices(void)
{
    int devices;

    return cudaGetDeviceCount(&devices) || devices != 16 || cudaSetDevice(15);
}

static void good_sizes(void **state)
{
    (void)state;
    passes_in_silence("HOSTCUDA_MEMORY", "3MiB", has_three_mib);
    passes_in_silence("HOSTCUDA_MEMORY", "3072K", has_three_mib);
    passes_in_silence("HOSTCUDA_MEMORY", "3145728", has_three_mib);
    passes_in_silence("HOSTCUDA_MEMORY", "5000B", has_5000_bytes);
    passes_in_silence("HOSTCUDA_MEMORY", "2TiB", has_two_tib);
    passes_in_silence("HOSTCUDA_MEMORY", "0", has_nothing);
    passes_in_silence("HOSTCUDA_DEVICES", "16", has_sixteen_devices);
    passes_in_silence("NOT_HOSTCUDA", "1", has_defaults);
}

static void bad_values_warn(void **state)
{
    static const char *const cases[][2] = {
        {"HOSTCUDA_MEMORY", ""},
        {"HOSTCUDA_MEMORY", "-1"},
        {"HOSTCUDA_MEMORY", "8 GiB"},
        {"HOSTCUDA_MEMORY", "8gib"},
        {"HOSTCUDA_MEMORY", "1.5GiB"},
        {"HOSTCUDA_MEMORY", "GiB"},
        {"HOSTCUDA_MEMORY", "8GiBx"},
        {"HOSTCUDA_MEMORY", "99999999999TiB"},
        {"HOSTCUDA_MEMORY", "99999999999999999999999"},
        {"HOSTCUDA_DEVICES", "0"},
        {"HOSTCUDA_DEVICES", "17"},
        {"HOSTCUDA_DEVICES", "two"},
        {"HOSTCUDA_DEVICES", "2x"},
        {"HOSTCUDA_DEVICES", "-1"},
        {"HOSTCUDA_LATENCY_NS", "fast"},
        {"HOSTCUDA_LATENCY_NS", "1000000001"},
        {"HOSTCUDA_FAIL", ""},
        {"HOSTCUDA_FAIL", "cudaMalloc"},
        {"HOSTCUDA_FAIL", "cudaMalloc:"},
        {"HOSTCUDA_FAIL", "cudaMalloc:0"},
        {"HOSTCUDA_FAIL", ":1"},
        {"HOSTCUDA_FAIL", "cudaMalloc:1:"},
        {"HOSTCUDA_FAIL", "cudaMalloc:1:0"},
        {"HOSTCUDA_FAIL", "cudaMalloc:1:2:3"},
        {"HOSTCUDA_FAIL", "cudaMalloc:x"},
        {"HOSTCUDA_FAIL",
         "aNameThatIsLongerThanAnyFunctionOfTheRuntimeCouldEverBeInItsWholeLife:1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        warns(cases[i][0], cases[i][1], has_defaults);
}

static int third_malloc_fails(void)
{
    void *p[4], *other;

    if (cudaMalloc(&p[0], 8) || cudaMallocAsync(&other, 8, NULL) || cudaMalloc(&p[1], 8))
        return 1;
    p[2] = p;
    if (cudaMalloc(&p[2], 8) != cudaErrorMemoryAllocation || p[2] != p)
        return 2;
    if (cudaGetLastError() != cudaErrorMemoryAllocation || used_bytes() != 24)
        return 3;
    return cudaMalloc(&p[3], 8) != cudaSuccess;
}

static int second_free_fails(void)
{
    void *p;

    if (cudaMalloc(&p, 8) || cudaFree(NULL))
        return 1;
    if (cudaFree(p) != cudaErrorLaunchFailure || used_bytes() != 8)
        return 2; /* an injected failure has no effect */
    return cudaFree(p) != cudaSuccess || used_bytes();
}

static int fourth_call_of_any_fails(void)
{
    void *p;
    int n;

    if (cudaMalloc(&p, 8) || cudaFree(p) || cudaGetDeviceCount(&n))
        return 1;
    if (cudaStreamSynchronize(NULL) != cudaErrorIllegalAddress)
        return 2;
    return cudaStreamSynchronize(NULL) != cudaSuccess;
}

static int unknown_error_is_passed_on(void)
{
    void *p;

    return cudaHostAlloc(&p, 8, 0) != (cudaError_t)4321 || cudaGetLastError() != (cudaError_t)4321;
}

static void faults_are_injected(void **state)
{
    (void)state;
    passes_in_silence("HOSTCUDA_FAIL", "cudaMalloc:3", third_malloc_fails);
    passes_in_silence("HOSTCUDA_FAIL", "cudaFree:2:719", second_free_fails);
    passes_in_silence("HOSTCUDA_FAIL", "*:4:700", fourth_call_of_any_fails);
    passes_in_silence("HOSTCUDA_FAIL", "cudaHostAlloc:1:4321", unknown_error_is_passed_on);
    passes_in_silence("HOSTCUDA_FAIL", "cudaMallocManaged:1", has_defaults);
}

static int pairs_are_slow(void)
{
    struct timespec start, end;
    void *p;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < 10; i++)
        if (cudaMalloc(&p, 8) || cudaFree(p))
            return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ns = (end.tv_sec - start.tv_sec) * 1000000000 + (end.tv_nsec - start.tv_nsec);
    return ns < 20 * 1000000 ? 2 : CHILD_PASSED;
}

static void latency_is_added(void **state)
{
    (void)state;
    passes_in_silence("HOSTCUDA_LATENCY_NS", "1000000", pairs_are_slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_sizes),
        cmocka_unit_test(bad_values_warn),
        cmocka_unit_test(faults_are_injected),
        cmocka_unit_test(latency_is_added),
    };

    unsetenv("HOSTCUDA_DEVICES");
    unsetenv("HOSTCUDA_MEMORY");
    unsetenv("HOSTCUDA_FAIL");
    unsetenv("HOSTCUDA_LATENCY_NS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
