/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libgradprof/core/children.h"
#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/core/ingest_thread.h"
#include "libgradprof/core/memory.h"
#include "libgradprof/core/message.h"
#include "libgradprof/core/output.h"
#include "libgradprof/core/run_meta.h"
#include "libgradprof/hooks/contexts.h"
#include "libgradprof/hooks/graphs.h"
#include "libgradprof/hooks/physical.h"
#include "libgradprof/hooks/resolve.h"
#include "libgradprof/hooks/sample.h"
#include "libgradprof/limit.h"
#include "libgradprof/python/host.h"
#include "libgradprof/stack/modules.h"
#include "libgradprof/stack/unwind.h"
#include "libgradprof/torch/blocks.h"
#include "libgradprof/torch/graph.h"

#define PAGE_BYTES 4096u

extern char **environ;

struct gp_session gp_session;

static const uint32_t mark_for_ever = 1; /* kernels before 4.14, or no memory: fork handlers only */
const volatile uint32_t *gp_process_mark = &mark_for_ever;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static char display_name[GP_CONFIG_TEXT_MAX + 64]; /* the database as the user would type it */

/* --- exit handlers ---------------------------------------------------------------------------------- */

static bool enter_exit(struct gp_thread *thread)
{
    if (thread == NULL || thread->guard > 0) /* exit() from inside one of our own hooks */
        return false;
    return atomic_load(&gp_session.state) == GP_ACTIVE && gp_session_ready(thread, false);
}

static void exit_begins(void)
{
    struct gp_thread *thread = gp_thread_get();
    struct gp_record record = {.type = GP_EV_EXIT_BEGIN};

    if (!enter_exit(thread))
        return;
    thread->guard++;
    gp_sample_end(thread);
    gp_event(thread, &record);
    atomic_store(&gp_session.exiting, true);
    thread->guard--;
}

/* Registered as late as can be: handlers run in reverse order. */
static void watch_exit(void)
{
    static bool watching; /* start_lock */

    if (!watching)
        watching = atexit(exit_begins) == 0;
}

/* --- start ------------------------------------------------------------------------------------------ */

static void make_absolute(char *path, size_t size)
{
    char directory[GP_CONFIG_TEXT_MAX];
    size_t length, path_bytes = strlen(path) + 1;

    if (*path == '/' || getcwd(directory, sizeof(directory)) == NULL)
        return;
    length = strlen(directory);
    if (length + 1 + path_bytes > size)
        return;
    memmove(path + length + 1, path, path_bytes);
    memcpy(path, directory, length);
    path[length] = '/';
}

static int open_output(void)
{
    struct gp_output_identity identity;
    char host[256], error[512] = "";
    int fd, r;

    gp_output_identify(&identity, host, sizeof(host));
    r = gp_output_open(gp_session.config.db, &identity, gp_session.forked, gp_session.db_path,
                       gp_session.log_path, sizeof(gp_session.db_path), &fd, error, sizeof(error));
    if (r != 0) {
        gp_message("%s; nothing is recorded", error);
        return r;
    }
    snprintf(display_name, sizeof(display_name), "%s", gp_session.db_path);
    make_absolute(gp_session.db_path, sizeof(gp_session.db_path));
    make_absolute(gp_session.log_path, sizeof(gp_session.log_path));
    r = gp_log_create(&gp_session.log, fd, gp_session.config.log_limit);
    if (r != 0) {
        gp_message("cannot make %s: %s; nothing is recorded", gp_session.log_path, strerror(-r));
        unlink(gp_session.log_path);
        close(fd);
    }
    return r;
}

static void fill_header(struct gp_log_header *header)
{
    struct timespec now;

    header->start_ns = gp_time_system_ns();
    clock_gettime(CLOCK_REALTIME, &now);
    header->start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (getrandom(&header->run_id, sizeof(header->run_id), GRND_NONBLOCK) !=
        (ssize_t)sizeof(header->run_id))
        header->run_id = header->start_unix_ns ^ (uint64_t)getpid() << 40;
    header->run_id &= INT64_MAX; /* SQLite integers are signed */
    header->run_id |= 1;
}

