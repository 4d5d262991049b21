/* SPDX-License-Identifier: MIT */
/* The thread that moves events from the log into run.db. One a process, from the first event on. */
#ifndef GP_CORE_INGEST_THREAD_H
#define GP_CORE_INGEST_THREAD_H

#include <stdbool.h>

#include "libgradprof/store/ingest.h"

/* All signals must be blocked in the caller. 0 or negative errno. */
int gp_ingest_thread_start(void);

/* Drain to the end of the log, finish the database, stop. Waits as long as there is progress.
 * True: everything is in the database, and *ret_summary says what the run was. */
bool gp_ingest_thread_finish(struct gp_ingest_summary *ret_summary);

void gp_ingest_thread_forked(void);

#endif
