/* SPDX-License-Identifier: MIT */
/*
 * ag: a small reverse-mode autograd engine whose graph mirrors PyTorch's node for node.
 *
 *   storage   reference-counted device bytes
 *   tensor    shape + dtype + storage (+ the node that produced it); float32 unless said otherwise
 *   node      one recorded operation: its edges to the nodes of its inputs and its saved tensors
 *   handle    every `ag_tensor *` the program holds. ag_release drops it; what the graph still needs
 *             stays alive, and that is what a memory profiler is for
 *
 * Failure. A function that makes a tensor returns NULL when it fails, and passes NULL inputs through
 * (NULL in, NULL out), so that a chain of calls needs one check at its end; ag_error() then tells
 * the first failure and ag_error_text() explains it in one line. Nothing made on the way leaks.
 *
 * Ownership. A returned tensor belongs to the caller. Inputs are borrowed, never consumed.
 *
 * Threads: one context, one thread.
 */
#ifndef AG_AG_H
#define AG_AG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ag/status.h"

#define AG_MAX_DIMS 4

enum ag_dtype { AG_FLOAT32 = 0, AG_INT64 = 1, AG_BOOL = 2 };

typedef struct ag_context ag_context;
typedef struct ag_tensor ag_tensor;

/* --- context --- */

struct ag_options {
    const char *device;    /* "auto", "cuda", "cuda:1", "host", "reference" */
    const char *compute;   /* "real", "skip" */
    const char *allocator; /* "async", "malloc" */
    size_t memory_bytes;   /* device memory to live within; 0: what the device has */
    uint64_t seed;
    int threads; /* host backends; 0: all cores */
};

/* AG_UNAVAILABLE, AG_INVALID_ARGUMENT or AG_DEVICE_ERROR with ag_error_text(NULL). */
enum ag_status ag_context_create(const struct ag_options *options, ag_context **ret_context);
/* Accepts NULL. Tensors still alive are a mistake of the caller: their number is returned, and the
 * context stays, so that they can still be released. 0: the context is gone. */
size_t ag_context_destroy(ag_context *context);
const char *ag_device_text(const ag_context *context); /* one line, owned by the context */

enum ag_status ag_error(const ag_context *context); /* first failure since ag_clear_error */
const char *ag_error_text(const ag_context *context);
void ag_clear_error(ag_context *context);

size_t ag_live_bytes(const ag_context *context); /* in tensors: every storage alive */
size_t ag_peak_bytes(const ag_context *context); /* ... its highest value so far */
size_t ag_live_nodes(const ag_context *context);

/* --- tensors --- */

ag_tensor *ag_zeros(ag_context *context, int dims, const int64_t *shape);
ag_tensor *ag_randn(ag_context *context, int dims, const int64_t *shape); /* seeded stream */
ag_tensor *ag_from_floats(ag_context *context, int dims, const int64_t *shape, const float *values);
enum ag_status ag_to_floats(const ag_tensor *tensor, float *ret_values);

/* Another handle on the same tensor. */
ag_tensor *ag_retain(ag_tensor *tensor);
/* Drop a handle; accepts NULL. */
void ag_release(ag_tensor *tensor);

/* Assign to a variable: the old value is released after the new one exists, as `y = ...` does in
 * Python, and the profiler learns the variable's name and this line. */
#define ag_assign(variable, value) ag_assign_to(&(variable), #variable, (value))
void ag_assign_to(ag_tensor **variable, const char *name, ag_tensor *value);

int ag_dims(const ag_tensor *tensor);
int64_t ag_size(const ag_tensor *tensor, int dim);
int64_t ag_count(const ag_tensor *tensor);
bool ag_requires_grad(const ag_tensor *tensor);
void ag_set_requires_grad(ag_tensor *tensor, bool requires_grad); /* leaves only */
void ag_set_role_input(ag_tensor *tensor, const char *name);

/* --- graph --- */

/* The same storage without history. */
ag_tensor *ag_detach(ag_tensor *tensor);
/* No nodes are recorded in between; pairs nest. */
void ag_no_grad_begin(ag_context *context);
void ag_no_grad_end(ag_context *context);

/* --- operations (PyTorch's name of the node in brackets) --- */

/* [ConvolutionBackward0: input, weight] input [n, c_in, h, w], weight [c_out, c_in, kh, kw] */
ag_tensor *ag_conv2d(ag_tensor *input, ag_tensor *weight, ag_tensor *bias, int64_t stride,
                     int64_t padding);
/* [TBackward0, AddmmBackward0: mat1, mat2] input [n, in], weight [out, in], bias [out] */
ag_tensor *ag_linear(ag_tensor *input, ag_tensor *weight, ag_tensor *bias);
/* [ReluBackward0: result] in place: returns a new handle on `input`'s own storage */
ag_tensor *ag_relu_(ag_tensor *input);
/* [MaxPool2DWithIndicesBackward0: self, result1] */
ag_tensor *ag_max_pool2d(ag_tensor *input, int64_t kernel, int64_t stride, int64_t padding);
/* [AdaptiveAvgPool2DBackward0: self] */
ag_tensor *ag_adaptive_avg_pool2d(ag_tensor *input, int64_t height, int64_t width);
/* [ViewBackward0] same storage; [n, c, h, w] -> [n, c*h*w] */
ag_tensor *ag_flatten(ag_tensor *input);
/* [NativeDropoutBackward0: result1] identity in evaluation mode */
ag_tensor *ag_dropout(ag_tensor *input, float p, bool training);
/* [AddBackward0] a + b; a one-element operand is broadcast */
ag_tensor *ag_add(ag_tensor *a, ag_tensor *b);
/* A scalar that is no device tensor, as `y_sum = 0` in Python; usable in ag_add. */
ag_tensor *ag_scalar(ag_context *context, float value);

/* --- AlexNet --- */

typedef struct ag_alexnet ag_alexnet;

/* torchvision's AlexNet, 1000 classes, weights drawn as PyTorch initialises them (Kaiming-uniform
 * with a = sqrt(5); biases uniform), named features.0.weight ... classifier.6.bias. */
ag_alexnet *ag_alexnet_create(ag_context *context);
void ag_alexnet_destroy(ag_alexnet *net);                     /* accepts NULL */
void ag_alexnet_train(ag_alexnet *net, bool training);        /* dropout on (the default) or off */
ag_tensor *ag_alexnet_forward(ag_alexnet *net, ag_tensor *x); /* x [n, 3, 224, 224] */
enum ag_status ag_alexnet_load(ag_alexnet *net, const char *path); /* raw format, docs/ENGINE.md */
enum ag_status ag_alexnet_save(const ag_alexnet *net, const char *path);

/* --- steps (for the profiler; no effect on the engine) --- */

void ag_step_begin(ag_context *context, const char *label);
void ag_step_end(ag_context *context);

#endif
