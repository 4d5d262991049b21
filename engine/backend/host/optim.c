/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/optim.h"

#include <math.h>

#include "engine/backend/host/parallel.h"

#define GRAIN 16384

struct sgd {
    const float *grad;
    float *buffer, *parameter;
    float lr, momentum, weight_decay;
};

static void sgd_range(int64_t begin, int64_t end, void *context)
{
    const struct sgd *s = context;

    for (int64_t i = begin; i < end; i++)
        s->parameter[i] -= s->lr * (s->grad[i] + s->weight_decay * s->parameter[i]);
}

static void sgd_momentum_range(int64_t begin, int64_t end, void *context)
{
    const struct sgd *s = context;

    for (int64_t i = begin; i < end; i++) {
        float d = s->grad[i] + s->weight_decay * s->parameter[i];

        s->buffer[i] = s->momentum * s->buffer[i] + d;
        s->parameter[i] -= s->lr * s->buffer[i];
    }
}

void ag_host_sgd_step(const float *grad, float *buffer, int64_t count, float lr, float momentum,
                      float weight_decay, float *parameter)
{
    struct sgd sgd = {grad, buffer, parameter, lr, momentum, weight_decay};

    ag_parallel_for(count, GRAIN, buffer ? sgd_momentum_range : sgd_range, &sgd);
}

struct adam {
    const float *grad;
    float *exp_avg, *exp_avg_sq, *parameter;
    const struct ag_adam_rates *rates;
};

static void adam_range(int64_t begin, int64_t end, void *context)
{
    const struct adam *a = context;
    const struct ag_adam_rates r = *a->rates;

    for (int64_t i = begin; i < end; i++) {
        float d = a->grad[i] + r.weight_decay * a->parameter[i];

        a->exp_avg[i] = r.beta1 * a->exp_avg[i] + (1 - r.beta1) * d;
        a->exp_avg_sq[i] = r.beta2 * a->exp_avg_sq[i] + (1 - r.beta2) * d * d;
        a->parameter[i] -= r.step_size * a->exp_avg[i] / (sqrtf(a->exp_avg_sq[i]) / r.root + r.eps);
    }
}

void ag_host_adam_step(const float *grad, float *exp_avg, float *exp_avg_sq, int64_t count,
                       const struct ag_adam_rates *rates, float *parameter)
{
    struct adam adam = {grad, exp_avg, exp_avg_sq, parameter, rates};

    ag_parallel_for(count, GRAIN, adam_range, &adam);
}
