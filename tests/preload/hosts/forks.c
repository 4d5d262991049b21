/* SPDX-License-Identifier: MIT */
/*
 * Allocates, then forks: a silent child, a child that allocates, a child made behind the C library's
 * back that allocates, a vforked one that execs. Prints the ids of the children in that order.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/hosts/cuda.h"

static void use_device(size_t size_bytes)
{
    void *address;

    if (cudaMalloc(&address, size_bytes) != 0)
        _exit(9);
}

static pid_t fork_quiet(void)
{
    pid_t child = fork();

    if (child == 0)
        exit(0);
    return child;
}

static pid_t fork_user(void)
{
    pid_t child = fork();

    if (child == 0) {
        use_device(2222);
        exit(0);
    }
    return child;
}

static pid_t clone_user(void)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);

    if (child == 0) {
        use_device(3333);
        exit(0);
    }
    return child;
}

static pid_t vfork_exec(void)
{
    pid_t child = vfork();

    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(8);
    }
    return child;
}

int main(void)
{
    pid_t children[4];
    int status, bad = 0;

    use_device(1111);
    children[0] = fork_quiet();
    children[1] = fork_user();
    children[2] = clone_user();
    children[3] = vfork_exec();
    for (int i = 0; i < 4; i++) {
        waitpid(children[i], &status, 0);
        bad |= status;
        printf("%d\n", (int)children[i]);
    }
    use_device(4444);
    return bad != 0;
}
