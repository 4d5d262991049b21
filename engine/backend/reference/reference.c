/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/backend/reference/maths.h"
#include "engine/backend/reference/memory.h"

struct reference {
    struct ag_backend base; /* first */
    struct ref_memory *memory;
};

static struct ref_memory *memory_of(struct ag_backend *backend)
{
    return ((struct reference *)backend)->memory;
}

static void ref_close(struct ag_backend *backend)
{
    ref_memory_destroy(memory_of(backend));
    free(backend);
}

static const char *ref_describe(struct ag_backend *backend)
{
    return "host stand-in, no GPU: reference loops, 1 thread";
}

static int ref_allocate(struct ag_backend *backend, size_t size_bytes, void **ret_address)
{
    return ref_memory_allocate(memory_of(backend), size_bytes, ret_address);
}

static void ref_free(struct ag_backend *backend, void *address)
{
    ref_memory_free(memory_of(backend), address);
}

static int ref_copy_in(struct ag_backend *backend, void *to, const void *from_host,
                       size_t size_bytes)
{
    return ref_memory_copy_in(memory_of(backend), to, from_host, size_bytes);
}

static int ref_copy_out(struct ag_backend *backend, void *to_host, const void *from,
                        size_t size_bytes)
{
    return ref_memory_copy_out(memory_of(backend), to_host, from, size_bytes);
}

static int ref_synchronize(struct ag_backend *backend)
{
    return ref_memory_synchronize(memory_of(backend));
}

static const struct ag_backend_ops reference_ops = {
    .name = "reference",
    .close = ref_close,
    .describe = ref_describe,
    .allocate = ref_allocate,
    .free = ref_free,
    .copy_in = ref_copy_in,
    .copy_out = ref_copy_out,
    .synchronize = ref_synchronize,
    .fill = ref_fill,
    .random_uniform = ref_random_uniform,
    .random_normal = ref_random_normal,
    .conv2d_forward = ref_conv2d_forward,
    .gemm = ref_gemm,
    .relu_forward = ref_relu_forward,
    .max_pool2d_forward = ref_max_pool2d_forward,
    .adaptive_avg_pool2d_forward = ref_adaptive_avg_pool2d_forward,
    .dropout_forward = ref_dropout_forward,
    .add = ref_add,
    .log_softmax_forward = ref_log_softmax_forward,
    .nll_loss_forward = ref_nll_loss_forward,
    .conv2d_backward_input = ref_conv2d_backward_input,
    .conv2d_backward_weight = ref_conv2d_backward_weight,
    .conv2d_backward_bias = ref_conv2d_backward_bias,
    .sum_rows = ref_sum_rows,
    .relu_backward = ref_relu_backward,
    .max_pool2d_backward = ref_max_pool2d_backward,
    .adaptive_avg_pool2d_backward = ref_adaptive_avg_pool2d_backward,
    .dropout_backward = ref_dropout_backward,
    .log_softmax_backward = ref_log_softmax_backward,
    .nll_loss_backward = ref_nll_loss_backward,
    .sgd_step = ref_sgd_step,
    .adam_step = ref_adam_step,
};

__attribute__((visibility("default"))) ag_backend_open_fn ag_backend_open;

int ag_backend_open(const struct ag_backend_config *config, struct ag_backend **ret_backend,
                    const char **ret_error)
{
    struct reference *reference = calloc(1, sizeof(*reference));
    int status;

    if (!reference) {
        *ret_error = "no host memory";
        return AG_OUT_OF_MEMORY;
    }
    status = ref_memory_create(config, &reference->memory, ret_error);
    if (status != AG_OK) {
        free(reference);
        return status;
    }
    reference->base.ops = &reference_ops;
    reference->base.config = *config;
    *ret_backend = &reference->base;
    return AG_OK;
}
