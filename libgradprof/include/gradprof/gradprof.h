/* SPDX-License-Identifier: MIT */
/*
 * gradprof annotation API: tell the profiler which node, slot, variable, module and step the
 * device memory belongs to.
 *
 * One header, C99, nothing to link against. Every function below is a weak symbol: when
 * libgradprof.so is preloaded the call records one event (about 0.1 us; a new call stack or a new
 * name costs more, once); when it is not, the call is a load and a branch (about a nanosecond).
 * The weak symbols need a dynamically linked program: a PIE (every distribution's default) or a
 * shared library as it is, a non-PIE one (-no-pie) only if compiled with -fPIE or -fPIC. Otherwise,
 * and in a static executable, the calls are no-ops for ever.
 *
 * Rules that hold for every function:
 *   threads    may be called from any thread, without a lock of the caller's. Scopes and steps
 *              belong to the calling thread; everything else is process-wide.
 *   keys       `node`, `handle`: any pointer that is unique among the live objects of its kind
 *              (the object's own address). It is never dereferenced and may be reused after the
 *              destroy call.
 *   addresses  `address`: what the device allocator returned, or any address inside that
 *              allocation. It is never dereferenced. NULL means "no storage".
 *   strings    NUL-terminated, copied during the call, interned; the caller keeps ownership.
 *              Bytes beyond GRADPROF_NAME_MAX are cut. NULL means "no name".
 *   errors     none are returned: what cannot be recorded is dropped, counted, and told in the
 *              report. Unknown keys and unbalanced pops are counted too, never fatal.
 */
#ifndef GRADPROF_GRADPROF_H
#define GRADPROF_GRADPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. Functions are only ever added; a meaning never changes. */
#define GRADPROF_API_VERSION 1

/* Longest recorded name in bytes, terminating NUL not counted. */
#define GRADPROF_NAME_MAX 1000

#if defined(__GNUC__) || defined(__clang__)
#define GRADPROF_WEAK __attribute__((weak))
#else
#error "gradprof.h needs weak symbols (GCC or clang)"
#endif

/* What a storage is for. A storage has one role; the last call wins. */
enum gradprof_role {
    GRADPROF_ROLE_NONE = 0,            /* decided by who holds it */
    GRADPROF_ROLE_PARAMETER = 1,       /* a leaf that training changes */
    GRADPROF_ROLE_GRADIENT = 2,        /* .grad of a parameter */
    GRADPROF_ROLE_OPTIMIZER_STATE = 3, /* momentum, exp_avg, ... */
    GRADPROF_ROLE_INPUT = 4,           /* a batch fed to the model */
    GRADPROF_ROLE_WORKSPACE = 5,       /* scratch memory of a maths library */
    GRADPROF_ROLE_BUFFER = 6           /* model state that is no parameter (running mean, ...) */
};

/* What a scope names. Scopes nest; the path of open scopes is attached to each allocation, node and
 * refusal made inside, e.g. features.0 > ConvolutionBackward0 > output. */
enum gradprof_scope_kind {
    GRADPROF_SCOPE_MODULE = 1, /* a module of the model: "features.0" */
    GRADPROF_SCOPE_OP = 2,     /* an operation, by the name of its node: "ConvolutionBackward0" */
    GRADPROF_SCOPE_TENSOR = 3, /* what is being allocated: "output", "indices", "mask" */
    GRADPROF_SCOPE_PHASE = 4   /* anything else: "forward", "validation" */
};

/* --- graph --- */

/* A node (one recorded operation, e.g. "ConvolutionBackward0") now exists. */
GRADPROF_WEAK void gradprof_node_create(const void *node, const char *op);

/* `node`'s input number `slot` was produced by `input_node`: `node` keeps `input_node` alive. */
GRADPROF_WEAK void gradprof_node_input(const void *node, uint32_t slot, const void *input_node);

/* Backward is visiting `node` now. */
GRADPROF_WEAK void gradprof_node_backward(const void *node);

/* `node` is gone, with its edges and whatever slots are still saved. */
GRADPROF_WEAK void gradprof_node_destroy(const void *node);

/* `node` keeps the storage at `address` in the slot `slot` ("input", "weight", "result", ...) for its
 * backward. `source`: the node that produced the saved tensor, which a saved tensor keeps alive too;
 * NULL for a leaf or when nothing is kept. */
GRADPROF_WEAK void gradprof_save(const void *node, const char *slot, const void *address,
                                 const void *source);

