/* SPDX-License-Identifier: MIT */
/* Many threads at once, blocks freed by other threads, and children forked in the middle of it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/hostcuda_test.h"

#define THREADS 4
#define CALLS 20000
#define SLOTS 64 /* shared by all: a block is often freed by another thread than its maker */
#define BLOCK_BYTES_MAX (100 * KIB)

static _Atomic(void *) slots[SLOTS];
static atomic_bool stop;

static uint32_t next_random(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

/* Put a block of random size into a random slot and free what was there. Each block carries its own
 * address: two owners of one block would overwrite it. */
static bool replace_one(uint32_t *random)
{
    size_t size_bytes = next_random(random) % BLOCK_BYTES_MAX + sizeof(void *);
    void **block = NULL;

    if (next_random(random) % 4 && cudaMalloc((void **)&block, size_bytes))
        return false;
    if (block)
        *block = block;
    void **old = atomic_exchange(&slots[next_random(random) % SLOTS], block);
    if (old && *old != old)
        return false;
    return cudaFree(old) == cudaSuccess;
}

static void *churn(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;
    bool fine = true;

    for (int i = 0; i < CALLS && fine; i++)
        fine = replace_one(&random);
    return fine ? NULL : "a call failed or a block had two owners";
}

static void free_slots(void)
{
    for (int i = 0; i < SLOTS; i++)
        assert_cuda_ok(cudaFree(atomic_exchange(&slots[i], NULL)));
}

static void threads_share_a_device(void **state)
{
    pthread_t threads[THREADS];
    void *problem;

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i * 2654435761u + 1)),
                         0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    free_slots();
}

/* With capacity for one block only one of two threads can hold one at any time. */
static atomic_int holders;

static void *fight(void *unused)
{
    intptr_t won = 0;
    void *p;

    (void)unused;
    for (int i = 0; i < CALLS; i++) {
        if (cudaMalloc(&p, 1000)) {
            cudaGetLastError();
            continue;
        }
        won++;
        if (atomic_fetch_add(&holders, 1) != 0)
            return (void *)(intptr_t)-1;
        atomic_fetch_sub(&holders, 1);
        cudaFree(p);
    }
    return (void *)won;
}

static void capacity_holds_between_threads(void **state)
{
    pthread_t threads[2];
    void *won[2];

    (void)state;
    assert_int_equal(hostcudaSetMemory(0, 1999), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fight, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], &won[i]), 0);
    assert_int_equal(hostcudaSetMemory(0, 8 * GIB), 0);
    assert_int_not_equal((intptr_t)won[0], -1);
    assert_int_not_equal((intptr_t)won[1], -1);
    assert_true((intptr_t)won[0] + (intptr_t)won[1] > 0);
}

static void *keep_busy(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;

    while (!atomic_load(&stop))
        if (!replace_one(&random))
            return "a call failed";
    return NULL;
}

/* In the child: locks are free and the lists consistent. */
static int child_works(void)
{
    uint32_t random = 77;

    alarm(20); /* a lock left behind would hang */
    for (int i = 0; i < 1000; i++)
        if (!replace_one(&random))
            return 1;
    return 0;
}

static void forked_children_work(void **state)
{
    pthread_t threads[2];
    void *problem;
    int status;

    (void)state;
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, (void *)(i + 99)), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(child_works());
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
    free_slots();
}

static void *remember_error(void *unused)
{
    (void)unused;
    cudaError_t before = cudaPeekAtLastError();
    int device = -1;
    cudaGetDevice(&device);
    return before || device != 0 ? "the thread inherited something" : NULL;
}

static void errors_and_devices_belong_to_threads(void **state)
{
    pthread_t thread;
    void *problem;

    (void)state;
    assert_cuda_ok(cudaSetDevice(1));
    assert_int_equal(cudaFree(&thread), cudaErrorInvalidValue);
    assert_int_equal(pthread_create(&thread, NULL, remember_error, NULL), 0);
    assert_int_equal(pthread_join(thread, &problem), 0);
    assert_null(problem);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(threads_share_a_device, nothing_left),
        cmocka_unit_test_teardown(capacity_holds_between_threads, nothing_left),
        cmocka_unit_test_teardown(forked_children_work, nothing_left),
        cmocka_unit_test_teardown(errors_and_devices_belong_to_threads, nothing_left),
    };

    setenv("HOSTCUDA_DEVICES", "2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
