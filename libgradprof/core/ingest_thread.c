/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/ingest_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libgradprof/core/children.h"
#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/core/message.h"
#include "libgradprof/core/session.h"
#include "libgradprof/store/log_reader.h"

#define STACK_BYTES (1u << 20)
#define BATCH_EVENTS 1024u    /* between looks at the log's space */
#define COMMIT_EVENTS 200000u /* in one transaction */
#define COMMIT_NS UINT64_C(1000000000)
#define HOLE_NS UINT64_C(5000000000)      /* a position this long unfinished will never be */
#define DRAIN_HOLE_NS UINT64_C(500000000) /* ... when the process is waiting to exit */
#define RETRY_NS UINT64_C(2000000000)     /* between attempts to open the database again */
#define STALL_NS UINT64_C(20000000000)    /* exit does not wait longer than this without progress */
#define CLOSE_NS UINT64_C(120000000000) /* ... nor than this for the database's last transaction */
#define REST_SECONDS 2                  /* how long fork() waits for a transaction to end */
#define IDLE_MIN_NS 1000000u
#define IDLE_MAX_NS 50000000u

enum { RUNNING, FINISH_WANTED, CLOSING, FINISHED, GAVE_UP };

static struct {
    struct gp_ingest *ingest; /* NULL: the database cannot be written at the moment */
    struct gp_log_view view;
    uint64_t position, end; /* next to read; where to stop when finishing */
    uint64_t pending_since_ns, commit_due_ns, retry_ns, uncommitted;
    uint64_t pending_below; /* positions taken when the wait for one of them began */
    uint64_t holes_below;   /* unfinished positions below will never be finished */
    uint64_t retire_below; /* segments with holes: a late writer may still store into their slots */
    uint64_t idle_ns, pause_ns, calibrate_ns;
    bool warned, finishing;
} self;

static pthread_t thread_id;
static _Atomic int phase;
static _Atomic uint64_t progress; /* events and commits so far */
static struct gp_ingest_summary final_summary;

static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER; /* held while SQLite may be in use */
static _Atomic bool in_sqlite;                              /* the same, for a child to see */
static _Atomic unsigned forks_waiting;                      /* they go first */

static void warn_database(const char *reason)
{
    if (!self.warned)
        gp_message("cannot write %s: %s; events stay in %s, which gradprof-report reads",
                   gp_session.db_path, reason, gp_session.log_path);
    self.warned = true;
}

/* --- the database ---------------------------------------------------------------------------------- */

static void open_database(void)
{
    char error[512] = "";
    struct gp_log_header *header = gp_session.log.header;
    int r = gp_ingest_create(gp_session.db_path, header, &self.ingest, error, sizeof(error));

    if (r == -EEXIST) /* after a failure: go on where the last commit was */
        r = gp_ingest_open(gp_session.db_path, header, &self.ingest, error, sizeof(error));
    if (r != 0) {
        self.ingest = NULL;
        self.retry_ns = gp_time_system_ns() + RETRY_NS;
        atomic_store(&gp_session.log.draining, false);
        warn_database(error);
        return;
    }
    self.position = gp_ingest_next_seq(self.ingest);
    self.commit_due_ns = 0;
    atomic_store(&gp_session.log.draining, true);
}

static void lose_database(void)
{
    warn_database(gp_ingest_error(self.ingest));
    gp_ingest_abandon(self.ingest);
    self.ingest = NULL;
    self.retry_ns = gp_time_system_ns() + RETRY_NS;
    atomic_store(&gp_session.log.draining, false);
}

static int store_counters(void)
{
    int r = 0;

    for (int i = 0; i < GP_COUNTER_COUNT && r == 0; i++) {
        uint64_t value = atomic_load_explicit(&gp_counters[i], memory_order_relaxed);
        if (value > 0)
            r = gp_ingest_counter(self.ingest, gp_counter_names[i], value);
    }
    return r;
}

static void commit(void)
{
    if (store_counters() != 0 || gp_ingest_commit(self.ingest) != 0) {
        lose_database();
        return;
    }
    self.uncommitted = 0;
    self.commit_due_ns = 0;
    atomic_fetch_add(&progress, 1);
    gp_log_recycle(&gp_session.log, gp_ingest_next_seq(self.ingest), self.retire_below);
}

/* --- reading the log ------------------------------------------------------------------------------- */

