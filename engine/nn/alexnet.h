/* SPDX-License-Identifier: MIT */
#ifndef AG_ALEXNET_H
#define AG_ALEXNET_H

#include "ag/ag.h"

struct ag_alexnet {
    ag_context *context;
    bool training;
    ag_tensor *parameters[AG_ALEXNET_PARAMETERS]; /* in the order of the layers */
};

#endif