/* `node` let go of the slot `slot`. */
GRADPROF_WEAK void gradprof_release(const void *node, const char *slot);

/* --- handles: tensors that the program itself holds --- */

/* The program now holds a tensor: its storage, and the node that produced it (NULL: none). The
 * calling stack becomes the handle's source line. `name`: the variable, or NULL for now. */
GRADPROF_WEAK void gradprof_handle_create(const void *handle, const char *name, const void *address,
                                          const void *node);

/* The handle is known by `name` from here on (assignment to a variable); the calling stack becomes
 * its source line. */
GRADPROF_WEAK void gradprof_handle_name(const void *handle, const char *name);

/* The handle's tensor is now the output of `node` (in-place operation) or of none (detach_). */
GRADPROF_WEAK void gradprof_handle_node(const void *handle, const void *node);

/* The program let go of the tensor. */
GRADPROF_WEAK void gradprof_handle_destroy(const void *handle);

/* --- storages --- */

/* The storage at `address` serves as `role`, under `name` ("features.0.weight"; NULL: unnamed). */
GRADPROF_WEAK void gradprof_storage_role(const void *address, enum gradprof_role role,
                                         const char *name);

/* An allocator of the program's own refused `asked_bytes` on `device` (-1: the host), which no
 * device call shows. `what`: the function or limit that refused ("--memory 8 GiB"). */
GRADPROF_WEAK void gradprof_refused(int device, size_t asked_bytes, const char *what);

/* --- scopes and steps --- */

/* Open a scope on this thread, and close the innermost one. */
GRADPROF_WEAK void gradprof_scope_push(enum gradprof_scope_kind kind, const char *name);
GRADPROF_WEAK void gradprof_scope_pop(void);

/* Open a step on this thread; steps nest, the enclosing one becomes the parent. Steps are numbered
 * from 1 in order of opening. `label`: shown beside the number, may be NULL. */
GRADPROF_WEAK void gradprof_step_begin(const char *label);

/* Close the innermost open step of this thread: it is a completed step. A step still open when the
 * process ends, or when an allocation was refused in it and it was never closed, is not completed. */
GRADPROF_WEAK void gradprof_step_end(void);

#ifdef __cplusplus
}
#endif

/*
 * Write the calls as plain calls: gradprof_step_begin("1"). These macros add the test for the
 * profiler's presence at the caller's own source line; the arguments are evaluated only when it is
 * there. Define GRADPROF_NO_MACROS to get at the bare weak functions.
 */
#ifndef GRADPROF_NO_MACROS
#define GRADPROF_CALL_(function, arguments) ((void)(function ? (function arguments, 0) : 0))
#define gradprof_node_create(node, op) GRADPROF_CALL_(gradprof_node_create, (node, op))
#define gradprof_node_input(node, slot, input_node)                                                \
    GRADPROF_CALL_(gradprof_node_input, (node, slot, input_node))
#define gradprof_node_backward(node) GRADPROF_CALL_(gradprof_node_backward, (node))
#define gradprof_node_destroy(node) GRADPROF_CALL_(gradprof_node_destroy, (node))
#define gradprof_save(node, slot, address, source)                                                 \
    GRADPROF_CALL_(gradprof_save, (node, slot, address, source))
#define gradprof_release(node, slot) GRADPROF_CALL_(gradprof_release, (node, slot))
#define gradprof_handle_create(handle, name, address, node)                                        \
    GRADPROF_CALL_(gradprof_handle_create, (handle, name, address, node))
#define gradprof_handle_name(handle, name) GRADPROF_CALL_(gradprof_handle_name, (handle, name))
#define gradprof_handle_node(handle, node) GRADPROF_CALL_(gradprof_handle_node, (handle, node))
#define gradprof_handle_destroy(handle) GRADPROF_CALL_(gradprof_handle_destroy, (handle))
#define gradprof_storage_role(address, role, name)                                                 \
    GRADPROF_CALL_(gradprof_storage_role, (address, role, name))
#define gradprof_refused(device, asked_bytes, what)                                                \
    GRADPROF_CALL_(gradprof_refused, (device, asked_bytes, what))
#define gradprof_scope_push(kind, name) GRADPROF_CALL_(gradprof_scope_push, (kind, name))
#define gradprof_scope_pop() GRADPROF_CALL_(gradprof_scope_pop, ())
#define gradprof_step_begin(label) GRADPROF_CALL_(gradprof_step_begin, (label))
#define gradprof_step_end() GRADPROF_CALL_(gradprof_step_end, ())
#endif

#endif
