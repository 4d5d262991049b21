/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/backend/host/parallel.h"
#include "engine/backend/host/pooling.h"

struct pooling_backward {
    const struct ag_pool2d *pool;
    const float *grad_output;
    const int64_t *indices;
    float *grad_input;
};

static void max_planes(int64_t begin, int64_t end, void *context)
{
    const struct pooling_backward *p = context;
    const int64_t in = p->pool->h_in * p->pool->w_in, out = p->pool->h_out * p->pool->w_out;

    for (int64_t plane = begin; plane < end; plane++) {
        const float *grad_output = p->grad_output + plane * out;
        const int64_t *indices = p->indices + plane * out;
        float *grad_input = p->grad_input + plane * in;

        memset(grad_input, 0, (size_t)in * sizeof(*grad_input));
        for (int64_t i = 0; i < out; i++)
            grad_input[indices[i]] += grad_output[i];
    }
}

void ag_host_max_pool2d_backward(const struct ag_pool2d *pool, const float *grad_output,
                                 const int64_t *indices, float *grad_input)
{
    struct pooling_backward job = {pool, grad_output, indices, grad_input};

    ag_parallel_for(pool->n * pool->c, 1, max_planes, &job);
}

struct share {
    int64_t begin, end;
};

static struct share share_of(int64_t i, int64_t in, int64_t out)
{
    return (struct share){i * in / out, ((i + 1) * in + out - 1) / out};
}

static void add_window(float *plane, int64_t width, struct share rows, struct share columns,
                       float value)
{
    for (int64_t h = rows.begin; h < rows.end; h++)
        for (int64_t w = columns.begin; w < columns.end; w++)
            plane[h * width + w] += value;
}

static void average_planes(int64_t begin, int64_t end, void *context)
{
    const struct pooling_backward *job = context;
    const struct ag_pool2d *p = job->pool;
    const int64_t in = p->h_in * p->w_in;

    for (int64_t plane = begin; plane < end; plane++) {
        const float *grad_output = job->grad_output + plane * p->h_out * p->w_out;
        float *grad_input = job->grad_input + plane * in;

        memset(grad_input, 0, (size_t)in * sizeof(*grad_input));
        for (int64_t i = 0; i < p->h_out; i++) {
            struct share rows = share_of(i, p->h_in, p->h_out);

            for (int64_t j = 0; j < p->w_out; j++) {
                struct share columns = share_of(j, p->w_in, p->w_out);
                int64_t elements = (rows.end - rows.begin) * (columns.end - columns.begin);

                add_window(grad_input, p->w_in, rows, columns, *grad_output++ / (float)elements);
            }
        }
    }
}

void ag_host_adaptive_avg_pool2d_backward(const struct ag_pool2d *pool, const float *grad_output,
                                          float *grad_input)
{
    struct pooling_backward job = {
        .pool = pool, .grad_output = grad_output, .grad_input = grad_input};

    ag_parallel_for(pool->n * pool->c, 1, average_planes, &job);
}
