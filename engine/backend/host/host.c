/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/host/elementwise.h"
#include "engine/backend/host/loss.h"
#include "engine/backend/host/optim.h"
#include "engine/backend/host/parallel.h"
#include "engine/backend/host/pooling.h"
#include "engine/backend/host/random.h"
#include "engine/hostcuda/hostcuda.h"

__attribute__((visibility("default"))) ag_backend_open_fn ag_backend_open;

static const struct ag_backend_ops host_ops;

static struct ag_host *host_from(struct ag_backend *backend)
{
    return (struct ag_host *)backend;
}

static bool skips(const struct ag_backend *backend)
{
    return backend->config.compute == AG_COMPUTE_SKIP;
}

/* The runtime's last error is cleared: it is told to the caller here, and to nobody else later. */
static int status_of(cudaError_t error)
{
    if (error == cudaSuccess)
        return AG_OK;
    cudaGetLastError();
    return error == cudaErrorMemoryAllocation ? AG_OUT_OF_MEMORY : AG_DEVICE_ERROR;
}

/* --- memory ----------------------------------------------------------------------------------- */

int ag_host_allocate(struct ag_host *host, size_t size_bytes, void **ret_address)
{
    return status_of(
        host->pool ? cudaMallocFromPoolAsync(ret_address, size_bytes, host->pool, host->stream)
                   : cudaMalloc(ret_address, size_bytes));
}

void ag_host_free(struct ag_host *host, void *address)
{
    if (!address)
        return;
    status_of(host->pool ? cudaFreeAsync(address, host->stream) : cudaFree(address));
}

static int allocate(struct ag_backend *backend, size_t size_bytes, void **ret_address)
{
    return ag_host_allocate(host_from(backend), size_bytes, ret_address);
}

static void release(struct ag_backend *backend, void *address)
{
    ag_host_free(host_from(backend), address);
}

static int copy_in(struct ag_backend *backend, void *to, const void *from_host, size_t size_bytes)
{
    struct ag_host *host = host_from(backend);

    if (skips(backend))
        return AG_OK;
    return status_of(
        cudaMemcpyAsync(to, from_host, size_bytes, cudaMemcpyHostToDevice, host->stream));
}

/* Without arithmetic every tensor reads as zeros: what was never touched is not read either. */
static int copy_out(struct ag_backend *backend, void *to_host, const void *from, size_t size_bytes)
{
    struct ag_host *host = host_from(backend);

    if (skips(backend)) {
        memset(to_host, 0, size_bytes);
        return AG_OK;
    }
    int status =
        status_of(cudaMemcpyAsync(to_host, from, size_bytes, cudaMemcpyDeviceToHost, host->stream));
    return status ? status : status_of(cudaStreamSynchronize(host->stream));
}

static int synchronize(struct ag_backend *backend)
{
    return status_of(cudaStreamSynchronize(host_from(backend)->stream));
}

/* --- operations: nothing to do in skip mode, else the file that does it ------------------------- */

static int fill(struct ag_backend *backend, float *y, int64_t count, float value)
{
    if (!skips(backend))
        ag_host_fill(y, count, value);
    return AG_OK;
}

static int random_uniform(struct ag_backend *backend, float *y, int64_t count, float low,
                          float high, uint64_t seed, uint64_t offset)
{
    if (!skips(backend))
        ag_host_random_uniform(y, count, low, high, seed, offset);
    return AG_OK;
}

static int random_normal(struct ag_backend *backend, float *y, int64_t count, uint64_t seed,
                         uint64_t offset)
{
    if (!skips(backend))
        ag_host_random_normal(y, count, seed, offset);
    return AG_OK;
}

static int conv2d_forward(struct ag_backend *backend, const struct ag_conv2d *conv,
                          const float *input, const float *weight, const float *bias, float *output)
{
    if (skips(backend))
        return AG_OK;
    return ag_host_conv2d_forward(host_from(backend), conv, input, weight, bias, output);
}

static int gemm(struct ag_backend *backend, const struct ag_gemm *shape, const float *a,
                const float *b, const float *bias, float *c)
{
    return skips(backend) ? AG_OK : ag_host_gemm(host_from(backend), shape, a, b, bias, c);
}

static int relu_forward(struct ag_backend *backend, const float *x, float *y, int64_t count)
{
    if (!skips(backend))
        ag_host_relu_forward(x, y, count);
    return AG_OK;
}

static int max_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                              const float *input, float *output, int64_t *indices)
{
    if (!skips(backend))
        ag_host_max_pool2d_forward(pool, input, output, indices);
    return AG_OK;
}

static int adaptive_avg_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                       const float *input, float *output)
{
    if (!skips(backend))
        ag_host_adaptive_avg_pool2d_forward(pool, input, output);
    return AG_OK;
}

