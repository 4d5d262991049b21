/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "engine/backend/reference/maths.h"

/* Position in `plane` of the largest element under the window at (h, w): the first at a tie; a NaN is
 * larger than anything, the last NaN wins. Padding takes no part. */
static int64_t largest(const struct ag_pool2d *pool, const float *plane, int64_t h, int64_t w)
{
    int64_t best = -1;

    for (int64_t kh = 0; kh < pool->kernel_h; kh++) {
        for (int64_t kw = 0; kw < pool->kernel_w; kw++) {
            int64_t y = h * pool->stride_h - pool->pad_h + kh;
            int64_t x = w * pool->stride_w - pool->pad_w + kw;
            int64_t at = y * pool->w_in + x;

            if (y < 0 || y >= pool->h_in || x < 0 || x >= pool->w_in)
                continue;
            if (best < 0 || plane[at] > plane[best] || isnan(plane[at]))
                best = at;
        }
    }
    return best;
}

int ref_max_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                           const float *input, float *output, int64_t *indices)
{
    for (int64_t plane = 0; plane < pool->n * pool->c; plane++) {
        const float *in = input + plane * pool->h_in * pool->w_in;

        for (int64_t h = 0; h < pool->h_out; h++) {
            for (int64_t w = 0; w < pool->w_out; w++) {
                int64_t to = (plane * pool->h_out + h) * pool->w_out + w;
                int64_t at = largest(pool, in, h, w);

                indices[to] = at;
                output[to] = in[at];
            }
        }
    }
    return AG_OK;
}

/* Mean of rows h0 .. h1 and columns w0 .. w1 (ends excluded). */
static double mean(const struct ag_pool2d *pool, const float *plane, int64_t h0, int64_t h1,
                   int64_t w0, int64_t w1)
{
    double sum = 0;

    for (int64_t h = h0; h < h1; h++)
        for (int64_t w = w0; w < w1; w++)
            sum += (double)plane[h * pool->w_in + w];
    return sum / (double)((h1 - h0) * (w1 - w0));
}

static int64_t window_begin(int64_t i, int64_t in, int64_t out)
{
    return i * in / out;
}

static int64_t window_end(int64_t i, int64_t in, int64_t out)
{
    return ((i + 1) * in + out - 1) / out;
}

int ref_adaptive_avg_pool2d_forward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                    const float *input, float *output)
{
    for (int64_t plane = 0; plane < pool->n * pool->c; plane++)
        for (int64_t h = 0; h < pool->h_out; h++)
            for (int64_t w = 0; w < pool->w_out; w++)
                output[(plane * pool->h_out + h) * pool->w_out + w] =
                    (float)mean(pool, input + plane * pool->h_in * pool->w_in,
                                window_begin(h, pool->h_in, pool->h_out),
                                window_end(h, pool->h_in, pool->h_out),
                                window_begin(w, pool->w_in, pool->w_out),
                                window_end(w, pool->w_in, pool->w_out));
    return AG_OK;
}

int ref_max_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                            const float *grad_output, const int64_t *indices, float *grad_input)
{
    int64_t in = pool->h_in * pool->w_in, out = pool->h_out * pool->w_out;

    for (int64_t plane = 0; plane < pool->n * pool->c; plane++) {
        for (int64_t i = 0; i < in; i++) {
            double sum = 0; /* over the windows whose maximum this was */

            for (int64_t o = plane * out; o < (plane + 1) * out; o++)
                if (indices[o] == i)
                    sum += (double)grad_output[o];
            grad_input[plane * in + i] = (float)sum;
        }
    }
    return AG_OK;
}

/* Over the windows that input row `h` and column `w` of one plane belongs to. */
static double average_sum(const struct ag_pool2d *pool, const float *grad, int64_t h, int64_t w)
{
    double sum = 0;

    for (int64_t i = 0; i < pool->h_out; i++) {
        int64_t h0 = window_begin(i, pool->h_in, pool->h_out);
        int64_t h1 = window_end(i, pool->h_in, pool->h_out);

        for (int64_t j = 0; j < pool->w_out; j++) {
            int64_t w0 = window_begin(j, pool->w_in, pool->w_out);
            int64_t w1 = window_end(j, pool->w_in, pool->w_out);

            if (h >= h0 && h < h1 && w >= w0 && w < w1)
                sum += (double)grad[i * pool->w_out + j] / (double)((h1 - h0) * (w1 - w0));
        }
    }
    return sum;
}

int ref_adaptive_avg_pool2d_backward(struct ag_backend *backend, const struct ag_pool2d *pool,
                                     const float *grad_output, float *grad_input)
{
    for (int64_t plane = 0; plane < pool->n * pool->c; plane++)
        for (int64_t h = 0; h < pool->h_in; h++)
            for (int64_t w = 0; w < pool->w_in; w++)
                *grad_input++ =
                    (float)average_sum(pool, grad_output + plane * pool->h_out * pool->w_out, h, w);
    return AG_OK;
}
