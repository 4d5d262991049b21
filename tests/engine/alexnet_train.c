/* SPDX-License-Identifier: MIT */
/*
 * alexnet_train DEVICE WEIGHTS INPUT TARGETS BATCH STEPS sgd|adam GRADIENTS WEIGHTS_AFTER: trains AlexNet
 * with dropout off, for comparison with another implementation. INPUT and TARGETS are raw little-endian
 * float32 images and int64 classes, BATCH of them a step, from the beginning again at the end. GRADIENTS
 * gets the first step's gradients as raw float32 in the order of the parameters. Prints each step's loss.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag/ag.h"

enum { PIXELS = 3 * 224 * 224 };

static void *read_all(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    long bytes = 0;
    void *data;

    if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) || !(data = malloc((size_t)bytes)) ||
        fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    *ret_bytes = (size_t)bytes;
    return data;
}

static int failed(const ag_context *context)
{
    fprintf(stderr, "%s\n", ag_error_text(context));
    return ag_error(context) == AG_UNAVAILABLE ? 77 : 1;
}

static void write_gradients(const char *path, const ag_alexnet *net)
{
    FILE *file = fopen(path, "wb");

    for (int i = 0; file && i < AG_ALEXNET_PARAMETERS; i++) {
        const ag_tensor *grad = ag_grad(ag_alexnet_parameter(net, i));
        float *values = malloc((size_t)ag_count(grad) * sizeof(*values));

        if (!values || ag_to_floats(grad, values) != AG_OK ||
            fwrite(values, sizeof(*values), (size_t)ag_count(grad), file) != (size_t)ag_count(grad))
            exit(1);
        free(values);
    }
    if (!file || fclose(file) != 0)
        exit(1);
}

static ag_optimizer *make_optimizer(ag_context *context, const ag_alexnet *net, const char *name)
{
    const struct ag_sgd sgd = {.lr = 0.001f, .momentum = 0.9f, .weight_decay = 5e-4f};
    const struct ag_adam adam = {
        .lr = 1e-4f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .weight_decay = 5e-4f};
    ag_tensor *parameters[AG_ALEXNET_PARAMETERS];

    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        parameters[i] = ag_alexnet_parameter(net, i);
    return !strcmp(name, "sgd") ? ag_sgd_create(context, &sgd, AG_ALEXNET_PARAMETERS, parameters)
                                : ag_adam_create(context, &adam, AG_ALEXNET_PARAMETERS, parameters);
}

int main(int argc, char **argv)
{
    struct ag_options options = {.device = argc > 1 ? argv[1] : NULL};
    int64_t batch = argc > 6 ? atoll(argv[5]) : 0, images;
    size_t input_bytes, target_bytes;
    ag_optimizer *optimizer;
    ag_context *context;
    int64_t *targets;
    ag_alexnet *net;
    float *input;

    if (argc != 10 || batch < 1) {
        fprintf(stderr, "usage: alexnet_train DEVICE WEIGHTS INPUT TARGETS BATCH STEPS sgd|adam "
                        "GRADIENTS WEIGHTS_AFTER\n");
        return 2;
    }
    if (ag_context_create(&options, &context) != AG_OK)
        return failed(NULL);
    net = ag_alexnet_create(context);
    if (!net || ag_alexnet_load(net, argv[2]) != AG_OK)
        return failed(context);
    ag_alexnet_train(net, false);
    input = read_all(argv[3], &input_bytes);
    targets = read_all(argv[4], &target_bytes);
    images = (int64_t)(target_bytes / sizeof(*targets));
    optimizer = make_optimizer(context, net, argv[7]);
    for (int64_t step = 0; step < atoll(argv[6]); step++) {
        int64_t at = step * batch % images;
        ag_tensor *x =
            ag_from_floats(context, 4, (int64_t[]){batch, 3, 224, 224}, input + at * PIXELS);
        ag_tensor *target = ag_from_ints(context, 1, &batch, targets + at);
        ag_tensor *y = ag_alexnet_forward(net, x), *loss = ag_cross_entropy(y, target);

        ag_optimizer_zero_grad(optimizer);
        if (ag_backward(loss, false) != AG_OK)
            return failed(context);
        if (step == 0)
            write_gradients(argv[8], net);
        ag_optimizer_step(optimizer);
        printf("%.6f\n", (double)ag_item(loss));
        ag_release(loss);
        ag_release(y);
        ag_release(target);
        ag_release(x);
    }
    if (ag_error(context) != AG_OK || ag_alexnet_save(net, argv[9]) != AG_OK)
        return failed(context);
    ag_optimizer_destroy(optimizer);
    free(targets);
    free(input);
    ag_alexnet_destroy(net);
    return ag_context_destroy(context) == 0 ? 0 : 1;
}