static int dropout_forward(struct ag_backend *backend, const float *x, float *y, uint8_t *mask,
                           int64_t count, float p, uint64_t seed, uint64_t offset)
{
    if (!skips(backend))
        ag_host_dropout_forward(x, y, mask, count, p, seed, offset);
    return AG_OK;
}

static int add(struct ag_backend *backend, const float *a, int64_t a_count, const float *b,
               int64_t b_count, float *c, int64_t count, float alpha, float beta)
{
    if (!skips(backend))
        ag_host_add(a, a_count, b, b_count, c, count, alpha, beta);
    return AG_OK;
}

static int log_softmax_forward(struct ag_backend *backend, const float *x, int64_t rows,
                               int64_t columns, float *y)
{
    if (!skips(backend))
        ag_host_log_softmax_forward(x, rows, columns, y);
    return AG_OK;
}

static int nll_loss_forward(struct ag_backend *backend, const float *x, const int64_t *target,
                            int64_t rows, int64_t columns, float *loss, float *total_weight)
{
    return skips(backend) ? AG_OK
                          : ag_host_nll_loss_forward(x, target, rows, columns, loss, total_weight);
}

static int conv2d_backward_input(struct ag_backend *backend, const struct ag_conv2d *conv,
                                 const float *grad_output, const float *weight, float *grad_input)
{
    return skips(backend) ? AG_OK
                          : ag_host_conv2d_backward_input(host_from(backend), conv, grad_output,
                                                          weight, grad_input);
}

static int conv2d_backward_weight(struct ag_backend *backend, const struct ag_conv2d *conv,
                                  const float *input, const float *grad_output, float *grad_weight)
{
    return skips(backend) ? AG_OK
                          : ag_host_conv2d_backward_weight(host_from(backend), conv, input,
                                                           grad_output, grad_weight);
}

static int conv2d_backward_bias(struct ag_backend *backend, const struct ag_conv2d *conv,
                                const float *grad_output, float *grad_bias)
{
    if (!skips(backend))
        ag_host_conv2d_backward_bias(conv, grad_output, grad_bias);
    return AG_OK;
}

static int sum_rows(struct ag_backend *backend, const float *x, int64_t rows, int64_t columns,
                    float *y)
{
    if (skips(backend))
        return AG_OK;
    if (columns == 1)
        *y = ag_host_sum(x, rows);
    else
        ag_host_sum_rows(x, rows, columns, y);
    return AG_OK;
}

static int relu_backward(struct ag_backend *backend, const float *result, const float *grad_output,
                         float *grad_input, int64_t count)
{
    if (!skips(backend))
        ag_host_relu_backward(result, grad_output, grad_input, count);
    return AG_OK;
}

static int max_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                               const float *grad_output, const int64_t *indices, float *grad_input)
{
    if (!skips(backend))
        ag_host_max_pool2d_backward(pool, grad_output, indices, grad_input);
    return AG_OK;
}

static int adaptive_avg_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                        const float *grad_output, float *grad_input)
{
    if (!skips(backend))
        ag_host_adaptive_avg_pool2d_backward(pool, grad_output, grad_input);
    return AG_OK;
}

static int dropout_backward(struct ag_backend *backend, const float *grad_output,
                            const uint8_t *mask, float *grad_input, int64_t count, float p)
{
    if (!skips(backend))
        ag_host_dropout_backward(grad_output, mask, grad_input, count, p);
    return AG_OK;
}

static int log_softmax_backward(struct ag_backend *backend, const float *result,
                                const float *grad_output, int64_t rows, int64_t columns,
                                float *grad_input)
{
    if (!skips(backend))
        ag_host_log_softmax_backward(result, grad_output, rows, columns, grad_input);
    return AG_OK;
}

static int nll_loss_backward(struct ag_backend *backend, const float *grad_output,
                             const int64_t *target, int64_t rows, int64_t columns,
                             float *grad_input)
{
    if (!skips(backend))
        ag_host_nll_loss_backward(grad_output, target, rows, columns, grad_input);
    return AG_OK;
}

static int sgd_step(struct ag_backend *backend, const float *grad, float *buffer, int64_t count,
                    float lr, float momentum, float weight_decay, float *parameter)
{
    if (!skips(backend))
        ag_host_sgd_step(grad, buffer, count, lr, momentum, weight_decay, parameter);
    return AG_OK;
}

static int adam_step(struct ag_backend *backend, const float *grad, float *exp_avg,
                     float *exp_avg_sq, int64_t count, const struct ag_adam_rates *rates,
                     float *parameter)
{
    if (!skips(backend))
        ag_host_adam_step(grad, exp_avg, exp_avg_sq, count, rates, parameter);
    return AG_OK;
}