static void start_now(struct gp_thread *thread)
{
    for (unsigned i = 0; i < gp_session.config.problem_count; i++)
        gp_message("%s", gp_session.config.problem[i]);
    if (open_output() != 0) {
        atomic_store(&gp_session.state, GP_OFF);
        return;
    }
    gp_session.depth = (uint32_t)gp_session.config.stack_depth;
    enum gp_unwind_choice wanted = (enum gp_unwind_choice)gp_session.config.unwind;
    enum gp_unwind_choice unwind = gp_unwind_init(wanted);
    if (wanted != GP_UNWIND_AUTO && wanted != unwind)
        gp_message("GRADPROF_UNWIND=%s cannot be used here; using %s", gp_unwind_name(wanted),
                   gp_unwind_name(unwind));
    gp_time_calibrate();
    fill_header(gp_session.log.header);
    gp_log_provision_ahead(&gp_session.log, 1);
    atomic_fetch_add(&gp_session.epoch, 1);
    thread->epoch = atomic_load(&gp_session.epoch);
    gp_run_meta_write(thread, gp_unwind_name(unwind));
    watch_exit();
    if (gp_ingest_thread_start() != 0) {
        gp_message("cannot start a thread; nothing is recorded");
        unlink(gp_session.log_path);
        atomic_store(&gp_session.state, GP_OFF);
        return;
    }
    atomic_store_explicit(&gp_session.state, GP_ACTIVE, memory_order_release);
}

/* Steps that were open on this thread when the run began. */
static void write_open_steps(struct gp_thread *thread)
{
    uint32_t depth = thread->step_depth < GP_STEPS_MAX ? thread->step_depth : GP_STEPS_MAX;

    for (uint32_t i = 0; i < depth; i++) {
        struct gp_record record = {.type = GP_EV_STEP_BEGIN};
        record.name_id = gp_name_id(thread, thread->step_label[i]);
        gp_event(thread, &record);
    }
}

bool gp_session_start(struct gp_thread *thread)
{
    sigset_t all, before;

    if (atomic_load_explicit(&gp_session.state, memory_order_acquire) == GP_IDLE) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* the ingest thread inherits it */
        pthread_mutex_lock(&start_lock);
        if (atomic_load(&gp_session.state) == GP_IDLE)
            start_now(thread);
        pthread_mutex_unlock(&start_lock);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (atomic_load_explicit(&gp_session.state, memory_order_acquire) != GP_ACTIVE)
        return false;
    thread->epoch = atomic_load(&gp_session.epoch);
    write_open_steps(thread);
    return true;
}

/* --- exit ------------------------------------------------------------------------------------------- */

static void list_children(struct gp_thread *thread)
{
    struct gp_record record = {.type = GP_EV_CHILD};
    pid_t child;

    while (gp_children_next(&child)) {
        record.key = (uint64_t)child;
        gp_event(thread, &record);
    }
}

static void say_summary(const struct gp_ingest_summary *summary)
{
    char peak[32], graphs[96] = "";

    if (summary->retained_graph_steps > 0)
        snprintf(graphs, sizeof(graphs), "; graphs of %llu earlier step%s still held",
                 (unsigned long long)summary->retained_graph_steps,
                 summary->retained_graph_steps == 1 ? "" : "s");
    if (summary->failures > 0)
        snprintf(graphs + strlen(graphs), sizeof(graphs) - strlen(graphs),
                 "; %llu allocation%s refused", (unsigned long long)summary->failures,
                 summary->failures == 1 ? "" : "s");
    gp_message("peak %s%s; see: gradprof-report %s",
               gp_format_bytes(peak, sizeof(peak), summary->peak_bytes), graphs, display_name);
}

/* After the program's exit handlers and destructors: drain, finish, say what was seen. The log stays
 * mapped, since other threads may still be inside a hook. */
