/* SPDX-License-Identifier: MIT */
/* What the stand-in's tests share. Include it first: cmocka needs these headers before its own. */
#ifndef HOSTCUDA_TEST_H
#define HOSTCUDA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/hostcuda/hostcuda.h"
#include "engine/hostcuda/hostcuda_runtime.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static inline size_t free_bytes(void)
{
    size_t free, total;

    assert_int_equal(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
}

/* Bytes allocated on the current device. */
static inline size_t used_bytes(void)
{
    size_t free, total;

    assert_int_equal(cudaMemGetInfo(&free, &total), cudaSuccess);
    return total - free;
}

/* A test leaves nothing on the current device, no error behind, and device 0 current. */
static inline int nothing_left(void **state)
{
    size_t left = used_bytes();
    cudaError_t error = cudaGetLastError();

    (void)state;
    if (left)
        fprintf(stderr, "%zu bytes left on the device\n", left);
    if (error)
        fprintf(stderr, "error left: %s\n", cudaGetErrorName(error));
    return left || error || cudaSetDevice(0);
}

/* `call` returned `error`, and cudaGetLastError tells it once. */
#define assert_cuda_error(call, error)                                                             \
    do {                                                                                           \
        assert_int_equal(call, error);                                                             \
        assert_int_equal(cudaPeekAtLastError(), error);                                            \
        assert_int_equal(cudaGetLastError(), error);                                               \
        assert_int_equal(cudaGetLastError(), cudaSuccess);                                         \
    } while (0)

#define assert_cuda_ok(call) assert_int_equal(call, cudaSuccess)

#endif
