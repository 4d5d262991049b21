/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/backend/philox.h"
#include "engine/backend/reference/maths.h"

static uint32_t word_at(uint64_t seed, uint64_t position)
{
    uint32_t words[4];

    ag_philox_block(seed, position / 4, words);
    return words[position % 4];
}

int ref_random_uniform(struct ag_backend *backend, float *y, int64_t count, float low, float high,
                       uint64_t seed, uint64_t offset)
{
    for (int64_t i = 0; i < count; i++) {
        double unit = (double)ag_philox_unit(word_at(seed, offset + (uint64_t)i));
        float value = (float)((double)low + unit * ((double)high - (double)low));

        y[i] = value < high ? value : nextafterf(high, low); /* rounding may reach the open end */
    }
    return AG_OK;
}

int ref_random_normal(struct ag_backend *backend, float *y, int64_t count, uint64_t seed,
                      uint64_t offset)
{
    const double two_pi = 6.283185307179586;

    for (int64_t i = 0; i < count; i++) {
        uint64_t position = offset + (uint64_t)i, even = position & ~1ull;
        double u = (double)ag_philox_unit(word_at(seed, even)) + 0x1p-24;
        double r = sqrt(-2.0 * log(u));
        double t = two_pi * (double)ag_philox_unit(word_at(seed, even + 1));

        y[i] = (float)(position == even ? r * cos(t) : r * sin(t));
    }
    return AG_OK;
}

int ref_dropout_backward(struct ag_backend *backend, const float *grad_output, const uint8_t *mask,
                         float *grad_input, int64_t count, float p)
{
    float scale = 1.0f / (1.0f - p);

    for (int64_t i = 0; i < count; i++)
        grad_input[i] = mask[i] ? grad_output[i] * scale : 0.0f;
    return AG_OK;
}

int ref_dropout_forward(struct ag_backend *backend, const float *x, float *y, uint8_t *mask,
                        int64_t count, float p, uint64_t seed, uint64_t offset)
{
    float scale = 1.0f / (1.0f - p);

    for (int64_t i = 0; i < count; i++) {
        mask[i] = ag_philox_unit(word_at(seed, offset + (uint64_t)i)) >= p;
        y[i] = mask[i] ? x[i] * scale : 0.0f;
    }
    return AG_OK;
}
