/* SPDX-License-Identifier: MIT */
/*
 * alexnet_bytes BATCH train|eval: bytes of the first and of a later training step of AlexNet with SGD and
 * momentum, without arithmetic. A line for each: live bytes with the batch, after forward and loss, after
 * backward, after the optimizer's step; then the highest so far after each of the last three.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag/ag.h"

static void step(ag_context *context, ag_alexnet *net, ag_optimizer *optimizer, int64_t batch)
{
    size_t live[4], peak[3];
    int64_t *classes = calloc((size_t)batch, sizeof(*classes));
    ag_tensor *x = ag_randn(context, 4, (int64_t[]){batch, 3, 224, 224});
    ag_tensor *target = ag_from_ints(context, 1, &batch, classes), *y, *loss;

    live[0] = ag_live_bytes(context);
    y = ag_alexnet_forward(net, x);
    loss = ag_cross_entropy(y, target);
    ag_release(y);
    live[1] = ag_live_bytes(context);
    peak[0] = ag_peak_bytes(context);
    ag_optimizer_zero_grad(optimizer);
    ag_backward(loss, false);
    live[2] = ag_live_bytes(context);
    peak[1] = ag_peak_bytes(context);
    ag_optimizer_step(optimizer);
    live[3] = ag_live_bytes(context);
    peak[2] = ag_peak_bytes(context);
    if (ag_error(context) != AG_OK) {
        fprintf(stderr, "%s\n", ag_error_text(context));
        exit(1);
    }
    printf("%zu %zu %zu %zu %zu %zu %zu\n", live[0], live[1], live[2], live[3], peak[0], peak[1],
           peak[2]);
    ag_release(loss);
    ag_release(target);
    ag_release(x);
    free(classes);
}

int main(int argc, char **argv)
{
    struct ag_options options = {
        .device = "reference", .compute = "skip", .memory_bytes = (size_t)64 << 30};
    const struct ag_sgd sgd = {.lr = 0.01f, .momentum = 0.9f};
    int64_t batch = argc > 1 ? atoll(argv[1]) : 0;
    ag_tensor *parameters[AG_ALEXNET_PARAMETERS];
    ag_optimizer *optimizer;
    ag_context *context;
    ag_alexnet *net;

    if (argc != 3 || batch < 1) {
        fprintf(stderr, "usage: alexnet_bytes BATCH train|eval\n");
        return 2;
    }
    if (ag_context_create(&options, &context) != AG_OK) {
        fprintf(stderr, "%s\n", ag_error_text(NULL));
        return 1;
    }
    net = ag_alexnet_create(context);
    ag_alexnet_train(net, !strcmp(argv[2], "train"));
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        parameters[i] = ag_alexnet_parameter(net, i);
    optimizer = ag_sgd_create(context, &sgd, AG_ALEXNET_PARAMETERS, parameters);
    step(context, net, optimizer, batch);
    step(context, net, optimizer, batch);
    ag_optimizer_destroy(optimizer);
    ag_alexnet_destroy(net);
    return ag_context_destroy(context) == 0 ? 0 : 1;
}
