/* SPDX-License-Identifier: MIT */
/* log_softmax and the negative log-likelihood, row by row; formulas in engine/backend/backend.h. */
#ifndef AG_HOST_LOSS_H
#define AG_HOST_LOSS_H

#include <stdint.h>

void ag_host_log_softmax_forward(const float *x, int64_t rows, int64_t columns, float *y);
void ag_host_log_softmax_backward(const float *result, const float *grad_output, int64_t rows,
                                  int64_t columns, float *grad_input);
/* AG_OK, or AG_INVALID_ARGUMENT for a target that is no column */
int ag_host_nll_loss_forward(const float *x, const int64_t *target, int64_t rows, int64_t columns,
                             float *loss, float *total_weight);
void ag_host_nll_loss_backward(const float *grad_output, const int64_t *target, int64_t rows,
                               int64_t columns, float *grad_input);

#endif
