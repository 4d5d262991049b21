/* SPDX-License-Identifier: MIT */
/*
 * Convolution and its gradients. Tensors are plain NCHW; oneDNN is fastest in layouts of its own. So a
 * batch is done in chunks: bring a chunk of images into oneDNN's layout, compute, bring the result
 * back, in a workspace small enough to stay in the cache. Weights are brought over once per call; the
 * gradient of the weights is the sum of the chunks'.
 */
#include <string.h>

#include "engine/backend/host/conv_plan.h"
#include "engine/backend/host/elementwise.h"
#include "engine/backend/host/parallel.h"
#include "engine/backend/host/workspace.h"

#define CHUNK_BYTES                                                                                \
    (AG_WORKSPACE_BYTES / 2) /* of input and output; weights and scratch come on top */

/* One call. `plain`: the tensors as the engine knows them, by operand. */
struct job {
    const struct ag_onednn *onednn;
    struct ag_conv_plan
        *plans[2]; /* for a full chunk, and for what is left at the end (NULL: nothing) */
    const float *bias;
    float *plain[AG_CONV_OPERANDS];
    /* parts of the workspace */
    char *buffer[AG_CONV_OPERANDS];
    float *partial; /* a later chunk's gradient of the weights */
    char *scratch;
    const void *weight; /* in the layout of the chunk's plan */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Images per chunk: within CHUNK_BYTES, a multiple of the threads where there is room for that. */
static int64_t chunk_images(const struct ag_conv2d *conv)
{
    int64_t image_bytes = (int64_t)sizeof(float) * (conv->c_in * conv->h_in * conv->w_in +
                                                    conv->c_out * conv->h_out * conv->w_out);
    int64_t threads = ag_parallel_threads();
    int64_t images = (int64_t)CHUNK_BYTES / image_bytes;

    if (images > threads)
        images -= images % threads;
    if (images < 1)
        images = 1;
    return images < conv->n ? images : conv->n;
}

static int64_t weight_count(const struct ag_conv2d *s)
{
    return s->c_out * s->c_in * s->kernel_h * s->kernel_w;
}

static int convert(const struct job *job, struct ag_primitive *reorder, const void *from, void *to)
{
    ag_primitive_set(reorder, DNNL_ARG_FROM, from);
    ag_primitive_set(reorder, DNNL_ARG_TO, to);
    ag_primitive_set(reorder, DNNL_ARG_SCRATCHPAD, job->scratch);
    return ag_primitive_run(reorder, job->onednn);
}

/* Convert an operand that is read into its buffer, where it has one; returns where it lies then. */
static int bring(const struct job *job, struct ag_conv_plan *plan, enum ag_conv_operand operand,
                 const float *from, const void **ret_address)
{
    if (!plan->bring[operand].primitive) {
        *ret_address = from;
        return AG_OK;
    }
    *ret_address = job->buffer[operand];
    return convert(job, &plan->bring[operand], from, job->buffer[operand]);
}

/* Bring what the chunk at `at` reads, and tell the operation where it lies. */
static int bring_operands(struct job *job, struct ag_conv_plan *plan,
                          float *const at[AG_CONV_OPERANDS], bool new_weight)
{
    int status = AG_OK;

    for (int i = 0; i < AG_CONV_OPERANDS && !status; i++) {
        enum ag_conv_operand operand = (enum ag_conv_operand)i;
        const void *address = job->weight;

        if (operand == ag_conv_result(plan->kind))
            continue;
        if (operand != AG_CONV_WEIGHT || new_weight)
            status = bring(job, plan, operand, at[i], &address);
        if (operand == AG_CONV_WEIGHT)
            job->weight = address;
        ag_primitive_set(&plan->convolve, ag_conv_argument(plan->kind, operand), address);
    }
    return status;
}

static int run_chunk(struct job *job, struct ag_conv_plan *plan, float *const at[AG_CONV_OPERANDS],
                     bool new_weight)
{
    enum ag_conv_operand result = ag_conv_result(plan->kind);
    struct ag_primitive *back = &plan->bring[result];
    void *native = back->primitive ? job->buffer[result] : (void *)at[result];

    int status = bring_operands(job, plan, at, new_weight);
    if (status)
        return status;
    ag_primitive_set(&plan->convolve, ag_conv_argument(plan->kind, result), native);
    ag_primitive_set(&plan->convolve, DNNL_ARG_BIAS, job->bias);
    ag_primitive_set(&plan->convolve, DNNL_ARG_SCRATCHPAD, job->scratch);
    status = ag_primitive_run(&plan->convolve, job->onednn);
    if (status || !back->primitive)
        return status;
    return convert(job, back, native, at[result]);
}

static int run_chunks(struct job *job, int64_t images)
{
    const struct ag_conv2d *s = &job->plans[0]->shape;
    const int64_t input_count = s->c_in * s->h_in * s->w_in;
    const int64_t output_count = s->c_out * s->h_out * s->w_out;
    bool sums = ag_conv_result(job->plans[0]->kind) == AG_CONV_WEIGHT;
    float *weight = job->plain[AG_CONV_WEIGHT];
    int status = AG_OK;

    for (int64_t i = 0; i < images && !status; i += s->n) {
        struct ag_conv_plan *plan = images - i >= s->n ? job->plans[0] : job->plans[1];
        bool later = sums && i > 0;
        float *const at[AG_CONV_OPERANDS] = {
            [AG_CONV_INPUT] = job->plain[AG_CONV_INPUT] + i * input_count,
            [AG_CONV_WEIGHT] = later ? job->partial : weight,
            [AG_CONV_OUTPUT] = job->plain[AG_CONV_OUTPUT] + i * output_count,
        };

        /* The shorter chunk at the end may want the weights in another layout. */
        status = run_chunk(job, plan, at, i == 0 || plan != job->plans[0]);
        if (!status && later)
            ag_host_add(weight, weight_count(s), job->partial, weight_count(s), weight,
                        weight_count(s), 1.0f, 1.0f);
    }
    return status;
}

/* Where each part of the workspace begins; the whole is taken by the caller. */
struct layout {
    size_t buffer[AG_CONV_OPERANDS], partial, scratch, total_bytes;
};

static struct layout lay_out(const struct job *job)
{
    const struct ag_conv_plan *full = job->plans[0], *rest = job->plans[1] ? job->plans[1] : full;
    bool sums = ag_conv_result(full->kind) == AG_CONV_WEIGHT;
    struct layout layout = {.total_bytes = 0};

