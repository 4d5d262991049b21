/* SPDX-License-Identifier: MIT */
/*
 * What a device must do for the engine. A backend is a plugin (ag_backend_host.so,
 * ag_backend_cuda.so) that links its runtime (libhostcuda, libcudart) and calls it through the PLT,
 * so that a preloaded profiler sees every allocation. The engine only dlopens the plugin and calls
 * `ag_backend_open`.
 *
 * Conventions, for every function of `struct ag_backend_ops`:
 *   results   0 or an enum ag_status; output arguments are untouched on failure
 *   streams   work is ordered on one stream per backend; functions may return before the work is
 *             done. `free` is stream-ordered: legal while queued work still uses the memory.
 *             `synchronize` waits for everything.
 *   tensors   contiguous, row-major, NCHW; sizes in elements unless the name says bytes
 *   memory    `void *` are device addresses of this backend; the host may not touch them (it happens
 *             to be able to on the host backend; only copy_in/copy_out are portable)
 *   scratch   what an operation needs for itself it allocates by `allocate` inside a scope named
 *             "workspace" with role workspace, and frees before it returns
 *   threads   one caller at a time per backend
 */
#ifndef AG_BACKEND_H
#define AG_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "ag/status.h"

enum ag_compute {
    AG_COMPUTE_REAL = 0,
    AG_COMPUTE_SKIP = 1 /* shapes, allocations and graph only: no arithmetic, no page touched */
};

enum ag_allocator {
    AG_ALLOCATOR_ASYNC = 0, /* cudaMallocFromPoolAsync, pool capped by cudaMemPoolProps.maxSize */
    AG_ALLOCATOR_MALLOC =
        1 /* cudaMalloc; the cap is checked by the engine and told to the profiler */
};

struct ag_backend_config {
    int device;          /* ordinal */
    size_t memory_bytes; /* cap on live bytes, 0: the device's own capacity */
    enum ag_allocator allocator;
    enum ag_compute compute;
    int threads; /* 0: all cores (host backends) */
};

struct ag_conv2d {
    int64_t n, c_in, h_in, w_in;
    int64_t c_out, h_out, w_out;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

struct ag_pool2d {
    int64_t n, c, h_in, w_in, h_out, w_out;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

/* c[m, n] = op(a)[m, k] * op(b)[k, n] + bias[n] (bias may be NULL); op = transpose when trans_x */
struct ag_gemm {
    int64_t m, n, k;
    int trans_a, trans_b;
};

struct ag_adam_rates {
    float beta1, beta2, eps, weight_decay;
    float step_size, root;
};

struct ag_backend;

struct ag_backend_ops {
    const char *name; /* "host", "reference", "cuda" */

    void (*close)(struct ag_backend *backend); /* frees the backend; all tensors must be gone */
    /* e.g. "host stand-in, no GPU: oneDNN 2.6.3, 2 threads"; valid while the backend is open */
    const char *(*describe)(struct ag_backend *backend);

    int (*allocate)(struct ag_backend *backend, size_t size_bytes, void **ret_address);
    void (*free)(struct ag_backend *backend, void *address);
    int (*copy_in)(struct ag_backend *backend, void *to, const void *from_host, size_t size_bytes);
    int (*copy_out)(struct ag_backend *backend, void *to_host, const void *from, size_t size_bytes);
    int (*synchronize)(struct ag_backend *backend);

    /* y[i] = value */
    int (*fill)(struct ag_backend *backend, float *y, int64_t count, float value);
    /* y[i] uniform in [low, high); depends on seed, offset and i only, not on the thread count */
    int (*random_uniform)(struct ag_backend *backend, float *y, int64_t count, float low,
                          float high, uint64_t seed, uint64_t offset);
    /* y[i] standard normal; same rule */
    int (*random_normal)(struct ag_backend *backend, float *y, int64_t count, uint64_t seed,
                         uint64_t offset);

