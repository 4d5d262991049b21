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

#endif
