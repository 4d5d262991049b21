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
static struct gp_thread *all_threads;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* held for a few stores only */

static void enter_list(struct gp_thread *thread)
{
    pthread_mutex_lock(&list_lock);
    thread->next = all_threads;
    if (all_threads != NULL)
        all_threads->previous = thread;
    all_threads = thread;
    pthread_mutex_unlock(&list_lock);
}

static void leave_list(struct gp_thread *thread)
{
    pthread_mutex_lock(&list_lock);
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
    if (thread->previous != NULL)
        thread->previous->next = thread->next;
    else
        all_threads = thread->next;
    pthread_mutex_unlock(&list_lock);
}

static void thread_exits(void *state)
{
    struct gp_thread *thread = state;

    if (++thread->exit_round < EXIT_ROUNDS && pthread_setspecific(exit_key, thread) == 0)
        return;
    thread->guard++; /* a signal must not find us with the lock */
    leave_list(thread);
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
    enter_list(thread);
    if (have_exit_key)
        pthread_setspecific(exit_key, thread);
    thread->guard = 0;
    return thread;
}

bool gp_thread_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct gp_thread *own = gp_thread_state;
    bool capturing = false;

    list_lock = fresh;
    for (struct gp_thread *thread = all_threads; thread != NULL; thread = thread->next)
        capturing |= thread != own && thread->capturing;
    all_threads = own; /* the others' pages stay: unmapping each would make fork slow */
    if (own == NULL)
        return capturing;
    own->next = own->previous = NULL;
    own->tid = (uint32_t)gettid();
    own->epoch = 0;
    return capturing;
}
