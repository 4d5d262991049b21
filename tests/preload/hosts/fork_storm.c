/* SPDX-License-Identifier: MIT */
/*
 * fork_storm CHILDREN: two threads allocate without end, while the main thread forks children that
 * allocate, each on a thread of its own too, and exit. Prints the children's ids.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/hosts/cuda.h"

static atomic_int stop;

static void *churn(void *unused)
{
    while (!atomic_load(&stop)) {
        void *address;
        cudaMalloc(&address, 512);
        cudaFree(address);
    }
    return NULL;
}

static void *use_device(void *unused)
{
    void *address;

    cudaMalloc(&address, 100);
    return NULL;
}

static void be_a_child(void)
{
    pthread_t thread;

    alarm(30);
    use_device(NULL);
    pthread_create(&thread, NULL, use_device, NULL);
    pthread_join(thread, NULL);
    exit(0);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int status, bad = 0;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < atoi(argv[1]); i++) {
        pid_t child = fork();
        if (child == 0)
            be_a_child();
        waitpid(child, &status, 0);
        bad |= status;
        printf("%d\n", (int)child);
        fflush(stdout); /* a child would print it again */
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return bad != 0;
}