    /* output[n, c_out, h_out, w_out] = cross-correlation(input, weight) + bias */
    int (*conv2d_forward)(struct ag_backend *backend, const struct ag_conv2d *conv,
                          const float *input, const float *weight, const float *bias,
                          float *output);
    int (*gemm)(struct ag_backend *backend, const struct ag_gemm *gemm, const float *a,
                const float *b, const float *bias, float *c);
    /* y = max(x, 0); y may be x. NaN stays NaN, as in PyTorch */
    int (*relu_forward)(struct ag_backend *backend, const float *x, float *y, int64_t count);
    /* indices: flat position h * w_in + w of the maximum inside its (n, c) plane, the first one at a
     * tie; NaN wins */
    int (*max_pool2d_forward)(struct ag_backend *backend, const struct ag_pool2d *pool,
                              const float *input, float *output, int64_t *indices);
    /* window of output (i, j): rows floor(i*h_in/h_out) .. ceil((i+1)*h_in/h_out), columns likewise */
    int (*adaptive_avg_pool2d_forward)(struct ag_backend *backend, const struct ag_pool2d *pool,
                                       const float *input, float *output);
    /* mask[i] = 1 with probability 1-p; y[i] = x[i] * mask[i] / (1-p) */
    int (*dropout_forward)(struct ag_backend *backend, const float *x, float *y, uint8_t *mask,
                           int64_t count, float p, uint64_t seed, uint64_t offset);
    /* c[i] = alpha*a[i] + beta*b[i]; c may be a or b; a scalar operand (count 1) is broadcast */
    int (*add)(struct ag_backend *backend, const float *a, int64_t a_count, const float *b,
               int64_t b_count, float *c, int64_t count, float alpha, float beta);
    /* y[i, j] = x[i, j] - log(sum over j of exp(x[i, j])), per row of `columns` */
    int (*log_softmax_forward)(struct ag_backend *backend, const float *x, int64_t rows,
                               int64_t columns, float *y);
    /* *loss = -(1/rows) sum of x[i, target[i]]; *total_weight = rows. AG_INVALID_ARGUMENT for a target
     * outside [0, columns), where the backend can see it. */
    int (*nll_loss_forward)(struct ag_backend *backend, const float *x, const int64_t *target,
                            int64_t rows, int64_t columns, float *loss, float *total_weight);

    /* --- backward: what the name's forward computes is y = f(x); these give dL/dx from dL/dy --- */

    int (*conv2d_backward_input)(struct ag_backend *backend, const struct ag_conv2d *conv,
                                 const float *grad_output, const float *weight, float *grad_input);
    int (*conv2d_backward_weight)(struct ag_backend *backend, const struct ag_conv2d *conv,
                                  const float *input, const float *grad_output, float *grad_weight);
    /* grad_bias[c] = sum of grad_output[n, c, h, w] */
    int (*conv2d_backward_bias)(struct ag_backend *backend, const struct ag_conv2d *conv,
                                const float *grad_output, float *grad_bias);
    /* y[j] = sum over i of x[i, j] */
    int (*sum_rows)(struct ag_backend *backend, const float *x, int64_t rows, int64_t columns,
                    float *y);
    /* Of the next three that work element by element, grad_input may be grad_output. */
    /* grad_input[i] = result[i] > 0 ? grad_output[i] : 0 (a NaN result passes the gradient) */
    int (*relu_backward)(struct ag_backend *backend, const float *result, const float *grad_output,
                         float *grad_input, int64_t count);
    int (*max_pool2d_backward)(struct ag_backend *backend, const struct ag_pool2d *pool,
                               const float *grad_output, const int64_t *indices, float *grad_input);
    int (*adaptive_avg_pool2d_backward)(struct ag_backend *backend, const struct ag_pool2d *pool,
                                        const float *grad_output, float *grad_input);
    int (*dropout_backward)(struct ag_backend *backend, const float *grad_output,
                            const uint8_t *mask, float *grad_input, int64_t count, float p);
    /* grad_input[i, j] = grad_output[i, j] - exp(result[i, j]) * sum over j of grad_output[i, j] */
    int (*log_softmax_backward)(struct ag_backend *backend, const float *result,
                                const float *grad_output, int64_t rows, int64_t columns,
                                float *grad_input);
    /* grad_input[i, j] = j == target[i] ? -*grad_output / rows : 0 */
    int (*nll_loss_backward)(struct ag_backend *backend, const float *grad_output,
                             const int64_t *target, int64_t rows, int64_t columns,
                             float *grad_input);

    /* --- optimizers: PyTorch's formulas, in place --- */

    /* d = grad + weight_decay * parameter; buffer = momentum * buffer + d (NULL: none, d itself);
     * parameter -= lr * buffer */
    int (*sgd_step)(struct ag_backend *backend, const float *grad, float *buffer, int64_t count,
                    float lr, float momentum, float weight_decay, float *parameter);
    /* d = grad + weight_decay * parameter; exp_avg = beta1 * exp_avg + (1 - beta1) * d;
     * exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * d^2;
     * parameter -= step_size * exp_avg / (sqrt(exp_avg_sq) / root + eps)
     * where step_size = lr / (1 - beta1^t), root = sqrt(1 - beta2^t) */
    int (*adam_step)(struct ag_backend *backend, const float *grad, float *exp_avg,
                     float *exp_avg_sq, int64_t count, const struct ag_adam_rates *rates,
                     float *parameter);
};

/* The first member of every backend object. */
struct ag_backend {
    const struct ag_backend_ops *ops;
    struct ag_backend_config config;
};

/* Exported by each plugin. On failure *ret_error is a static or thread-local one-line text. */
typedef int ag_backend_open_fn(const struct ag_backend_config *config,
                               struct ag_backend **ret_backend, const char **ret_error);

#endif
