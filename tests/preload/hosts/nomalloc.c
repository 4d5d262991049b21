/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of malloc and its like by this thread while hooks run warm: there must be none. The
 * counting malloc also enters a hook itself, which must neither recurse nor hang (alarm).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gradprof/gradprof.h>

#include "tests/preload/hosts/cuda.h"

extern void *__libc_malloc(size_t size_bytes);
extern void *__libc_calloc(size_t count, size_t size_bytes);
extern void *__libc_realloc(void *pointer, size_t size_bytes);
extern void __libc_free(void *pointer);

static _Thread_local unsigned long calls;
static _Thread_local int watched, inside;

static void enter_hook(void)
{
    void *address;

    calls++;
    if (!watched || inside)
        return;
    inside = 1;
    cudaMalloc(&address, 64);
    cudaFree(address);
    inside = 0;
}

void *malloc(size_t size_bytes)
{
    enter_hook();
    return __libc_malloc(size_bytes);
}

void *calloc(size_t count, size_t size_bytes)
{
    enter_hook();
    return __libc_calloc(count, size_bytes);
}

void *realloc(void *pointer, size_t size_bytes)
{
    enter_hook();
    return __libc_realloc(pointer, size_bytes);
}

void free(void *pointer)
{
    __libc_free(pointer);
}

__attribute__((noinline)) static void work(int rounds)
{
    void *address;
    int node;

    for (int i = 0; i < rounds; i++) {
        gradprof_scope_push(GRADPROF_SCOPE_OP, "Op");
        cudaMalloc(&address, 1024);
        gradprof_node_create(&node, "OpBackward0");
        gradprof_save(&node, "self", address, NULL);
        gradprof_node_destroy(&node);
        gradprof_scope_pop();
        cudaFree(address);
    }
}

int main(void)
{
    unsigned long before;

    alarm(60);
    watched = 1;
    work(1); /* the first event starts the recording: malloc enters the hook meanwhile */
    work(100);
    before = calls;
    work(100000);
    printf("%lu\n", calls - before);
    return 0;
}
