/* SPDX-License-Identifier: MIT */
/* What the engine's tests share. Include it first: cmocka needs these headers before its own. */
#ifndef ENGINE_TEST_H
#define ENGINE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ag/ag.h"
#include "engine/core/node.h"
#include "engine/core/value.h"

#define TEST_SKIPPED 77

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Open a context or fail the test. Capacity is never the point unless `memory_bytes` says so. */
static inline ag_context *open_context(const char *device, const char *compute, size_t memory_bytes)
{
    struct ag_options options = {.device = device,
                                 .compute = compute,
                                 .memory_bytes = memory_bytes ? memory_bytes : (size_t)64 << 30,
                                 .seed = 1};
    ag_context *context = NULL;

    if (ag_context_create(&options, &context) != AG_OK)
        fail_msg("%s", ag_error_text(NULL));
    return context;
}

/* Close it, and check that the test left nothing. */
static inline void close_context(ag_context *context)
{
    assert_int_equal(ag_live_bytes(context), 0);
    assert_int_equal(ag_live_nodes(context), 0);
    assert_int_equal(context->live_storages, 0);
    assert_int_equal(ag_context_destroy(context), 0);
}

/* No failure so far, or the test fails with its text. */
static inline void assert_fine(const ag_context *context)
{
    if (ag_error(context) != AG_OK)
        fail_msg("%s", ag_error_text(context));
}

/* The operation failed as a wrong argument, with `part` in its text; clears the error. */
static inline void assert_refused(ag_context *context, const ag_tensor *result, const char *part)
{
    assert_null(result);
    assert_int_equal(ag_error(context), AG_INVALID_ARGUMENT);
    if (!strstr(ag_error_text(context), part))
        fail_msg("\"%s\" is not in \"%s\"", part, ag_error_text(context));
    ag_clear_error(context);
}

#define SHAPE(...) ((int)COUNT(((int64_t[]){__VA_ARGS__}))), ((int64_t[]){__VA_ARGS__})

#endif
