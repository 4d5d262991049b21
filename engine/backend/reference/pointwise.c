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

int ref_add(struct ag_backend *backend, const float *a, int64_t a_count, const float *b,
            int64_t b_count, float *c, int64_t count, float alpha, float beta)
{
    for (int64_t i = 0; i < count; i++)
        c[i] = alpha * a[a_count == 1 ? 0 : i] + beta * b[b_count == 1 ? 0 : i];
    return AG_OK;
}
