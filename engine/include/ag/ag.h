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
/* int64, e.g. the classes that ag_cross_entropy compares with */
ag_tensor *ag_from_ints(ag_context *context, int dims, const int64_t *shape, const int64_t *values);
/* The number in a float32 tensor of one element, as Python's .item(); 0 after a failure, and where the
 * arithmetic is skipped. */
float ag_item(const ag_tensor *tensor);

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

/*
 * Add the gradient of `loss` (one element) to the gradient of every leaf it depends on. Each node's
 * saved tensors are released as backward passes it, unless `retain_graph`: a second backward over a
 * node that needs them fails. So does one over a saved tensor that was changed in place since, e.g. a
 * parameter by an optimizer's step.
 */
enum ag_status ag_backward(ag_tensor *loss, bool retain_graph);
/* The gradient of a leaf: its own handle, borrowed, valid until ag_zero_grad; NULL: none so far. */
ag_tensor *ag_grad(const ag_tensor *leaf);
/* Back to none: the memory is given back, as PyTorch does since 2.0. */
void ag_zero_grad(ag_tensor *leaf);

/*
 * Run a part of a network without keeping its graph: only `input` is saved, and backward runs `run` a
 * second time, with the same random numbers, to have the graph of that part alone. As PyTorch's
 * reentrant checkpoint: nothing is recorded unless `input` requires a gradient. `run` returns a handle
 * that it owns; `data` must outlive the graph. [CheckpointFunctionBackward: input]
 */
typedef ag_tensor *ag_segment_fn(void *data, ag_tensor *input);
ag_tensor *ag_checkpoint(ag_segment_fn *run, void *data, ag_tensor *input);

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
/* [LogSoftmaxBackward0: result; NllLossBackward0: self, target, total_weight] the mean over n of
 * -log(softmax(logits)[i, target[i]]); logits [n, classes], target [n] of int64 */
ag_tensor *ag_cross_entropy(ag_tensor *logits, ag_tensor *target);
/* [MulBackward0] a * factor, a number on the host */
ag_tensor *ag_scale(ag_tensor *a, float factor);
/* A scalar that is no device tensor, as `y_sum = 0` in Python; usable in ag_add. */
ag_tensor *ag_scalar(ag_context *context, float value);

/* --- parameters and optimizers --- */

/* The parameter MODULE.WHICH, uniform within 1/sqrt(fan_in) as PyTorch initialises convolutions and
 * linear layers. Requires a gradient. `module` must outlive the graph. */
ag_tensor *ag_parameter(ag_context *context, const char *module, const char *which, int dims,
                        const int64_t *shape, int64_t fan_in);

typedef struct ag_optimizer ag_optimizer;

struct ag_sgd {
    float lr, momentum, weight_decay;
};

struct ag_adam {
    float lr, beta1, beta2, eps, weight_decay;
};

/* Both keep handles on the `count` parameters (the caller keeps its own). Their state appears at the
 * first step: a momentum buffer for each parameter (momentum > 0), or exp_avg and exp_avg_sq. Formulas:
 * docs/ENGINE.md. */
ag_optimizer *ag_sgd_create(ag_context *context, const struct ag_sgd *sgd, int count,
                            ag_tensor *const *parameters);
ag_optimizer *ag_adam_create(ag_context *context, const struct ag_adam *adam, int count,
                             ag_tensor *const *parameters);
void ag_optimizer_destroy(ag_optimizer *optimizer); /* accepts NULL */
/* Change every parameter that has a gradient, in place. */
enum ag_status ag_optimizer_step(ag_optimizer *optimizer);
void ag_optimizer_zero_grad(ag_optimizer *optimizer); /* ag_zero_grad on all of them */

/* --- AlexNet --- */

typedef struct ag_alexnet ag_alexnet;

/* torchvision's AlexNet, 1000 classes, weights drawn as PyTorch initialises them (Kaiming-uniform
 * with a = sqrt(5); biases uniform), named features.0.weight ... classifier.6.bias. */
ag_alexnet *ag_alexnet_create(ag_context *context);
void ag_alexnet_destroy(ag_alexnet *net);                     /* accepts NULL */
void ag_alexnet_train(ag_alexnet *net, bool training);        /* dropout on (the default) or off */
ag_tensor *ag_alexnet_forward(ag_alexnet *net, ag_tensor *x); /* x [n, 3, 224, 224] */
/* The 16 parameters in the order of the layers, weight before bias; borrowed. */
#define AG_ALEXNET_PARAMETERS 16
ag_tensor *ag_alexnet_parameter(const ag_alexnet *net, int index);
enum ag_status ag_alexnet_load(ag_alexnet *net, const char *path); /* raw format, docs/ENGINE.md */
enum ag_status ag_alexnet_save(const ag_alexnet *net, const char *path);

/* --- modules and steps (for the profiler and for messages; no effect on the engine) --- */

/* Operations in between belong to the module `name`, which must outlive their graph; pairs nest. */
void ag_module_begin(ag_context *context, const char *name);
void ag_module_end(ag_context *context, const char *name);

void ag_step_begin(ag_context *context, const char *label);
void ag_step_end(ag_context *context);

#endif
