/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/backend/reference/maths.h"

int ref_log_softmax_forward(struct ag_backend *backend, const float *x, int64_t rows,
                            int64_t columns, float *y)
{
    for (int64_t i = 0; i < rows; i++, x += columns, y += columns) {
        double largest = -INFINITY, sum = 0;

        for (int64_t j = 0; j < columns; j++)
            largest = fmax(largest, (double)x[j]);
        for (int64_t j = 0; j < columns; j++)
            sum += exp((double)x[j] - largest);
        for (int64_t j = 0; j < columns; j++)
            y[j] = (float)((double)x[j] - largest - log(sum));
    }
    return AG_OK;
}

int ref_log_softmax_backward(struct ag_backend *backend, const float *result,
                             const float *grad_output, int64_t rows, int64_t columns,
                             float *grad_input)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;

        for (int64_t j = 0; j < columns; j++)
            sum += (double)grad_output[i * columns + j];
        for (int64_t j = i * columns; j < (i + 1) * columns; j++)
            grad_input[j] = (float)((double)grad_output[j] - exp((double)result[j]) * sum);
    }
    return AG_OK;
}

int ref_nll_loss_forward(struct ag_backend *backend, const float *x, const int64_t *target,
                         int64_t rows, int64_t columns, float *loss, float *total_weight)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        if (target[i] < 0 || target[i] >= columns)
            return AG_INVALID_ARGUMENT;
        sum -= (double)x[i * columns + target[i]];
    }
    *loss = (float)(sum / (double)rows);
    *total_weight = (float)rows;
    return AG_OK;
}

int ref_nll_loss_backward(struct ag_backend *backend, const float *grad_output,
                          const int64_t *target, int64_t rows, int64_t columns, float *grad_input)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            grad_input[i * columns + j] =
                j == target[i] ? (float)(-(double)*grad_output / (double)rows) : 0.0f;
    return AG_OK;
}
