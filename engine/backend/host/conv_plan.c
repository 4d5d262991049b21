/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/conv_plan.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    enum ag_conv_operand result;
    struct {
        int arg;
        dnnl_query_t query;
    } operands[AG_CONV_OPERANDS];
} kinds[] = {
    [AG_CONV_FORWARD] = {AG_CONV_OUTPUT,
                         {{DNNL_ARG_SRC, dnnl_query_src_md},
                          {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                          {DNNL_ARG_DST, dnnl_query_dst_md}}},
    [AG_CONV_BACKWARD_INPUT] = {AG_CONV_INPUT,
                                {{DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md},
                                 {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                 {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md}}},
    [AG_CONV_BACKWARD_WEIGHT] = {AG_CONV_WEIGHT,
                                 {{DNNL_ARG_SRC, dnnl_query_src_md},
                                  {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md},
                                  {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md}}},
};

enum ag_conv_operand ag_conv_result(enum ag_conv_kind kind)
{
    return kinds[kind].result;
}

int ag_conv_argument(enum ag_conv_kind kind, enum ag_conv_operand operand)
{
    return kinds[kind].operands[operand].arg;
}

static void operand_shape(const struct ag_conv2d *s, enum ag_conv_operand operand,
                          dnnl_dims_t ret_shape)
{
    const dnnl_dims_t shapes[AG_CONV_OPERANDS] = {
        [AG_CONV_INPUT] = {s->n, s->c_in, s->h_in, s->w_in},
        [AG_CONV_WEIGHT] = {s->c_out, s->c_in, s->kernel_h, s->kernel_w},
        [AG_CONV_OUTPUT] = {s->n, s->c_out, s->h_out, s->w_out},
    };

    memcpy(ret_shape, shapes[operand], sizeof(dnnl_dims_t));
}

static dnnl_status_t describe_kind(const struct ag_conv_plan *plan,
                                   const dnnl_memory_desc_t layouts[AG_CONV_OPERANDS],
                                   const dnnl_memory_desc_t *bias,
                                   dnnl_convolution_desc_t *ret_description)
{
    const struct ag_conv2d *s = &plan->shape;
    const dnnl_dims_t strides = {s->stride_h, s->stride_w};
    const dnnl_dims_t padding = {s->pad_h, s->pad_w};
    const dnnl_memory_desc_t *input = &layouts[AG_CONV_INPUT];
    const dnnl_memory_desc_t *weight = &layouts[AG_CONV_WEIGHT];
    const dnnl_memory_desc_t *output = &layouts[AG_CONV_OUTPUT];

    switch (plan->kind) {
    case AG_CONV_BACKWARD_INPUT:
        return dnnl_convolution_backward_data_desc_init(ret_description, dnnl_convolution_direct,
                                                        input, weight, output, strides, padding,
                                                        padding);
    case AG_CONV_BACKWARD_WEIGHT:
        return dnnl_convolution_backward_weights_desc_init(ret_description, dnnl_convolution_direct,
                                                           input, weight, NULL, output, strides,
                                                           padding, padding);
    default:
        return dnnl_convolution_forward_desc_init(
            ret_description, dnnl_forward_training, dnnl_convolution_direct, input, weight,
            plan->has_bias ? bias : NULL, output, strides, padding, padding);
    }
}

static int init_convolve(struct ag_conv_plan *plan, const struct ag_onednn *onednn)
{
    const dnnl_dims_t bias_shape = {plan->shape.c_out};
    dnnl_memory_desc_t layouts[AG_CONV_OPERANDS], bias;
    dnnl_convolution_desc_t description;
    dnnl_dims_t shape;

    int status = ag_onednn_plain(&bias, 1, bias_shape);
    for (int i = 0; i < AG_CONV_OPERANDS && !status; i++) {
        operand_shape(&plan->shape, (enum ag_conv_operand)i, shape);
        status = ag_onednn_any(&layouts[i], 4, shape);
    }
    if (!status)
        status = ag_onednn_status(describe_kind(plan, layouts, &bias, &description));
    if (!status)
        status = ag_primitive_init(&plan->convolve, onednn, &description);
    for (int i = 0; i < AG_CONV_OPERANDS && !status; i++)
        status = ag_primitive_add(
            &plan->convolve, onednn, kinds[plan->kind].operands[i].arg,
            ag_primitive_desc(&plan->convolve, kinds[plan->kind].operands[i].query));
    if (!status && plan->has_bias)
        status = ag_primitive_add(&plan->convolve, onednn, DNNL_ARG_BIAS, &bias);
    return status;
}

static int init_bring(struct ag_conv_plan *plan, const struct ag_onednn *onednn,
                      enum ag_conv_operand operand)
{
    const dnnl_memory_desc_t *native =
        ag_primitive_desc(&plan->convolve, kinds[plan->kind].operands[operand].query);
    bool is_result = operand == ag_conv_result(plan->kind);
    struct ag_primitive *bring = &plan->bring[operand];
    dnnl_memory_desc_t plain;
    dnnl_dims_t shape;

    operand_shape(&plan->shape, operand, shape);
    int status = ag_onednn_plain(&plain, 4, shape);
    if (!status)
        status = ag_primitive_init_reorder(bring, onednn, is_result ? native : &plain,
                                           is_result ? &plain : native);
    if (status)
        return status;
    plan->buffer_bytes[operand] = bring->primitive ? dnnl_memory_desc_get_size(native) : 0;
    if (bring->scratch_bytes > plan->scratch_bytes)
        plan->scratch_bytes = bring->scratch_bytes;
    return AG_OK;
}

static void plan_destroy(struct ag_conv_plan *plan)
{
    ag_primitive_finish(&plan->convolve);
    for (int i = 0; i < AG_CONV_OPERANDS; i++)
        ag_primitive_finish(&plan->bring[i]);
    free(plan);
}

static int plan_create(const struct ag_onednn *onednn, enum ag_conv_kind kind,
                       const struct ag_conv2d *shape, bool has_bias, struct ag_conv_plan **ret_plan)
{
    struct ag_conv_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return AG_OUT_OF_MEMORY;
    plan->shape = *shape;
    plan->kind = kind;
    plan->has_bias = has_bias;
    int status = init_convolve(plan, onednn);
    plan->scratch_bytes = plan->convolve.scratch_bytes;
    for (int i = 0; i < AG_CONV_OPERANDS && !status; i++)
        status = init_bring(plan, onednn, (enum ag_conv_operand)i);
    if (status) {
        plan_destroy(plan);
        return status;
    }
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

int ag_conv_plan_find(struct ag_host *host, enum ag_conv_kind kind, const struct ag_conv2d *shape,
                      bool has_bias, struct ag_conv_plan **ret_plan)
{
    for (struct ag_conv_plan *plan = host->conv_plans; plan; plan = plan->next)
        if (plan->kind == kind && plan->has_bias == has_bias &&
            memcmp(&plan->shape, shape, sizeof(*shape)) == 0) {
            *ret_plan = plan;
            return AG_OK;
        }
    int status = plan_create(&host->onednn, kind, shape, has_bias, ret_plan);
    if (status)
        return status;
    (*ret_plan)->next = host->conv_plans;
    host->conv_plans = *ret_plan;
    return AG_OK;
}
