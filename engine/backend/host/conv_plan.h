/* SPDX-License-Identifier: MIT */
/*
 * oneDNN's primitives for a convolution or one of its gradients, on so many images: the operation itself
 * in the layouts that it chose, and the conversions between those and plain NCHW.
 */
#ifndef AG_HOST_CONV_PLAN_H
#define AG_HOST_CONV_PLAN_H

#include "engine/backend/host/host.h"

enum ag_conv_kind { AG_CONV_FORWARD, AG_CONV_BACKWARD_INPUT, AG_CONV_BACKWARD_WEIGHT };

/* The three tensors of a convolution, or their gradients. */
enum ag_conv_operand { AG_CONV_INPUT, AG_CONV_WEIGHT, AG_CONV_OUTPUT, AG_CONV_OPERANDS };

struct ag_conv_plan {
    struct ag_conv_plan *next;
    struct ag_conv2d shape; /* n: images at a time */
    enum ag_conv_kind kind;
    bool has_bias;
    struct ag_primitive convolve;
    /* To the operation's layout, for the result from it; zero where the layouts are equal already. */
    struct ag_primitive bring[AG_CONV_OPERANDS];
    size_t buffer_bytes[AG_CONV_OPERANDS]; /* in the operation's layout; 0: used in place */
    size_t scratch_bytes;                  /* the largest of the four */
};

/* Which operand the operation writes, and as which argument it knows each. */
enum ag_conv_operand ag_conv_result(enum ag_conv_kind kind);
int ag_conv_argument(enum ag_conv_kind kind, enum ag_conv_operand operand);

/* The plan for `shape`, made at its first use and kept in host->conv_plans. */
int ag_conv_plan_find(struct ag_host *host, enum ag_conv_kind kind, const struct ag_conv2d *shape,
                      bool has_bias, struct ag_conv_plan **ret_plan);

#endif
