/* SPDX-License-Identifier: MIT */
/* Loops over elements. Operands may be the same array, but must not overlap otherwise. */
#ifndef AG_HOST_ELEMENTWISE_H
#define AG_HOST_ELEMENTWISE_H

#include <stdint.h>

void ag_host_fill(float *y, int64_t count, float value);
/* y = max(x, 0), NaN stays NaN */
void ag_host_relu_forward(const float *x, float *y, int64_t count);
/* c = alpha*a + beta*b; a count of 1 is broadcast */
void ag_host_add(const float *a, int64_t a_count, const float *b, int64_t b_count, float *c,
                 int64_t count, float alpha, float beta);
/* In the calling thread, in sixteen interleaved partial sums. */
float ag_host_sum(const float *x, int64_t count);
/* y[j] = sum over i of x[i, j] */
void ag_host_sum_rows(const float *x, int64_t rows, int64_t columns, float *y);
/* grad_input = result > 0 ? grad_output : 0, a NaN result passes the gradient */
void ag_host_relu_backward(const float *result, const float *grad_output, float *grad_input,
                           int64_t count);
/* grad_input = mask ? grad_output / (1 - p) : 0 */
void ag_host_dropout_backward(const float *grad_output, const uint8_t *mask, float *grad_input,
                              int64_t count, float p);

#endif
