/* SPDX-License-Identifier: MIT */
#ifndef AG_ALEXNET_H
#define AG_ALEXNET_H

#include "engine/nn/parameter.h"

/* 5 convolutions and 3 linear layers, a weight and a bias each */
#define AG_ALEXNET_PARAMETERS 16

struct ag_alexnet {
    ag_context *context;
    bool training;
    struct ag_parameter parameters[AG_ALEXNET_PARAMETERS]; /* in the order of the layers */
};

#endif
