/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/elementwise.h"

#include "engine/backend/host/parallel.h"

/* Elements per thread below which a second thread costs more than it saves. */
#define GRAIN 16384

struct fill {
    float *y, value;
};

static void fill_range(int64_t begin, int64_t end, void *context)
{
    const struct fill *fill = context;

    for (int64_t i = begin; i < end; i++)
        fill->y[i] = fill->value;
}

void ag_host_fill(float *y, int64_t count, float value)
{
    struct fill fill = {y, value};

    ag_parallel_for(count, GRAIN, fill_range, &fill);
}

struct unary {
    const float *x;
    float *y;
};

static void relu_range(int64_t begin, int64_t end, void *context)
{
    const struct unary *unary = context;
    const float *x = unary->x;
    float *y = unary->y;

    /* Written so that a NaN, which compares false, is kept. */
    for (int64_t i = begin; i < end; i++)
        y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

void ag_host_relu_forward(const float *x, float *y, int64_t count)
{
    struct unary unary = {x, y};

    ag_parallel_for(count, GRAIN, relu_range, &unary);
}

/* A NULL operand is a broadcast scalar, whose product is in its place. */
struct add {
    const float *a, *b;
    float *c, alpha, beta;
    float scalar_a, scalar_b;
};

static void add_range(int64_t begin, int64_t end, void *context)
{
    const struct add *add = context;

    for (int64_t i = begin; i < end; i++)
        add->c[i] = add->alpha * add->a[i] + add->beta * add->b[i];
}

static void add_broadcast_range(int64_t begin, int64_t end, void *context)
{
    const struct add *add = context;

    for (int64_t i = begin; i < end; i++)
        add->c[i] = (add->a ? add->alpha * add->a[i] : add->scalar_a) +
                    (add->b ? add->beta * add->b[i] : add->scalar_b);
}

void ag_host_add(const float *a, int64_t a_count, const float *b, int64_t b_count, float *c,
                 int64_t count, float alpha, float beta)
{
    struct add add = {.c = c, .alpha = alpha, .beta = beta};

    /* Scalars are read before anything is written: c may be a scalar's own array. */
    if (a_count == count)
        add.a = a;
    else
        add.scalar_a = alpha * a[0];
    if (b_count == count)
        add.b = b;
    else
        add.scalar_b = beta * b[0];
    ag_parallel_for(count, GRAIN, add.a && add.b ? add_range : add_broadcast_range, &add);
}

#define LANES 16 /* float32 in the widest vectors there are */

float ag_host_sum(const float *x, int64_t count)
{
    float lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (int j = 0; j < LANES; j++)
            lanes[j] += x[i + j];
    for (; i < count; i++)
        sum += x[i];
    for (int j = 0; j < LANES; j++)
        sum += lanes[j];
    return sum;
}

#define COLUMNS 64 /* summed together: their sums stay in the first-level cache */

struct row_sum {
    const float *x;
    float *y;
    int64_t rows, columns;
};

static void sum_rows_range(int64_t begin, int64_t end, void *context)
{
    const struct row_sum *s = context;

    for (int64_t first = begin; first < end; first += COLUMNS) {
        int64_t count = end - first < COLUMNS ? end - first : COLUMNS;
        double sums[COLUMNS] = {0};

        for (int64_t i = 0; i < s->rows; i++)
            for (int64_t j = 0; j < count; j++)
                sums[j] += (double)s->x[i * s->columns + first + j];
        for (int64_t j = 0; j < count; j++)
            s->y[first + j] = (float)sums[j];
    }
}

void ag_host_sum_rows(const float *x, int64_t rows, int64_t columns, float *y)
{
    struct row_sum sum = {x, y, rows, columns};

    ag_parallel_for(columns, COLUMNS, sum_rows_range, &sum);
}

struct gate {
    const float *result, *grad_output;
    const uint8_t *mask;
    float *grad_input, scale;
};

static void relu_backward_range(int64_t begin, int64_t end, void *context)
{
    const struct gate *gate = context;

    for (int64_t i = begin; i < end; i++)
        gate->grad_input[i] = gate->result[i] <= 0.0f ? 0.0f : gate->grad_output[i];
}

void ag_host_relu_backward(const float *result, const float *grad_output, float *grad_input,
                           int64_t count)
{
    struct gate gate = {.result = result, .grad_output = grad_output, .grad_input = grad_input};

    ag_parallel_for(count, GRAIN, relu_backward_range, &gate);
}

static void dropout_backward_range(int64_t begin, int64_t end, void *context)
{
    const struct gate *gate = context;

    for (int64_t i = begin; i < end; i++)
        gate->grad_input[i] = gate->mask[i] ? gate->grad_output[i] * gate->scale : 0.0f;
}

void ag_host_dropout_backward(const float *grad_output, const uint8_t *mask, float *grad_input,
                              int64_t count, float p)
{
    struct gate gate = {.mask = mask, .grad_output = grad_output, .grad_input = grad_input};

    gate.scale = 1.0f / (1.0f - p);
    ag_parallel_for(count, GRAIN, dropout_backward_range, &gate);
}
