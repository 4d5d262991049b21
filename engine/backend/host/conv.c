/* SPDX-License-Identifier: MIT */
/*
 * Convolution. Tensors are plain NCHW; oneDNN is fastest in layouts of its own. So a batch is done
 * in chunks: bring a chunk of images into oneDNN's layout, convolve, bring the result back, in a
 * workspace small enough to stay in the cache. The weights are brought over once per call.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/backend/host/host.h"
#include "engine/backend/host/parallel.h"
#include "engine/backend/host/workspace.h"

#define CHUNK_BYTES                                                                                \
    (AG_WORKSPACE_BYTES / 2) /* of input and output; weights and scratch come on top */

/* Primitives for `shape.n` images. A reorder is zero where the layouts are equal already. */
struct ag_conv_plan {
    struct ag_conv_plan *next;
    struct ag_conv2d shape;
    bool has_bias;
    struct ag_primitive convolve;
    struct ag_primitive bring_input, bring_weight, bring_output;
    size_t input_bytes, weight_bytes, output_bytes; /* in oneDNN's layout; 0: used in place */
    size_t scratch_bytes;                           /* the largest of the four */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What the primitive that converts between `plain` and `native` needs as buffer. */
static size_t buffer_bytes(const struct ag_primitive *reorder, const dnnl_memory_desc_t *native)
{
    return reorder->primitive ? dnnl_memory_desc_get_size(native) : 0;
}

static int describe(const struct ag_conv2d *s, bool has_bias, dnnl_convolution_desc_t *ret_desc)
{
    const dnnl_dims_t input_shape = {s->n, s->c_in, s->h_in, s->w_in};
    const dnnl_dims_t weight_shape = {s->c_out, s->c_in, s->kernel_h, s->kernel_w};
    const dnnl_dims_t output_shape = {s->n, s->c_out, s->h_out, s->w_out};
    const dnnl_dims_t bias_shape = {s->c_out};
    const dnnl_dims_t strides = {s->stride_h, s->stride_w};
    const dnnl_dims_t padding = {s->pad_h, s->pad_w};
    dnnl_memory_desc_t input, weight, bias, output;

    int status = ag_onednn_any(&input, 4, input_shape);
    if (!status)
        status = ag_onednn_any(&weight, 4, weight_shape);
    if (!status)
        status = ag_onednn_plain(&bias, 1, bias_shape);
    if (!status)
        status = ag_onednn_any(&output, 4, output_shape);
    if (status)
        return status;
    return ag_onednn_status(dnnl_convolution_forward_desc_init(
        ret_desc, dnnl_forward_training, dnnl_convolution_direct, &input, &weight,
        has_bias ? &bias : NULL, &output, strides, padding, padding));
}

static int add_convolve_args(struct ag_conv_plan *plan, const struct ag_onednn *onednn)
{
    static const struct {
        int arg;
        dnnl_query_t query;
    } args[] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                {DNNL_ARG_DST, dnnl_query_dst_md}};
    const dnnl_dims_t bias_shape = {plan->shape.c_out};
    dnnl_memory_desc_t bias;
    int status = AG_OK;

    for (int i = 0; i < 3 && !status; i++)
        status = ag_primitive_add(&plan->convolve, onednn, args[i].arg,
                                  ag_primitive_desc(&plan->convolve, args[i].query));
    if (!status && plan->has_bias)
        status = ag_onednn_plain(&bias, 1, bias_shape);
    if (!status && plan->has_bias)
        status = ag_primitive_add(&plan->convolve, onednn, DNNL_ARG_BIAS, &bias);
    return status;
}