static void __attribute__((destructor)) exit_ends(void)
{
    struct gp_thread *thread = gp_thread_get();
    struct gp_record record = {.type = GP_EV_EXIT};
    struct gp_ingest_summary summary;

    if (!enter_exit(thread))
        return;
    thread->guard++;
    list_children(thread);
    gp_event(thread, &record);
    atomic_store(&gp_session.state, GP_CLOSED);
    if (gp_ingest_thread_finish(&summary)) {
        atomic_store(&gp_session.log.header->clean, 1);
        unlink(gp_session.log_path);
        if (!gp_session.config.quiet)
            say_summary(&summary);
    } else {
        gp_message("%s is not complete; gradprof-report %s finishes it from %s", gp_session.db_path,
                   display_name, gp_session.log_path);
    }
    thread->guard--;
}

/* --- fork ------------------------------------------------------------------------------------------- */

static void mark_process(void)
{
    uint32_t *page;

    if (gp_process_mark != &mark_for_ever) {
        *(uint32_t *)(uintptr_t)gp_process_mark = 1;
        return;
    }
    page = gp_pages_map(PAGE_BYTES);
    if (page == NULL || madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        gp_pages_unmap(page, PAGE_BYTES);
        return;
    }
    *page = 1;
    gp_process_mark = page;
}

/* Fresh locks first: another thread of the parent may have held them. */
void gp_session_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    bool was_active = atomic_load(&gp_session.state) == GP_ACTIVE;

    start_lock = fresh;
    if (was_active)
        close(gp_session.log.fd); /* the parent's lock is the parent's: closing here leaves it */
    if (atomic_load(&gp_session.state) != GP_OFF)
        atomic_store(&gp_session.state, GP_IDLE);
    gp_session.forked = true;
    gp_event_forked();
    gp_modules_forked();
    gp_limit_forked();
    gp_contexts_forked();
    gp_graphs_forked();
    gp_physical_forked();
    gp_children_forked();
    gp_counters_reset();
    gp_blocks_forked();
    gp_graph_forked();
    gp_python_forked();
    if (!gp_ingest_thread_forked() && was_active)
        atomic_store(&gp_session.state, GP_OFF);
    if (gp_thread_forked())
        gp_unwind_forked_inside();
    mark_process();
}

static void before_fork(void)
{
    struct gp_thread *thread;

    if (atomic_load(&gp_session.state) != GP_ACTIVE || *gp_process_mark == 0)
        return;
    thread = gp_thread_get();
    if (thread != NULL)
        gp_ingest_thread_rest(thread);
}

static void parent_after_fork(void)
{
    if (gp_thread_state != NULL && gp_thread_state->forking != GP_FORK_NONE)
        gp_ingest_thread_go_on(gp_thread_state);
}

static void child_after_fork(void)
{
    if (gp_thread_state != NULL)
        gp_thread_state->forking = GP_FORK_NONE;
    gp_children_enter();
    gp_session_forked();
}

/* --- load ------------------------------------------------------------------------------------------- */

/* `gradprof run` waits for a byte in a pipe. The inode tells its pipe from whatever else the number
 * may mean in a program started later. */
static void answer_launcher(void)
{
    unsigned long long inode;
    struct stat status;
    int fd;

    if (gp_session.config.launcher[0] == 0)
        return;
    if (sscanf(gp_session.config.launcher, "%d:%llu", &fd, &inode) == 2 &&
        fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_ino == inode) {
        if (write(fd, "1", 1) == 1)
            close(fd);
    }
    unsetenv("GRADPROF_LAUNCHER");
}

static void __attribute__((constructor)) load(void)
{
    gp_config_read(&gp_session.config, environ);
    if (getauxval(AT_SECURE) || gp_session.config.disable)
        atomic_store(&gp_session.state, GP_OFF);
    answer_launcher();
    gp_time_init();
    gp_thread_init();
    gp_children_init();
    mark_process();
    pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}
