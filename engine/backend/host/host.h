/* SPDX-License-Identifier: MIT */
/*
 * The host backend: device memory from libhostcuda, convolutions and matrix products by oneDNN, the
 * rest in plain loops. Everything is done when a call returns.
 *
 *   host.c         the plugin: open, close, memory, the table of operations
 *   onednn.c       errors, memory descriptions and execution of oneDNN primitives
 *   conv.c gemm.c  the operations that oneDNN does, with their caches of primitives (conv_plan.c)
 *   workspace.c    scratch memory, told to the profiler as such
 *   elementwise.c pooling.c pooling_backward.c random.c loss.c optim.c   loops
 *   parallel.c     the thread pool
 */
#ifndef AG_HOST_H
#define AG_HOST_H

#include "engine/backend/backend.h"
#include "engine/backend/host/onednn.h"
#include "engine/hostcuda/hostcuda_runtime.h"

struct ag_conv_plan;
struct ag_gemm_plan;

struct ag_host {
    struct ag_backend base; /* first */
    cudaStream_t stream;
    cudaMemPool_t pool; /* AG_ALLOCATOR_ASYNC; else NULL */
    struct ag_onednn onednn;
    struct ag_conv_plan *conv_plans; /* lists, newest first; as many as there were shapes */
    struct ag_gemm_plan *gemm_plans;
    char description[160];
};

/* The backend's own allocator; AG_OK, AG_OUT_OF_MEMORY or AG_DEVICE_ERROR. */
int ag_host_allocate(struct ag_host *host, size_t size_bytes, void **ret_address);
void ag_host_free(struct ag_host *host, void *address);

int ag_host_conv2d_forward(struct ag_host *host, const struct ag_conv2d *conv, const float *input,
                           const float *weight, const float *bias, float *output);
int ag_host_conv2d_backward_input(struct ag_host *host, const struct ag_conv2d *conv,
                                  const float *grad_output, const float *weight, float *grad_input);
int ag_host_conv2d_backward_weight(struct ag_host *host, const struct ag_conv2d *conv,
                                   const float *input, const float *grad_output,
                                   float *grad_weight);
void ag_host_conv2d_backward_bias(const struct ag_conv2d *conv, const float *grad_output,
                                  float *grad_bias);
void ag_host_conv_plans_destroy(struct ag_conv_plan *plans);

int ag_host_gemm(struct ag_host *host, const struct ag_gemm *gemm, const float *a, const float *b,
                 const float *bias, float *c);
void ag_host_gemm_plans_destroy(struct ag_gemm_plan *plans);

#endif
