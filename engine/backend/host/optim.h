/* SPDX-License-Identifier: MIT */
/* One step of an optimizer over one parameter; formulas in engine/backend/backend.h. */
#ifndef AG_HOST_OPTIM_H
#define AG_HOST_OPTIM_H

#include "engine/backend/backend.h"

/* `buffer` may be NULL: no momentum */
void ag_host_sgd_step(const float *grad, float *buffer, int64_t count, float lr, float momentum,
                      float weight_decay, float *parameter);
void ag_host_adam_step(const float *grad, float *exp_avg, float *exp_avg_sq, int64_t count,
                       const struct ag_adam_rates *rates, float *parameter);

#endif
