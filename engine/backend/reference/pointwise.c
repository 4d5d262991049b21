/* SPDX-License-Identifier: MIT */
#include "engine/backend/reference/maths.h"

int ref_fill(struct ag_backend *backend, float *y, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = value;
    return AG_OK;
}

int ref_relu_forward(struct ag_backend *backend, const float *x, float *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] <= 0.0f ? 0.0f : x[i]; /* NaN compares false and stays */
    return AG_OK;
}

int ref_relu_backward(struct ag_backend *backend, const float *result, const float *grad_output,
                      float *grad_input, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        grad_input[i] = result[i] <= 0.0f ? 0.0f : grad_output[i];
    return AG_OK;
}

int ref_sum_rows(struct ag_backend *backend, const float *x, int64_t rows, int64_t columns,
                 float *y)
{
    for (int64_t j = 0; j < columns; j++) {
        double sum = 0;

        for (int64_t i = 0; i < rows; i++)
            sum += (double)x[i * columns + j];
        y[j] = (float)sum;
    }
    return AG_OK;
}

int ref_add(struct ag_backend *backend, const float *a, int64_t a_count, const float *b,
            int64_t b_count, float *c, int64_t count, float alpha, float beta)
{
    for (int64_t i = 0; i < count; i++)
        c[i] = alpha * a[a_count == 1 ? 0 : i] + beta * b[b_count == 1 ? 0 : i];
    return AG_OK;
}