static void skip_to(uint64_t next)
{
    if (gp_ingest_skip(self.ingest, next) != 0) {
        lose_database();
        return;
    }
    self.position = next;
    self.uncommitted++;
    gp_count(GP_COUNTER_log_holes);
    self.pending_since_ns = 0;
}

/* A writer is inside, or left its hook by a jump, or had no space for its event (dropped). */
static bool look_at_pending(void)
{
    uint64_t now = gp_time_system_ns();

    if (self.position >= self.holes_below) {
        if (self.pending_since_ns == 0) {
            self.pending_since_ns = now;
            self.pending_below = atomic_load(&gp_session.log.header->next);
        }
        if (now - self.pending_since_ns < (self.finishing ? DRAIN_HOLE_NS : HOLE_NS))
            return false;
        self.holes_below = self.pending_below;
    }
    self.retire_below =
        self.position / GP_SEGMENT_RECORDS + 2; /* continuations may lie in the next */
    skip_to(self.position + 1);
    return self.ingest != NULL;
}

/* Returns whether there may be more at once. */
static bool read_one(struct gp_log_event *event)
{
    uint64_t provisioned = atomic_load_explicit(&gp_session.log.provisioned, memory_order_acquire);

    if (self.position / GP_SEGMENT_RECORDS >= provisioned)
        return false; /* writers wait for this segment, if there are any */
    switch (gp_log_read(&self.view, self.position, event)) {
    case GP_LOG_EVENT:
        if (gp_ingest_event(self.ingest, event->seq, &event->record, event->payload,
                            event->payload_bytes) != 0) {
            lose_database();
            return false;
        }
        self.position = event->seq + 1 + event->record.extra;
        self.uncommitted++;
        self.pending_since_ns = 0;
        return true;
    case GP_LOG_PENDING:
        return look_at_pending();
    case GP_LOG_LOST: /* a provisioned segment is never lost while its process lives */
    default:
        return false;
    }
}

static unsigned read_batch(void)
{
    static struct gp_log_event event; /* 14 KiB, one thread */
    unsigned count = 0;

    self.view.slot_count =
        atomic_load_explicit(&gp_session.log.header->slots, memory_order_acquire);
    while (count < BATCH_EVENTS && read_one(&event))
        count++;
    atomic_fetch_add(&progress, count);
    return count;
}

static void commit_when_due(unsigned events)
{
    uint64_t now;

    if (self.ingest == NULL || self.uncommitted == 0)
        return;
    now = gp_time_system_ns();
    if (self.commit_due_ns == 0)
        self.commit_due_ns = now + COMMIT_NS;
    bool crowded = !gp_log_has_room(&gp_session.log, 4 * GP_SEGMENT_RECORDS) &&
                   (self.uncommitted >= GP_SEGMENT_RECORDS || events == 0);
    if (self.uncommitted >= COMMIT_EVENTS || crowded || now >= self.commit_due_ns)
        commit();
}

/* --- side jobs -------------------------------------------------------------------------------------- */

static void list_children(void)
{
    struct gp_record record = {.type = GP_EV_CHILD};
    pid_t child;

    while (gp_log_has_room(&gp_session.log, GP_SEGMENT_RECORDS) && gp_children_next(&child)) {
        record.key = (uint64_t)child;
        gp_event(gp_thread_get(), &record);
    }
}

/* The scale of the clock gets truer with time: at 20 ms, 40 ms, 80 ms, ... */
static void calibrate_clock(void)
{
    uint64_t now = gp_time_system_ns();

    if (self.calibrate_ns == 0)
        self.calibrate_ns = 10000000;
    if (now - gp_session.log.header->start_ns < self.calibrate_ns)
        return;
    gp_time_calibrate();
    self.calibrate_ns *= 2;
}

static void idle(unsigned events)
{
    if (events > 0)
        self.idle_ns = IDLE_MIN_NS;
    else if (self.idle_ns < IDLE_MAX_NS)
        self.idle_ns *= 2;
    self.pause_ns = self.idle_ns;
}

/* --- the thread -------------------------------------------------------------------------------------- */

static void finish(void)
{
    if (self.ingest != NULL) {
        gp_ingest_get_summary(self.ingest, &final_summary);
        store_counters();
        atomic_store(&phase, CLOSING);
        int r = gp_ingest_finish(self.ingest, 1);
        self.ingest = NULL;
        if (r == 0) {
            atomic_store(&phase, FINISHED);
            return;
        }
        warn_database(strerror(-r));
    }
    atomic_store(&phase, GAVE_UP);
}

