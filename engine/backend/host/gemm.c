/* SPDX-License-Identifier: MIT */
/* Matrix products, by oneDNN's matmul. Both operands are used where they lie. */
#include <stdlib.h>
#include <string.h>

#include "engine/backend/host/host.h"
#include "engine/backend/host/workspace.h"

struct ag_gemm_plan {
    struct ag_gemm_plan *next;
    struct ag_gemm shape;
    bool has_bias;
    struct ag_primitive multiply;
};

struct layouts {
    dnnl_memory_desc_t a, b, bias, c;
};

/* A stored matrix of rows x columns, seen transposed when `transposed`. */
static int matrix(dnnl_memory_desc_t *ret_desc, int64_t rows, int64_t columns, int transposed)
{
    const dnnl_dims_t shape = {rows, columns};
    const dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};

    return ag_onednn_strided(ret_desc, 2, shape, strides);
}

static int describe(const struct ag_gemm *gemm, struct layouts *ret_layouts)
{
    int status = matrix(&ret_layouts->a, gemm->m, gemm->k, gemm->trans_a);
    if (!status)
        status = matrix(&ret_layouts->b, gemm->k, gemm->n, gemm->trans_b);
    if (!status)
        status = matrix(&ret_layouts->c, gemm->m, gemm->n, 0);
    if (!status)
        status = matrix(&ret_layouts->bias, 1, gemm->n, 0);
    return status;
}

static int init_multiply(struct ag_primitive *multiply, const struct ag_onednn *onednn,
                         const struct ag_gemm *gemm, bool has_bias)
{
    struct layouts layouts;
    dnnl_matmul_desc_t operation;

    int status = describe(gemm, &layouts);
    if (!status)
        status = ag_onednn_status(dnnl_matmul_desc_init(
            &operation, &layouts.a, &layouts.b, has_bias ? &layouts.bias : NULL, &layouts.c));
    if (!status)
        status = ag_primitive_init(multiply, onednn, &operation);
    if (!status)
        status = ag_primitive_add(multiply, onednn, DNNL_ARG_SRC, &layouts.a);
    if (!status)
        status = ag_primitive_add(multiply, onednn, DNNL_ARG_WEIGHTS, &layouts.b);
    if (!status)
        status = ag_primitive_add(multiply, onednn, DNNL_ARG_DST, &layouts.c);
    if (!status && has_bias)
        status = ag_primitive_add(multiply, onednn, DNNL_ARG_BIAS, &layouts.bias);
    return status;
}

static void plan_destroy(struct ag_gemm_plan *plan)
{
    ag_primitive_finish(&plan->multiply);
    free(plan);
}

static int plan_find(struct ag_host *host, const struct ag_gemm *gemm, bool has_bias,
                     struct ag_gemm_plan **ret_plan)
{
    struct ag_gemm_plan *plan;

    for (plan = host->gemm_plans; plan; plan = plan->next)
        if (plan->has_bias == has_bias && memcmp(&plan->shape, gemm, sizeof(*gemm)) == 0) {
            *ret_plan = plan;
            return AG_OK;
        }
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return AG_OUT_OF_MEMORY;
    plan->shape = *gemm;
    plan->has_bias = has_bias;
    int status = init_multiply(&plan->multiply, &host->onednn, gemm, has_bias);
    if (status) {
        plan_destroy(plan);
        return status;
    }
    plan->next = host->gemm_plans;
    host->gemm_plans = plan;
    *ret_plan = plan;
    return AG_OK;
}

void ag_host_gemm_plans_destroy(struct ag_gemm_plan *plans)
{
    while (plans) {
        struct ag_gemm_plan *next = plans->next;
        plan_destroy(plans);
        plans = next;
    }
}

int ag_host_gemm(struct ag_host *host, const struct ag_gemm *gemm, const float *a, const float *b,
                 const float *bias, float *c)
{
    struct ag_gemm_plan *plan;
    char *workspace;

    int status = plan_find(host, gemm, bias != NULL, &plan);
    if (!status)
        status = ag_workspace_take(host, plan->multiply.scratch_bytes, &workspace);
    if (status)
        return status;
    ag_primitive_set(&plan->multiply, DNNL_ARG_SRC, a);
    ag_primitive_set(&plan->multiply, DNNL_ARG_WEIGHTS, b);
    ag_primitive_set(&plan->multiply, DNNL_ARG_BIAS, bias);
    ag_primitive_set(&plan->multiply, DNNL_ARG_DST, c);
    ag_primitive_set(&plan->multiply, DNNL_ARG_SCRATCHPAD, workspace);
    status = ag_primitive_run(&plan->multiply, &host->onednn);
    ag_host_free(host, workspace);
    return status;
}
