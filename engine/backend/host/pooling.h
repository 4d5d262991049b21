/* SPDX-License-Identifier: MIT */
/* Pooling over the planes of an NCHW tensor. */
#ifndef AG_HOST_POOLING_H
#define AG_HOST_POOLING_H

#include <stdint.h>

#include "engine/backend/backend.h"

/* Ties: the first; of several NaN the last, as in PyTorch. Planes of up to 2^31 rows and columns. */
void ag_host_max_pool2d_forward(const struct ag_pool2d *pool, const float *input, float *output,
                                int64_t *indices);
void ag_host_adaptive_avg_pool2d_forward(const struct ag_pool2d *pool, const float *input,
                                         float *output);
void ag_host_max_pool2d_backward(const struct ag_pool2d *pool, const float *grad_output,
                                 const int64_t *indices, float *grad_input);
void ag_host_adaptive_avg_pool2d_backward(const struct ag_pool2d *pool, const float *grad_output,
                                          float *grad_input);

#endif