static int add_reorders(struct ag_conv_plan *plan, const struct ag_onednn *onednn)
{
    const struct ag_conv2d *s = &plan->shape;
    const dnnl_dims_t input_shape = {s->n, s->c_in, s->h_in, s->w_in};
    const dnnl_dims_t weight_shape = {s->c_out, s->c_in, s->kernel_h, s->kernel_w};
    const dnnl_dims_t output_shape = {s->n, s->c_out, s->h_out, s->w_out};
    const dnnl_memory_desc_t *input = ag_primitive_desc(&plan->convolve, dnnl_query_src_md);
    const dnnl_memory_desc_t *weight = ag_primitive_desc(&plan->convolve, dnnl_query_weights_md);
    const dnnl_memory_desc_t *output = ag_primitive_desc(&plan->convolve, dnnl_query_dst_md);
    dnnl_memory_desc_t plain;

    int status = ag_onednn_plain(&plain, 4, input_shape);
    if (!status)
        status = ag_primitive_init_reorder(&plan->bring_input, onednn, &plain, input);
    if (!status)
        status = ag_onednn_plain(&plain, 4, weight_shape);
    if (!status)
        status = ag_primitive_init_reorder(&plan->bring_weight, onednn, &plain, weight);
    if (!status)
        status = ag_onednn_plain(&plain, 4, output_shape);
    if (!status)
        status = ag_primitive_init_reorder(&plan->bring_output, onednn, output, &plain);
    if (status)
        return status;
    plan->input_bytes = buffer_bytes(&plan->bring_input, input);
    plan->weight_bytes = buffer_bytes(&plan->bring_weight, weight);
    plan->output_bytes = buffer_bytes(&plan->bring_output, output);
    return AG_OK;
}

static void plan_destroy(struct ag_conv_plan *plan)
{
    ag_primitive_finish(&plan->convolve);
    ag_primitive_finish(&plan->bring_input);
    ag_primitive_finish(&plan->bring_weight);
    ag_primitive_finish(&plan->bring_output);
    free(plan);
}

static int plan_create(const struct ag_onednn *onednn, const struct ag_conv2d *shape, bool has_bias,
                       struct ag_conv_plan **ret_plan)
{
    dnnl_convolution_desc_t description;
    struct ag_conv_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return AG_OUT_OF_MEMORY;
    plan->shape = *shape;
    plan->has_bias = has_bias;
    int status = describe(shape, has_bias, &description);
    if (!status)
        status = ag_primitive_init(&plan->convolve, onednn, &description);
    if (!status)
        status = add_convolve_args(plan, onednn);
    if (!status)
        status = add_reorders(plan, onednn);
    if (status) {
        plan_destroy(plan);
        return status;
    }
    plan->scratch_bytes =
        larger(larger(plan->convolve.scratch_bytes, plan->bring_input.scratch_bytes),
               larger(plan->bring_weight.scratch_bytes, plan->bring_output.scratch_bytes));
    *ret_plan = plan;
    return AG_OK;
}

void ag_host_conv_plans_destroy(struct ag_conv_plan *plans)
{
    while (plans) {
        struct ag_conv_plan *next = plans->next;
        plan_destroy(plans);
        plans = next;
    }
}

