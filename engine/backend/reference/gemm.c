/* SPDX-License-Identifier: MIT */
#include "engine/backend/reference/maths.h"

int ref_gemm(struct ag_backend *backend, const struct ag_gemm *gemm, const float *a, const float *b,
             const float *bias, float *c)
{
    /* how far the next element along m, k and n lies */
    int64_t a_row = gemm->trans_a ? 1 : gemm->k, a_column = gemm->trans_a ? gemm->m : 1;
    int64_t b_row = gemm->trans_b ? 1 : gemm->n, b_column = gemm->trans_b ? gemm->k : 1;

    for (int64_t m = 0; m < gemm->m; m++) {
        for (int64_t n = 0; n < gemm->n; n++) {
            double sum = bias ? (double)bias[n] : 0.0;

            for (int64_t k = 0; k < gemm->k; k++)
                sum += (double)a[m * a_row + k * a_column] * (double)b[k * b_row + n * b_column];
            c[m * gemm->n + n] = (float)sum;
        }
    }
    return AG_OK;
}
