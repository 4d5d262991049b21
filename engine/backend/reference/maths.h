/* SPDX-License-Identifier: MIT */
/*
 * The definition of correct: each operation written as its formula, one thread, sums in double. Other
 * backends are tested against it. What each function does is said in backend.h.
 */
#ifndef AG_REFERENCE_MATHS_H
#define AG_REFERENCE_MATHS_H

#include "engine/backend/backend.h"

int ref_fill(struct ag_backend *backend, float *y, int64_t count, float value);
int ref_random_uniform(struct ag_backend *backend, float *y, int64_t count, float low, float high,
                       uint64_t seed, uint64_t offset);
int ref_random_normal(struct ag_backend *backend, float *y, int64_t count, uint64_t seed,
                      uint64_t offset);
int ref_conv2d_forward(struct ag_backend *backend, const struct ag_conv2d *conv, const float *input,
                       const float *weight, const float *bias, float *output);
int ref_gemm(struct ag_backend *backend, const struct ag_gemm *gemm, const float *a, const float *b,
             const float *bias, float *c);
int ref_relu_forward(struct ag_backend *backend, const float *x, float *y, int64_t count);
int ref_max_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                           const float *input, float *output, int64_t *indices);
int ref_adaptive_avg_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                    const float *input, float *output);
int ref_dropout_forward(struct ag_backend *backend, const float *x, float *y, uint8_t *mask,
                        int64_t count, float p, uint64_t seed, uint64_t offset);
int ref_add(struct ag_backend *backend, const float *a, int64_t a_count, const float *b,
            int64_t b_count, float *c, int64_t count, float alpha, float beta);
int ref_log_softmax_forward(struct ag_backend *backend, const float *x, int64_t rows,
                            int64_t columns, float *y);
int ref_nll_loss_forward(struct ag_backend *backend, const float *x, const int64_t *target,
                         int64_t rows, int64_t columns, float *loss, float *total_weight);
int ref_conv2d_backward_input(struct ag_backend *backend, const struct ag_conv2d *conv,
                              const float *grad_output, const float *weight, float *grad_input);
int ref_conv2d_backward_weight(struct ag_backend *backend, const struct ag_conv2d *conv,
                               const float *input, const float *grad_output, float *grad_weight);
int ref_conv2d_backward_bias(struct ag_backend *backend, const struct ag_conv2d *conv,
                             const float *grad_output, float *grad_bias);
int ref_sum_rows(struct ag_backend *backend, const float *x, int64_t rows, int64_t columns,
                 float *y);
int ref_relu_backward(struct ag_backend *backend, const float *result, const float *grad_output,
                      float *grad_input, int64_t count);
int ref_max_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                            const float *grad_output, const int64_t *indices, float *grad_input);
int ref_adaptive_avg_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                     const float *grad_output, float *grad_input);
int ref_dropout_backward(struct ag_backend *backend, const float *grad_output, const uint8_t *mask,
                         float *grad_input, int64_t count, float p);
int ref_log_softmax_backward(struct ag_backend *backend, const float *result,
                             const float *grad_output, int64_t rows, int64_t columns,
                             float *grad_input);
int ref_nll_loss_backward(struct ag_backend *backend, const float *grad_output,
                          const int64_t *target, int64_t rows, int64_t columns, float *grad_input);
int ref_sgd_step(struct ag_backend *backend, const float *grad, float *buffer, int64_t count,
                 float lr, float momentum, float weight_decay, float *parameter);
int ref_adam_step(struct ag_backend *backend, const float *grad, float *exp_avg, float *exp_avg_sq,
                  int64_t count, const struct ag_adam_rates *rates, float *parameter);

#endif
