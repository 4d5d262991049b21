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

#endif
