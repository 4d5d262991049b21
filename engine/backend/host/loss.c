/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/loss.h"

#include <math.h>
#include <string.h>

#include "ag/status.h"
#include "engine/backend/host/parallel.h"

struct softmax {
    const float *x, *grad_output;
    int64_t columns;
    float *y;
};

static void forward_rows(int64_t begin, int64_t end, void *context)
{
    const struct softmax *s = context;

    for (int64_t i = begin; i < end; i++) {
        const float *x = s->x + i * s->columns;
        float *y = s->y + i * s->columns, largest = x[0];
        double sum = 0;

        for (int64_t j = 1; j < s->columns; j++)
            largest = fmaxf(largest, x[j]);
        for (int64_t j = 0; j < s->columns; j++)
            sum += (double)expf(x[j] - largest);
        for (int64_t j = 0; j < s->columns; j++)
            y[j] = (float)((double)(x[j] - largest) - log(sum));
    }
}

void ag_host_log_softmax_forward(const float *x, int64_t rows, int64_t columns, float *y)
{
    struct softmax softmax = {.x = x, .columns = columns, .y = y};

    ag_parallel_for(rows, 1, forward_rows, &softmax);
}

static void backward_rows(int64_t begin, int64_t end, void *context)
{
    const struct softmax *s = context;

    for (int64_t i = begin; i < end; i++) {
        const float *result = s->x + i * s->columns, *grad = s->grad_output + i * s->columns;
        float *grad_input = s->y + i * s->columns;
        double sum = 0;

        for (int64_t j = 0; j < s->columns; j++)
            sum += (double)grad[j];
        for (int64_t j = 0; j < s->columns; j++)
            grad_input[j] = (float)((double)grad[j] - (double)expf(result[j]) * sum);
    }
}

void ag_host_log_softmax_backward(const float *result, const float *grad_output, int64_t rows,
                                  int64_t columns, float *grad_input)
{
    struct softmax softmax = {
        .x = result, .grad_output = grad_output, .columns = columns, .y = grad_input};

    ag_parallel_for(rows, 1, backward_rows, &softmax);
}

int ag_host_nll_loss_forward(const float *x, const int64_t *target, int64_t rows, int64_t columns,
                             float *loss, float *total_weight)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        if (target[i] < 0 || target[i] >= columns)
            return AG_INVALID_ARGUMENT;
        sum -= (double)x[i * columns + target[i]];
    }
    *loss = (float)(sum / (double)rows);
    *total_weight = (float)rows;
    return AG_OK;
}

void ag_host_nll_loss_backward(const float *grad_output, const int64_t *target, int64_t rows,
                               int64_t columns, float *grad_input)
{
    memset(grad_input, 0, (size_t)(rows * columns) * sizeof(*grad_input));
    for (int64_t i = 0; i < rows; i++)
        grad_input[i * columns + target[i]] = -*grad_output / (float)rows;
}
