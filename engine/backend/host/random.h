/* SPDX-License-Identifier: MIT */
/* Seeded random numbers: the same whatever the number of threads (engine/backend/philox.h). */
#ifndef AG_HOST_RANDOM_H
#define AG_HOST_RANDOM_H

#include <stdint.h>

void ag_host_random_uniform(float *y, int64_t count, float low, float high, uint64_t seed,
                            uint64_t offset);
void ag_host_random_normal(float *y, int64_t count, uint64_t seed, uint64_t offset);

/* mask[i] = 1 with probability 1-p; y = x / (1-p) there, else 0. y may be x. */
void ag_host_dropout_forward(const float *x, float *y, uint8_t *mask, int64_t count, float p,
                             uint64_t seed, uint64_t offset);

#endif
