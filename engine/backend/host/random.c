/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/random.h"

#include <math.h>

#include "engine/backend/host/parallel.h"
#include "engine/backend/philox.h"

#define LANES 4     /* elements of a block */
#define GRAIN 16384 /* elements per thread below which a second thread does not pay */

struct draw {
    uint64_t seed, offset;
    const float *x;
    float *y;
    uint8_t *mask;
    float low, high;   /* uniform */
    float drop, scale; /* dropout */
};

/* The lanes of a block that serve a draw: `count` of them, from `first_lane` on. */
struct part {
    int first_lane, count;
    uint32_t words[LANES];
};

/* A part that begins at element `i`; it ends with the block, or at `end`. */
static void draw_part(const struct draw *draw, int64_t i, int64_t end, struct part *ret_part)
{
    uint64_t position = draw->offset + (uint64_t)i;

    ret_part->first_lane = (int)(position % LANES);
    ret_part->count = LANES - ret_part->first_lane;
    if (ret_part->count > end - i)
        ret_part->count = (int)(end - i);
    ag_philox_block(draw->seed, position / LANES, ret_part->words);
}

static void uniform_range(int64_t begin, int64_t end, void *context)
{
    const struct draw *draw = context;
    const double low = (double)draw->low, width = (double)draw->high - low;
    struct part part;

    for (int64_t i = begin; i < end; i += part.count) {
        draw_part(draw, i, end, &part);
        for (int j = 0; j < part.count; j++) {
            double unit = (double)ag_philox_unit(part.words[part.first_lane + j]);
            float value = (float)(low + unit * width);
            /* Rounding may reach the open end. */
            draw->y[i + j] = value < draw->high ? value : nextafterf(draw->high, draw->low);
        }
    }
}

void ag_host_random_uniform(float *y, int64_t count, float low, float high, uint64_t seed,
                            uint64_t offset)
{
    struct draw draw = {.seed = seed, .offset = offset, .y = y, .low = low, .high = high};

    ag_parallel_for(count, GRAIN, uniform_range, &draw);
}

/* Box-Muller, in double: the last bit does not depend on how the loop is compiled. */
static void normal_pair(const uint32_t words[2], float ret_values[2])
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2.0 * log((double)ag_philox_unit(words[0]) + 0x1p-24));
    double angle = two_pi * (double)ag_philox_unit(words[1]);
    double sine, cosine;

    sincos(angle, &sine, &cosine);
    ret_values[0] = (float)(radius * cosine);
    ret_values[1] = (float)(radius * sine);
}

static void normal_range(int64_t begin, int64_t end, void *context)
{
    const struct draw *draw = context;
    float values[LANES];
    struct part part;

    for (int64_t i = begin; i < end; i += part.count) {
        draw_part(draw, i, end, &part);
        normal_pair(&part.words[0], &values[0]);
        normal_pair(&part.words[2], &values[2]);
        for (int j = 0; j < part.count; j++)
            draw->y[i + j] = values[part.first_lane + j];
    }
}

void ag_host_random_normal(float *y, int64_t count, uint64_t seed, uint64_t offset)
{
    struct draw draw = {.seed = seed, .offset = offset, .y = y};

    ag_parallel_for(count, GRAIN, normal_range, &draw);
}

static void dropout_range(int64_t begin, int64_t end, void *context)
{
    const struct draw *draw = context;
    struct part part;

    for (int64_t i = begin; i < end; i += part.count) {
        draw_part(draw, i, end, &part);
        for (int j = 0; j < part.count; j++) {
            uint8_t keep = ag_philox_unit(part.words[part.first_lane + j]) >= draw->drop;
            draw->mask[i + j] = keep;
            draw->y[i + j] = keep ? draw->x[i + j] * draw->scale : 0.0f;
        }
    }
}

void ag_host_dropout_forward(const float *x, float *y, uint8_t *mask, int64_t count, float p,
                             uint64_t seed, uint64_t offset)
{
    struct draw draw = {.seed = seed, .offset = offset, .x = x, .y = y, .mask = mask};

    draw.drop = p;
    draw.scale = 1.0f / (1.0f - p); /* p = 1 keeps nothing */
    ag_parallel_for(count, GRAIN, dropout_range, &draw);
}