static bool is_drained(void)
{
    return self.ingest == NULL || self.position >= self.end;
}

static void work(void)
{
    unsigned events = 0;

    if (!self.finishing && atomic_load(&phase) == FINISH_WANTED) {
        self.finishing = true;
        self.end = atomic_load(&gp_session.log.header->next);
        self.pending_since_ns = 0;
    }
    gp_log_provision_ahead(&gp_session.log, GP_LOG_AHEAD);
    if (self.ingest == NULL && gp_time_system_ns() >= self.retry_ns)
        open_database();
    if (self.ingest != NULL)
        events = read_batch();
    commit_when_due(events);
    if (events == BATCH_EVENTS || (self.finishing && is_drained()))
        return;
    list_children();
    calibrate_clock();
    idle(events);
}

/* One round of work, and whatever pause it asked for, without the lock. */
static void take_turn(void (*turn)(void))
{
    struct timespec pause = {0};

    while (atomic_load(&forks_waiting) > 0)
        sched_yield();
    self.pause_ns = 0;
    pthread_mutex_lock(&at_work);
    atomic_store(&in_sqlite, true);
    turn();
    atomic_store(&in_sqlite, false);
    pthread_mutex_unlock(&at_work);
    pause.tv_nsec = (long)self.pause_ns;
    if (pause.tv_nsec > 0)
        nanosleep(&pause, NULL);
}

static void *run(void *unused)
{
    struct gp_thread *thread = gp_thread_get();

    pthread_setname_np(pthread_self(), "gradprof-ingest");
    if (thread != NULL) {
        thread->guard++; /* for good: what SQLite does here is no part of the program */
        thread->epoch = atomic_load(&gp_session.epoch);
        gp_log_provision_ahead(&gp_session.log, GP_LOG_AHEAD);
        take_turn(open_database);
        while (!(self.finishing && is_drained()))
            take_turn(work);
    }
    take_turn(finish);
    return NULL;
}

int gp_ingest_thread_start(void)
{
    pthread_attr_t attributes;
    int r;

    memset(&self, 0, sizeof(self));
    self.idle_ns = IDLE_MIN_NS;
    gp_log_view_init(&self.view, gp_session.log.header, gp_session.log.slots, 0);
    atomic_store(&phase, RUNNING);
    atomic_store(&gp_session.log.draining, true);
    r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    r = pthread_create(&thread_id, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}

bool gp_ingest_thread_finish(struct gp_ingest_summary *ret_summary)
{
    struct timespec pause = {.tv_nsec = 500000};
    uint64_t seen = 0, since_ns = gp_time_system_ns();
    int state = RUNNING;

    atomic_compare_exchange_strong(&phase, &state, FINISH_WANTED);
    while ((state = atomic_load(&phase)) == FINISH_WANTED || state == CLOSING) {
        uint64_t now_ns = gp_time_system_ns(), now = atomic_load(&progress);
        if (now != seen) {
            seen = now;
            since_ns = now_ns;
        }
        if (now_ns - since_ns > (state == CLOSING ? CLOSE_NS : STALL_NS)) {
            pthread_detach(thread_id);
            return false;
        }
        nanosleep(&pause, NULL);
    }
    pthread_join(thread_id, NULL);
    if (state != FINISHED)
        return false;
    *ret_summary = final_summary;
    return true;
}

void gp_ingest_thread_rest(struct gp_thread *thread)
{
    struct timespec until;

    atomic_fetch_add(&forks_waiting, 1);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += REST_SECONDS;
    int r = pthread_mutex_clocklock(&at_work, CLOCK_MONOTONIC, &until);
    thread->forking = r == 0 ? GP_FORK_QUIET : GP_FORK_BUSY;
}

void gp_ingest_thread_go_on(struct gp_thread *thread)
{
    if (thread->forking == GP_FORK_QUIET)
        pthread_mutex_unlock(&at_work);
    thread->forking = GP_FORK_NONE;
    atomic_fetch_sub(&forks_waiting, 1);
}

bool gp_ingest_thread_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    bool usable = !atomic_load(&in_sqlite);

    at_work = fresh;
    atomic_store(&forks_waiting, 0);
    atomic_store(&in_sqlite, false);
    atomic_store(&phase, GAVE_UP); /* the thread stayed with the parent */
    return usable;
}