/* --- the plugin ---------------------------------------------------------------------------------- */

static const char *describe(struct ag_backend *backend)
{
    return host_from(backend)->description;
}

/* Accepts a backend of which only a part was made. */
static void close_backend(struct ag_backend *backend)
{
    struct ag_host *host = host_from(backend);

    ag_host_conv_plans_destroy(host->conv_plans);
    ag_host_gemm_plans_destroy(host->gemm_plans);
    ag_onednn_finish(&host->onednn);
    if (host->pool)
        cudaMemPoolDestroy(host->pool);
    if (host->stream)
        cudaStreamDestroy(host->stream);
    free(host);
}

static cudaError_t create_pool(const struct ag_backend_config *config, cudaMemPool_t *ret_pool)
{
    const struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {cudaMemLocationTypeDevice, config->device},
        .maxSize = config->memory_bytes,
    };

    return cudaMemPoolCreate(ret_pool, &props);
}

/* The stand-in's capacity is a setting: a program that asks for more than it has gets it. */
static cudaError_t make_room(const struct ag_backend_config *config)
{
    size_t free_bytes, total_bytes;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);

    if (!error && config->memory_bytes > total_bytes)
        error = (cudaError_t)hostcudaSetMemory(config->device, config->memory_bytes);
    return error;
}

static void write_description(struct ag_host *host)
{
    struct cudaDeviceProp prop = {.name = "host"};
    char version[32];

    cudaGetDeviceProperties(&prop, host->base.config.device);
    ag_onednn_version(version, sizeof(version));
    snprintf(host->description, sizeof(host->description), "%.64s: %s, %d threads, %.2f GB memory",
             prop.name, version, ag_parallel_threads(),
             (double)prop.totalGlobalMem / (double)(1 << 30));
}

/* NULL, or what is missing. */
static const char *init(struct ag_host *host)
{
    const struct ag_backend_config *config = &host->base.config;

    if (make_room(config))
        return "host: the device does not tell its memory";
    if (cudaStreamCreateWithFlags(&host->stream, cudaStreamNonBlocking))
        return "host: no stream on the device";
    if (config->allocator == AG_ALLOCATOR_ASYNC && create_pool(config, &host->pool))
        return "host: no memory pool on the device";
    ag_parallel_set_threads(config->threads);
    if (ag_onednn_init(&host->onednn))
        return "host: oneDNN does not start on this processor";
    write_description(host);
    return NULL;
}

int ag_backend_open(const struct ag_backend_config *config, struct ag_backend **ret_backend,
                    const char **ret_error)
{
    if (cudaSetDevice(config->device)) {
        cudaGetLastError();
        *ret_error = "host: no such device (HOSTCUDA_DEVICES sets how many there are)";
        return AG_UNAVAILABLE;
    }
    struct ag_host *host = calloc(1, sizeof(*host));
    if (!host) {
        *ret_error = "host: out of host memory";
        return AG_OUT_OF_MEMORY;
    }
    host->base.ops = &host_ops;
    host->base.config = *config;
    const char *error = init(host);
    if (error) {
        cudaGetLastError();
        close_backend(&host->base);
        *ret_error = error;
        return AG_DEVICE_ERROR;
    }
    *ret_backend = &host->base;
    return AG_OK;
}

static const struct ag_backend_ops host_ops = {
    .name = "host",
    .close = close_backend,
    .describe = describe,
    .allocate = allocate,
    .free = release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .synchronize = synchronize,
    .fill = fill,
    .random_uniform = random_uniform,
    .random_normal = random_normal,
    .conv2d_forward = conv2d_forward,
    .gemm = gemm,
    .relu_forward = relu_forward,
    .max_pool2d_forward = max_pool2d_forward,
    .adaptive_avg_pool2d_forward = adaptive_avg_pool2d_forward,
    .dropout_forward = dropout_forward,
    .add = add,
    .log_softmax_forward = log_softmax_forward,
    .nll_loss_forward = nll_loss_forward,
    .conv2d_backward_input = conv2d_backward_input,
    .conv2d_backward_weight = conv2d_backward_weight,
    .conv2d_backward_bias = conv2d_backward_bias,
    .sum_rows = sum_rows,
    .relu_backward = relu_backward,
    .max_pool2d_backward = max_pool2d_backward,
    .adaptive_avg_pool2d_backward = adaptive_avg_pool2d_backward,
    .dropout_backward = dropout_backward,
    .log_softmax_backward = log_softmax_backward,
    .nll_loss_backward = nll_loss_backward,
    .sgd_step = sgd_step,
    .adam_step = adam_step,
};
