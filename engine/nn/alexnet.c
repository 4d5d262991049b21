/* SPDX-License-Identifier: MIT */
/* torchvision's AlexNet: the table is the network. */
#include "engine/nn/alexnet.h"

#include <stdlib.h>

#include <gradprof/gradprof.h>

#include "engine/core/context.h"

enum layer_kind { CONV, RELU, MAX_POOL, AVERAGE_POOL, FLATTEN, DROPOUT, LINEAR };

struct layer {
    enum layer_kind kind;
    const char *name; /* of the module; NULL: a plain function call */
    int64_t in, out;  /* channels or features */
    int64_t kernel, stride, padding;
};

static const struct layer layers[] = {
    {CONV, "features.0", 3, 64, .kernel = 11, .stride = 4, .padding = 2}, /* [n, 64, 55, 55] */
    {RELU, "features.1"},
    {MAX_POOL, "features.2", .kernel = 3, .stride = 2}, /* [n, 64, 27, 27] */
    {CONV, "features.3", 64, 192, .kernel = 5, .stride = 1, .padding = 2},
    {RELU, "features.4"},
    {MAX_POOL, "features.5", .kernel = 3, .stride = 2}, /* [n, 192, 13, 13] */
    {CONV, "features.6", 192, 384, .kernel = 3, .stride = 1, .padding = 1},
    {RELU, "features.7"},
    {CONV, "features.8", 384, 256, .kernel = 3, .stride = 1, .padding = 1},
    {RELU, "features.9"},
    {CONV, "features.10", 256, 256, .kernel = 3, .stride = 1, .padding = 1},
    {RELU, "features.11"},
    {MAX_POOL, "features.12", .kernel = 3, .stride = 2}, /* [n, 256, 6, 6] */
    {AVERAGE_POOL, "avgpool", .out = 6},
    {FLATTEN, NULL}, /* [n, 9216] */
    {DROPOUT, "classifier.0"},
    {LINEAR, "classifier.1", 256 * 6 * 6, 4096},
    {RELU, "classifier.2"},
    {DROPOUT, "classifier.3"},
    {LINEAR, "classifier.4", 4096, 4096},
    {RELU, "classifier.5"},
    {LINEAR, "classifier.6", 4096, 1000},
};

static const float dropout_p = 0.5f;

#define LAYERS (sizeof(layers) / sizeof(layers[0]))

static bool has_parameters(const struct layer *layer)
{
    return layer->kind == CONV || layer->kind == LINEAR;
}

static bool ag_make_parameters(ag_context *context, const struct layer *layer,
                               ag_tensor **ret_weight, ag_tensor **ret_bias)
{
    int64_t fan_in = layer->kind == CONV ? layer->in * layer->kernel * layer->kernel : layer->in;
    int64_t shape[] = {layer->out, layer->in, layer->kernel, layer->kernel};

    *ret_weight =
        ag_parameter(context, layer->name, "weight", layer->kind == CONV ? 4 : 2, shape, fan_in);
    if (*ret_weight)
        *ret_bias = ag_parameter(context, layer->name, "bias", 1, shape, fan_in);
    return *ret_bias;
}

ag_alexnet *ag_alexnet_create(ag_context *context)
{
    ag_alexnet *net = calloc(1, sizeof(*net));
    ag_tensor **parameter;

    if (!net) {
        ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for a network");
        return NULL;
    }
    net->context = context;
    net->training = true;
    parameter = net->parameters;
    for (size_t i = 0; i < LAYERS; i++) {
        if (!has_parameters(&layers[i]))
            continue;
        if (!ag_make_parameters(context, &layers[i], parameter, parameter + 1)) {
            ag_alexnet_destroy(net);
            return NULL;
        }
        parameter += 2;
    }
    return net;
}

void ag_alexnet_destroy(ag_alexnet *net)
{
    if (!net)
        return;
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        ag_release(net->parameters[i]);
    free(net);
}

ag_tensor *ag_alexnet_parameter(const ag_alexnet *net, int index)
{
    return index >= 0 && index < AG_ALEXNET_PARAMETERS ? net->parameters[index] : NULL;
}

void ag_alexnet_train(ag_alexnet *net, bool training)
{
    net->training = training;
}

static ag_tensor *ag_apply_layer(const ag_alexnet *net, const struct layer *layer,
                                 ag_tensor *const *parameter, ag_tensor *x)
{
    switch (layer->kind) {
    case CONV:
        return ag_conv2d(x, parameter[0], parameter[1], layer->stride, layer->padding);
    case RELU:
        return ag_relu_(x);
    case MAX_POOL:
        return ag_max_pool2d(x, layer->kernel, layer->stride, layer->padding);
    case AVERAGE_POOL:
        return ag_adaptive_avg_pool2d(x, layer->out, layer->out);
    case FLATTEN:
        return ag_flatten(x);
    case DROPOUT:
        return ag_dropout(x, dropout_p, net->training);
    case LINEAR:
        return ag_linear(x, parameter[0], parameter[1]);
    }
    return NULL;
}

ag_tensor *ag_alexnet_forward(ag_alexnet *net, ag_tensor *x)
{
    ag_tensor *const *parameter;
    ag_context *context;

    if (!net || !x)
        return NULL;
    context = net->context;
    parameter = net->parameters;
    x = ag_retain(x);
    for (size_t i = 0; i < LAYERS; i++) {
        ag_tensor *y;

        ag_scope_push(context, GRADPROF_SCOPE_MODULE, layers[i].name);
        y = ag_apply_layer(net, &layers[i], parameter, x);
        ag_scope_pop(context, layers[i].name);
        /* Only the newest tensor is held: what the graph does not save goes at once. */
        ag_release(x);
        x = y;
        if (has_parameters(&layers[i]))
            parameter += 2;
    }
    return x;
}
