/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/pooling.h"

#include <math.h>

#include "engine/backend/host/parallel.h"

/* Output columns done together; their best values and positions stay in the first-level cache. */
#define TILE 64

struct pooling {
    const struct ag_pool2d *pool;
    const float *input;
    float *output;
    int64_t *indices;
};

struct interval {
    int64_t begin, end;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Input rows or columns under output position `i`, clipped to the image. */
static struct interval window(int64_t i, int64_t stride, int64_t pad, int64_t kernel,
                              int64_t length)
{
    int64_t begin = i * stride - pad;

    return (struct interval){larger(begin, 0), smaller(begin + kernel, length)};
}

/* Best value and its position, for the output columns [first, first + count) of one row. */
struct tile {
    int64_t first, count;
    float best[TILE];
    int32_t column[TILE];
    int32_t row[TILE];
};

/* One row of input and one column of the kernel against a tile: output column j looks at input
 * column j * stride + shift. Called in the order of the input, so that > keeps the first of equals. */
static void scan(struct tile *tile, const float *row, int64_t stride, int64_t shift, int64_t width,
                 int32_t row_index)
{
    int64_t low = 0, high = tile->count;

    while (low < high && (tile->first + low) * stride + shift < 0)
        low++;
    while (high > low && (tile->first + high - 1) * stride + shift >= width)
        high--;
    for (int64_t j = low; j < high; j++) {
        int64_t column = (tile->first + j) * stride + shift;
        float value = row[column];
        int take = (value > tile->best[j]) | (value != value);
        tile->best[j] = take ? value : tile->best[j];
        tile->column[j] = take ? (int32_t)column : tile->column[j];
        tile->row[j] = take ? row_index : tile->row[j];
    }
}

static void max_tile(const struct ag_pool2d *p, const float *plane, struct tile *tile,
                     struct interval rows)
{
    for (int64_t j = 0; j < tile->count; j++) {
        tile->best[j] = -INFINITY;
        tile->row[j] = (int32_t)rows.begin;
        tile->column[j] = (int32_t)larger((tile->first + j) * p->stride_w - p->pad_w, 0);
    }
    for (int64_t h = rows.begin; h < rows.end; h++)
        for (int64_t k = 0; k < p->kernel_w; k++)
            scan(tile, plane + h * p->w_in, p->stride_w, k - p->pad_w, p->w_in, (int32_t)h);
}

static void max_plane(const struct ag_pool2d *p, const float *plane, float *output,
                      int64_t *indices)
{
    struct tile tile;

    for (int64_t i = 0; i < p->h_out; i++) {
        struct interval rows = window(i, p->stride_h, p->pad_h, p->kernel_h, p->h_in);
        for (tile.first = 0; tile.first < p->w_out; tile.first += TILE) {
            int64_t at = i * p->w_out + tile.first;
            tile.count = smaller(TILE, p->w_out - tile.first);
            max_tile(p, plane, &tile, rows);
            for (int64_t j = 0; j < tile.count; j++) {
                output[at + j] = tile.best[j];
                indices[at + j] = tile.row[j] * p->w_in + tile.column[j];
            }
        }
    }
}

static void max_planes(int64_t begin, int64_t end, void *context)
{
    const struct pooling *pooling = context;
    const struct ag_pool2d *p = pooling->pool;
    const int64_t in = p->h_in * p->w_in, out = p->h_out * p->w_out;

    for (int64_t i = begin; i < end; i++)
        max_plane(p, pooling->input + i * in, pooling->output + i * out,
                  pooling->indices + i * out);
}

void ag_host_max_pool2d_forward(const struct ag_pool2d *pool, const float *input, float *output,
                                int64_t *indices)
{
    struct pooling pooling = {pool, input, output, indices};

    ag_parallel_for(pool->n * pool->c, 1, max_planes, &pooling);
}

/* Input positions averaged into output position `i`. */
static struct interval share(int64_t i, int64_t in, int64_t out)
{
    return (struct interval){i * in / out, ((i + 1) * in + out - 1) / out};
}

static float average(const float *plane, int64_t width, struct interval rows,
                     struct interval columns)
{
    float sum = 0.0f;

    for (int64_t h = rows.begin; h < rows.end; h++)
        for (int64_t w = columns.begin; w < columns.end; w++)
            sum += plane[h * width + w];
    return sum / (float)((rows.end - rows.begin) * (columns.end - columns.begin));
}

static void average_planes(int64_t begin, int64_t end, void *context)
{
    const struct pooling *pooling = context;
    const struct ag_pool2d *p = pooling->pool;

    for (int64_t plane = begin; plane < end; plane++) {
        const float *input = pooling->input + plane * p->h_in * p->w_in;
        float *output = pooling->output + plane * p->h_out * p->w_out;
        for (int64_t i = 0; i < p->h_out; i++)
            for (int64_t j = 0; j < p->w_out; j++)
                *output++ = average(input, p->w_in, share(i, p->h_in, p->h_out),
                                    share(j, p->w_in, p->w_out));
    }
}

void ag_host_adaptive_avg_pool2d_forward(const struct ag_pool2d *pool, const float *input,
                                         float *output)
{
    struct pooling pooling = {.pool = pool, .input = input, .output = output};

    ag_parallel_for(pool->n * pool->c, 1, average_planes, &pooling);
}
