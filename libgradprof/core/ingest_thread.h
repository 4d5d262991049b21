/* SPDX-License-Identifier: MIT */
/* The thread that moves events from the log into run.db. One a process, from the first event on. */
#ifndef GP_CORE_INGEST_THREAD_H
#define GP_CORE_INGEST_THREAD_H

#include <stdbool.h>

#include "libgradprof/store/ingest.h"

struct gp_thread;

/* All signals must be blocked in the caller. 0 or negative errno. */
int gp_ingest_thread_start(void);

/* Drain to the end of the log, finish the database, stop. Waits as long as there is progress.
 * True: everything is in the database, and *ret_summary says what the run was. */
bool gp_ingest_thread_finish(struct gp_ingest_summary *ret_summary);

/* Around fork(): SQLite is at rest in between, so that a child can use it. Waits a moment at most. */
void gp_ingest_thread_rest(struct gp_thread *thread);
void gp_ingest_thread_go_on(struct gp_thread *thread);
/* In a child. False: the parent's thread was inside SQLite when it was forked, and what it left here
 * cannot be used. */
bool gp_ingest_thread_forked(void);

#endif