    for (int i = 0; i < AG_CONV_OPERANDS; i++)
        layout.buffer[i] = ag_workspace_part(&layout.total_bytes,
                                             larger(full->buffer_bytes[i], rest->buffer_bytes[i]));
    layout.partial = ag_workspace_part(
        &layout.total_bytes, sums ? (size_t)weight_count(&full->shape) * sizeof(float) : 0);
    layout.scratch =
        ag_workspace_part(&layout.total_bytes, larger(full->scratch_bytes, rest->scratch_bytes));
    return layout;
}

static int run(struct ag_host *host, enum ag_conv_kind kind, const struct ag_conv2d *conv,
               struct job *job)
{
    struct ag_conv2d shape = *conv;
    char *workspace;

    job->onednn = &host->onednn;
    shape.n = chunk_images(conv);
    int status = ag_conv_plan_find(host, kind, &shape, job->bias != NULL, &job->plans[0]);
    shape.n = conv->n % shape.n;
    if (!status && shape.n)
        status = ag_conv_plan_find(host, kind, &shape, job->bias != NULL, &job->plans[1]);
    if (status)
        return status;
    const struct layout layout = lay_out(job);
    status = ag_workspace_take(host, layout.total_bytes, &workspace);
    if (status)
        return status;
    for (int i = 0; i < AG_CONV_OPERANDS; i++)
        job->buffer[i] = workspace + layout.buffer[i];
    job->partial = (float *)(workspace + layout.partial);
    job->scratch = workspace + layout.scratch;
    status = run_chunks(job, conv->n);
    ag_host_free(host, workspace);
    return status;
}

/* The casts: which of the three operands is written is the kind's business. */

int ag_host_conv2d_forward(struct ag_host *host, const struct ag_conv2d *conv, const float *input,
                           const float *weight, const float *bias, float *output)
{
    struct job job = {.bias = bias, .plain = {(float *)input, (float *)weight, output}};

    return run(host, AG_CONV_FORWARD, conv, &job);
}

int ag_host_conv2d_backward_input(struct ag_host *host, const struct ag_conv2d *conv,
                                  const float *grad_output, const float *weight, float *grad_input)
{
    struct job job = {.plain = {grad_input, (float *)weight, (float *)grad_output}};

    return run(host, AG_CONV_BACKWARD_INPUT, conv, &job);
}

int ag_host_conv2d_backward_weight(struct ag_host *host, const struct ag_conv2d *conv,
                                   const float *input, const float *grad_output, float *grad_weight)
{
    struct job job = {.plain = {(float *)input, grad_weight, (float *)grad_output}};

    return run(host, AG_CONV_BACKWARD_WEIGHT, conv, &job);
}

struct bias_sum {
    const struct ag_conv2d *conv;
    const float *grad_output;
    float *grad_bias;
};

static void bias_range(int64_t begin, int64_t end, void *context)
{
    const struct bias_sum *sum = context;
    const struct ag_conv2d *s = sum->conv;
    const int64_t plane = s->h_out * s->w_out;

    for (int64_t c = begin; c < end; c++) {
        double total = 0;

        for (int64_t n = 0; n < s->n; n++)
            total += (double)ag_host_sum(sum->grad_output + (n * s->c_out + c) * plane, plane);
        sum->grad_bias[c] = (float)total;
    }
}

void ag_host_conv2d_backward_bias(const struct ag_conv2d *conv, const float *grad_output,
                                  float *grad_bias)
{
    struct bias_sum sum = {conv, grad_output, grad_bias};

    ag_parallel_for(conv->c_out, 1, bias_range, &sum);
}
