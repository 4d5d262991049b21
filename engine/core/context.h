/* SPDX-License-Identifier: MIT */
/*
 * The context: one device, one thread, one graph. It counts what is alive, draws from one stream of
 * random numbers, keeps the first failure, and knows which module, operation and tensor the engine is
 * working on, so that a refused allocation can be told by name.
 */
#ifndef AG_CONTEXT_H
#define AG_CONTEXT_H

#include "ag/ag.h"
#include "engine/backend/backend.h"

#define AG_MAX_SCOPES 24
#define AG_ERROR_BYTES 512

struct ag_node;

struct ag_scope {
    int kind; /* enum gradprof_scope_kind */
    const char *name;
};

struct ag_context {
    struct ag_backend *backend;
    void *plugin; /* dlopen handle the backend's code lives in */
    bool real;    /* arithmetic is done (--compute=real) */
    int no_grad_depth;

    uint64_t seed;
    uint64_t random_offset; /* numbers drawn so far, a multiple of 4 */

    /* live_bytes = sum of size_bytes over the storages alive; never more than peak_bytes */
    size_t live_bytes, peak_bytes;
    size_t live_storages, live_nodes, live_tensors;
    uint64_t nodes_made;

    struct ag_node *dead; /* nodes without references that wait for their deletion */
    bool sweeping;        /* ... which an outer call is at already */

    struct ag_scope scopes[AG_MAX_SCOPES]; /* [0] is the outermost */
    int scope_depth;

    enum ag_status error; /* the first since ag_clear_error */
    char error_text[AG_ERROR_BYTES];
};

/* Record a failure unless an earlier one is still there. NULL context: the failure of
 * ag_context_create, kept per thread. */
void ag_fail(ag_context *context, enum ag_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A backend call's result: true when it succeeded; else the failure is recorded. */
bool ag_done(ag_context *context, int status);

/* Names for the profiler and for messages; `name` must outlive the scope, a module's name also the graph
 * recorded in it (backward opens the scope again). NULL opens nothing, and
 * must be closed with ag_scope_pop(context, NULL). */
void ag_scope_push(ag_context *context, int kind, const char *name);
void ag_scope_pop(ag_context *context, const char *name);
/* The innermost open module's name; NULL: none. */
const char *ag_scope_module(const ag_context *context);
/* "the output of ConvolutionBackward0 (features.0)", from the open scopes */
void ag_scope_describe(const ag_context *context, const char *what, char *ret_text,
                       size_t text_bytes);

/* Take `count` numbers from the random stream: the offset to hand to the backend. */
uint64_t ag_random_take(ag_context *context, int64_t count);

/* 1234567 -> "1,234,567"; the result lies in `ret_text`, at least AG_COMMAS_BYTES long */
#define AG_COMMAS_BYTES 32
const char *ag_commas(uint64_t value, char *ret_text);

#endif
