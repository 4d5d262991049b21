/* SPDX-License-Identifier: MIT */
/*
 * What one forward of torchvision's AlexNet (training mode, batch 1024, float32) leaves in PyTorch's
 * graph, as walked from the output's grad_fn with PyTorch 2.11 on a GPU: every operation node from the
 * output back to the input, what it saved, the bytes of the saved storage, and which saved slots share
 * one storage.
 */
#ifndef ALEXNET_EXPECTED_H
#define ALEXNET_EXPECTED_H

#include <stddef.h>

#define EXPECTED_BATCH 1024
#define EXPECTED_PARAMETER_BYTES 244403360ull
#define EXPECTED_INPUT_BYTES 616562688ull
#define EXPECTED_OUTPUT_BYTES 4096000ull
#define EXPECTED_GRAPH_BYTES 3173515264ull /* held by one graph beyond parameters and input */
#define EXPECTED_NODES 41                  /* 25 operations and 16 AccumulateGrad */
#define EXPECTED_ACCUMULATE_GRAD 16

enum expected_storage {
    S_NONE,
    S_INPUT,
    S_LINEAR6_IN,
    S_LINEAR6_WEIGHT,
    S_LINEAR4_IN,
    S_LINEAR4_WEIGHT,
    S_MASK3,
    S_RELU2,
    S_LINEAR1_IN,
    S_LINEAR1_WEIGHT,
    S_MASK0,
    S_POOL12,
    S_POOL12_INDICES,
    S_RELU11,
    S_RELU9,
    S_CONV10_WEIGHT,
    S_RELU7,
    S_CONV8_WEIGHT,
    S_POOL5,
    S_CONV6_WEIGHT,
    S_POOL5_INDICES,
    S_RELU4,
    S_POOL2,
    S_CONV3_WEIGHT,
    S_POOL2_INDICES,
    S_RELU1,
    S_CONV0_WEIGHT,
    S_COUNT
};

struct expected_node {
    const char *op;
    struct {
        const char *slot;
        size_t storage_bytes;
        enum expected_storage storage;
    } saved[AG_MAX_SAVED];
};

/* The walk follows the data: input 1 of an AddmmBackward0, input 0 of every other node. TBackward0
 * nodes hang at input 2 of each AddmmBackward0. */
static const struct expected_node expected_nodes[] = {
    {"AddmmBackward0", {{"mat1", 16777216, S_LINEAR6_IN}, {"mat2", 16384000, S_LINEAR6_WEIGHT}}},
    {"ReluBackward0", {{"result", 16777216, S_LINEAR6_IN}}},
    {"AddmmBackward0", {{"mat1", 16777216, S_LINEAR4_IN}, {"mat2", 67108864, S_LINEAR4_WEIGHT}}},
    {"NativeDropoutBackward0", {{"result1", 4194304, S_MASK3}}},
    {"ReluBackward0", {{"result", 16777216, S_RELU2}}},
    {"AddmmBackward0", {{"mat1", 37748736, S_LINEAR1_IN}, {"mat2", 150994944, S_LINEAR1_WEIGHT}}},
    {"NativeDropoutBackward0", {{"result1", 9437184, S_MASK0}}},
    {"ViewBackward0", {{NULL}}},
    {"AdaptiveAvgPool2DBackward0", {{"self", 37748736, S_POOL12}}},
    {"MaxPool2DWithIndicesBackward0",
     {{"self", 177209344, S_RELU11}, {"result1", 75497472, S_POOL12_INDICES}}},
    {"ReluBackward0", {{"result", 177209344, S_RELU11}}},
    {"ConvolutionBackward0", {{"input", 177209344, S_RELU9}, {"weight", 2359296, S_CONV10_WEIGHT}}},
    {"ReluBackward0", {{"result", 177209344, S_RELU9}}},
    {"ConvolutionBackward0", {{"input", 265814016, S_RELU7}, {"weight", 3538944, S_CONV8_WEIGHT}}},
    {"ReluBackward0", {{"result", 265814016, S_RELU7}}},
    {"ConvolutionBackward0", {{"input", 132907008, S_POOL5}, {"weight", 2654208, S_CONV6_WEIGHT}}},
    {"MaxPool2DWithIndicesBackward0",
     {{"self", 573308928, S_RELU4}, {"result1", 265814016, S_POOL5_INDICES}}},
    {"ReluBackward0", {{"result", 573308928, S_RELU4}}},
    {"ConvolutionBackward0", {{"input", 191102976, S_POOL2}, {"weight", 1228800, S_CONV3_WEIGHT}}},
    {"MaxPool2DWithIndicesBackward0",
     {{"self", 792985600, S_RELU1}, {"result1", 382205952, S_POOL2_INDICES}}},
    {"ReluBackward0", {{"result", 792985600, S_RELU1}}},
    {"ConvolutionBackward0", {{"input", 616562688, S_INPUT}, {"weight", 92928, S_CONV0_WEIGHT}}},
};

#endif