static int plan_find(struct ag_host *host, const struct ag_conv2d *shape, bool has_bias,
                     struct ag_conv_plan **ret_plan)
{
    for (struct ag_conv_plan *plan = host->conv_plans; plan; plan = plan->next)
        if (plan->has_bias == has_bias && memcmp(&plan->shape, shape, sizeof(*shape)) == 0) {
            *ret_plan = plan;
            return AG_OK;
        }
    int status = plan_create(&host->onednn, shape, has_bias, ret_plan);
    if (status)
        return status;
    (*ret_plan)->next = host->conv_plans;
    host->conv_plans = *ret_plan;
    return AG_OK;
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

/* Convert `from` into the buffer, where there is one, and return where the primitive finds it. */
static int bring(struct ag_primitive *reorder, const struct ag_onednn *onednn, const float *from,
                 char *buffer, char *scratch, const void **ret_address)
{
    *ret_address = from;
    if (!reorder->primitive)
        return AG_OK;
    ag_primitive_set(reorder, DNNL_ARG_FROM, from);
    ag_primitive_set(reorder, DNNL_ARG_TO, buffer);
    ag_primitive_set(reorder, DNNL_ARG_SCRATCHPAD, scratch);
    *ret_address = buffer;
    return ag_primitive_run(reorder, onednn);
}

/* Parts of the workspace. The weights lie at its start, for all chunks. */
struct buffers {
    char *input, *output, *scratch;
};

static int run_chunk(struct ag_conv_plan *plan, const struct ag_onednn *onednn,
                     const struct buffers *buffers, const float *input, const void *weight,
                     const float *bias, float *output)
{
    bool direct = !plan->bring_output.primitive;
    const void *native_input, *brought;

    int status =
        bring(&plan->bring_input, onednn, input, buffers->input, buffers->scratch, &native_input);
    if (status)
        return status;
    ag_primitive_set(&plan->convolve, DNNL_ARG_SRC, native_input);
    ag_primitive_set(&plan->convolve, DNNL_ARG_WEIGHTS, weight);
    ag_primitive_set(&plan->convolve, DNNL_ARG_BIAS, bias);
    ag_primitive_set(&plan->convolve, DNNL_ARG_DST, direct ? (char *)output : buffers->output);
    ag_primitive_set(&plan->convolve, DNNL_ARG_SCRATCHPAD, buffers->scratch);
    status = ag_primitive_run(&plan->convolve, onednn);
    if (status || direct)
        return status;
    return bring(&plan->bring_output, onednn, (float *)buffers->output, (char *)output,
                 buffers->scratch, &brought);
}

/* `plans`: for a full chunk, and for what is left at the end (NULL: nothing). */
static int run_chunks(struct ag_host *host, struct ag_conv_plan *const plans[2], int64_t images,
                      char *workspace, const struct buffers *buffers, const float *input,
                      const float *weight, const float *bias, float *output)
{
    const struct ag_conv2d *s = &plans[0]->shape;
    const int64_t input_count = s->c_in * s->h_in * s->w_in;
    const int64_t output_count = s->c_out * s->h_out * s->w_out;
    const void *native_weight = NULL;
    int status = AG_OK;

    for (int64_t i = 0; i < images && !status; i += s->n) {
        struct ag_conv_plan *plan = images - i >= s->n ? plans[0] : plans[1];
        /* The shorter chunk at the end may want the weights in another layout. */
        if (i == 0 || plan != plans[0])
            status = bring(&plan->bring_weight, &host->onednn, weight, workspace, buffers->scratch,
                           &native_weight);
        if (!status)
            status = run_chunk(plan, &host->onednn, buffers, input + i * input_count, native_weight,
                               bias, output + i * output_count);
    }
    return status;
}

int ag_host_conv2d_forward(struct ag_host *host, const struct ag_conv2d *conv, const float *input,
                           const float *weight, const float *bias, float *output)
{
    struct ag_conv2d shape = *conv;
    struct ag_conv_plan *plans[2] = {NULL, NULL};
    size_t workspace_bytes = 0;
    char *workspace;

    shape.n = chunk_images(conv);
    int status = plan_find(host, &shape, bias != NULL, &plans[0]);
    shape.n = conv->n % shape.n;
    if (!status && shape.n)
        status = plan_find(host, &shape, bias != NULL, &plans[1]);
    if (status)
        return status;
    const struct ag_conv_plan *full = plans[0], *rest = plans[1] ? plans[1] : plans[0];
    ag_workspace_part(&workspace_bytes, larger(full->weight_bytes, rest->weight_bytes));
    size_t input_at =
        ag_workspace_part(&workspace_bytes, larger(full->input_bytes, rest->input_bytes));
    size_t output_at =
        ag_workspace_part(&workspace_bytes, larger(full->output_bytes, rest->output_bytes));
    size_t scratch_at =
        ag_workspace_part(&workspace_bytes, larger(full->scratch_bytes, rest->scratch_bytes));
    status = ag_workspace_take(host, workspace_bytes, &workspace);
    if (status)
        return status;
    const struct buffers buffers = {workspace + input_at, workspace + output_at,
                                    workspace + scratch_at};
    status = run_chunks(host, plans, conv->n, workspace, &buffers, input, weight, bias, output);
    ag_host_free(host, workspace);
    return status;
}
