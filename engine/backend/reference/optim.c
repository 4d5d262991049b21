/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/backend/reference/maths.h"

int ref_sgd_step(struct ag_backend *backend, const float *grad, float *buffer, int64_t count,
                 float lr, float momentum, float weight_decay, float *parameter)
{
    for (int64_t i = 0; i < count; i++) {
        float d = grad[i] + weight_decay * parameter[i];

        if (buffer)
            d = buffer[i] = momentum * buffer[i] + d;
        parameter[i] -= lr * d;
    }
    return AG_OK;
}

int ref_adam_step(struct ag_backend *backend, const float *grad, float *exp_avg, float *exp_avg_sq,
                  int64_t count, const struct ag_adam_rates *rates, float *parameter)
{
    for (int64_t i = 0; i < count; i++) {
        float d = grad[i] + rates->weight_decay * parameter[i];

        exp_avg[i] = rates->beta1 * exp_avg[i] + (1 - rates->beta1) * d;
        exp_avg_sq[i] = rates->beta2 * exp_avg_sq[i] + (1 - rates->beta2) * d * d;
        parameter[i] -=
            rates->step_size * exp_avg[i] / (sqrtf(exp_avg_sq[i]) / rates->root + rates->eps);
    }
    return AG_OK;
}
