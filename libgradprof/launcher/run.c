/* SPDX-License-Identifier: MIT */
/*
 * gradprof run: the library, once loaded, writes a byte into a pipe whose descriptor and inode it
 * finds in GRADPROF_LAUNCHER. When the byte has not come, the launcher says why, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libgradprof/launcher/launcher.h"

#define ANSWER_MS 5000 /* a program that takes longer to load is told of meanwhile */

static volatile pid_t child;
static struct sigaction interrupt_before, quit_before; /* what the command shall inherit */

/* --- the library ------------------------------------------------------------------------------------- */

static int find_library(char *ret_path, size_t size)
{
    /* beside us (also the build tree's libgradprof/), an installation's bin/ + lib/, the build tree */
    static const char *const places[] = {
        "libgradprof.so", "../libgradprof.so", "../lib/libgradprof.so",
        "../lib/x86_64-linux-gnu/libgradprof.so", "../lib64/libgradprof.so"};
    char self[PATH_MAX], candidate[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length <= 0)
        return -ENOENT;
    self[length] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char real[PATH_MAX];
        snprintf(candidate, sizeof(candidate), "%s/%s", self, places[i]);
        if (realpath(candidate, real) == NULL || strlen(real) >= size)
            continue;
        strcpy(ret_path, real);
        return 0;
    }
    fprintf(stderr, "gradprof: libgradprof.so is not in %s nor in %s/../lib; is it installed?\n",
            self, self);
    return -ENOENT;
}

static int set_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *value;
    int r;

    if (strpbrk(library, " :") != NULL) {
        fprintf(stderr,
                "gradprof: LD_PRELOAD cannot name %s: blanks and colons separate its entries\n",
                library);
        return -EINVAL;
    }
    if (before == NULL || *before == 0)
        return setenv("LD_PRELOAD", library, 1) == 0 ? 0 : -errno;
    if (asprintf(&value, "%s:%s", library, before) < 0)
        return -ENOMEM;
    r = setenv("LD_PRELOAD", value, 1) == 0 ? 0 : -errno;
    free(value);
    return r;
}

/* --- the child ----------------------------------------------------------------------------------------- */

static int announce_pipe(int fd)
{
    struct stat status;
    char value[64];

    if (fstat(fd, &status) != 0)
        return -errno;
    snprintf(value, sizeof(value), "%d:%llu", fd, (unsigned long long)status.st_ino);
    return setenv("GRADPROF_LAUNCHER", value, 1) == 0 ? 0 : -errno;
}

/* Only comes back to exit: the command could not be started. */
static void run_child(const char *path, char **command, int answer_fd)
{
    if (announce_pipe(answer_fd) == 0)
        execv(path, command);
    if (errno == ENOEXEC) /* a script without #!: execvp hands it to sh */
        execvp(path, command);
    fprintf(stderr, "gradprof: cannot run %s: %s\n", path, strerror(errno));
    _exit(GP_EXIT_NOT_EXECUTABLE);
}

static void forward(int number)
{
    if (child > 0)
        kill(child, number);
}

/* Signals of the terminal reach the command by themselves, being in its group; others are passed on. */
static void handle_signals(void)
{
    static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &ignore, &interrupt_before);
    sigaction(SIGQUIT, &ignore, &quit_before);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaction(passed_on[i], &action, NULL);
}

/* --- the answer ----------------------------------------------------------------------------------------- */

enum answer { LOADED, SILENT, ENDED };

static enum answer wait_for_answer(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    char byte;
    int r;

    do {
        r = poll(&poller, 1, ANSWER_MS);
    } while (r < 0 && errno == EINTR);
    if (r == 0)
        return SILENT;
    return read(fd, &byte, 1) == 1 ? LOADED : ENDED;
}

static void explain(const char *path)
{
    const char *obstacle = gp_program_obstacle(path);

    fprintf(stderr, "gradprof: the profiler was not loaded into %s: %s; nothing is recorded\n",
            path, obstacle != NULL ? obstacle : "it did not answer (does it change LD_PRELOAD?)");
}

/* Die of the same signal, so that a shell sees what it would have seen without us. */
static int pass_on(int status)
{
    struct rlimit no_core = {0, 0};
    sigset_t none;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &no_core); /* the command has left the one that matters */
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int wait_for_child(void)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return GP_EXIT_USAGE << 8;
    return status;
}

static int watch(const char *path, int answer_fd)
{
    enum answer answer = wait_for_answer(answer_fd);
    int status;

    if (answer == SILENT)
        explain(path);
    status = wait_for_child();
    if (answer == ENDED && !(WIFEXITED(status) && WEXITSTATUS(status) == GP_EXIT_NOT_EXECUTABLE))
        explain(path);
    return pass_on(status);
}

int gp_launcher_run(const char *database, char **command)
{
    char library[PATH_MAX], path[PATH_MAX];
    int ends[2], r;

    r = gp_program_find(command[0], path, sizeof(path));
    if (r != 0) {
        fprintf(stderr, "gradprof: cannot run %s: %s\n", command[0], strerror(-r));
        return r == -ENOENT ? GP_EXIT_NOT_FOUND : GP_EXIT_NOT_EXECUTABLE;
    }
    if (find_library(library, sizeof(library)) != 0 || set_preload(library) != 0)
        return GP_EXIT_USAGE;
    if (database != NULL)
        setenv("GRADPROF_DB", database, 1);
    if (pipe(ends) != 0)
        return GP_EXIT_USAGE;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    handle_signals();
    child = fork();
    if (child == 0) {
        sigaction(SIGINT, &interrupt_before, NULL);
        sigaction(SIGQUIT, &quit_before, NULL);
        run_child(path, command, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        fprintf(stderr, "gradprof: cannot start a process: %s\n", strerror(errno));
        return GP_EXIT_USAGE;
    }
    return watch(path, ends[0]);
}
