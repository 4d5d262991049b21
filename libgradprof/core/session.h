/* SPDX-License-Identifier: MIT */
/*
 * Life of the recording in this process.
 *
 *     IDLE ──first device event or graph node──▶ ACTIVE ──exit──▶ CLOSED
 *      ▲ │                                         │
 *      │ └─ disabled, or the output cannot be made ─▶ OFF
 *      └──────────── forked child, whatever its parent's state ────
 *
 * A process that stays IDLE has written no file, started no thread and printed nothing.
 */
#ifndef GP_CORE_SESSION_H
#define GP_CORE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/core/config.h"
#include "libgradprof/core/thread.h"
#include "libgradprof/core/time.h"
#include "libgradprof/log/writer.h"

enum gp_state { GP_IDLE, GP_ACTIVE, GP_OFF, GP_CLOSED };

struct gp_session {
    _Atomic int state;      /* enum gp_state */
    _Atomic uint32_t epoch; /* number of the run in this process and its ancestors; 0: none yet */
    struct gp_config config;
    struct gp_log log;
    char db_path[GP_CONFIG_TEXT_MAX + 64];
    char log_path[GP_CONFIG_TEXT_MAX + 64];
    _Atomic bool exiting; /* exit handlers run: what is torn down now was live at exit */
    bool forked;          /* this process came to be by fork() of one that had the library */
    uint32_t depth;       /* frames of a stack */
};

extern struct gp_session gp_session;

/* Makes the process ACTIVE if it is IDLE. Any thread; the thread's guard is up. */
bool gp_session_start(struct gp_thread *thread);

/* A page that the kernel zeroes in a forked child, even one made without fork handlers. */
extern const volatile uint32_t *gp_process_mark;
void gp_session_forked(void); /* the mark is gone: we are a child */

/* May this thread append now? Starts the recording if `starts`. The guard is up already. */
static inline bool gp_session_ready(struct gp_thread *thread, bool starts)
{
    if (__builtin_expect(*gp_process_mark == 0, 0))
        gp_session_forked();
    if (__builtin_expect(
            atomic_load_explicit(&gp_session.state, memory_order_acquire) == GP_ACTIVE &&
                thread->epoch == atomic_load_explicit(&gp_session.epoch, memory_order_relaxed),
            1))
        return true;
    int state = atomic_load_explicit(&gp_session.state, memory_order_acquire);
    return (state == GP_ACTIVE || (state == GP_IDLE && starts)) && gp_session_start(thread);
}

#endif
