/* SPDX-License-Identifier: MIT */
/* leave HOW: allocates 1000, frees 400 of it, and ends in the way named. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/preload/hosts/cuda.h"

static void *leave_from_thread(void *unused)
{
    exit(5);
}

static void free_at_exit(void)
{
    void *address;

    cudaMalloc(&address, 77); /* after exit handlers have begun */
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    void *kept, *freed;
    pthread_t thread;

    if (strcmp(how, "handler") == 0)
        atexit(free_at_exit);
    cudaMalloc(&kept, 600);
    cudaMalloc(&freed, 400);
    cudaFree(freed);
    if (strcmp(how, "_exit") == 0)
        _exit(5);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit 5", NULL);
    if (strcmp(how, "thread") == 0) {
        pthread_create(&thread, NULL, leave_from_thread, NULL);
        pause();
    }
    return 5;
}
