/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/thread.h"

#include <pthread.h>
#include <unistd.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/memory.h"

/* Destructors of other keys may still free device memory: stay for the rounds but the last one. */
#define EXIT_ROUNDS 3 /* < PTHREAD_DESTRUCTOR_ITERATIONS, 4 */

_Thread_local struct gp_thread *gp_thread_state __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static bool have_exit_key;

static void thread_exits(void *state)
{
    struct gp_thread *thread = state;

    if (++thread->exit_round < EXIT_ROUNDS && pthread_setspecific(exit_key, thread) == 0)
        return;
    gp_thread_state = NULL;
    gp_pages_unmap(thread, sizeof(*thread));
}

void gp_thread_init(void)
{
    have_exit_key = pthread_key_create(&exit_key, thread_exits) == 0;
}

struct gp_thread *gp_thread_make(void)
{
    struct gp_thread *thread = gp_pages_map(sizeof(*thread));

    if (thread == NULL) {
        gp_count(GP_COUNTER_threads_without_state);
        return NULL;
    }
    thread->tid = (uint32_t)gettid();
    thread->guard = 1; /* pthread_setspecific may allocate, and a host's malloc may call us */
    gp_thread_state = thread;
    if (have_exit_key)
        pthread_setspecific(exit_key, thread);
    thread->guard = 0;
    return thread;
}

void gp_thread_forked(void)
{
    if (gp_thread_state == NULL)
        return;
    gp_thread_state->tid = (uint32_t)gettid();
    gp_thread_state->epoch = 0;
}
