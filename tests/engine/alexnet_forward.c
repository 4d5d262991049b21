/* SPDX-License-Identifier: MIT */
/*
 * alexnet_forward DEVICE WEIGHTS INPUT BATCH OUTPUT: AlexNet in evaluation mode (dropout off) on raw
 * little-endian float32 files, for comparison with another implementation. Exit status 77 when the
 * device is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag/ag.h"

enum { PIXELS = 3 * 224 * 224, CLASSES = 1000 };

static float *read_floats(const char *path, size_t count)
{
    float *values = malloc(count * sizeof(*values));
    FILE *file = fopen(path, "rb");

    if (!values || !file || fread(values, sizeof(*values), count, file) != count) {
        fprintf(stderr, "cannot read %zu floats from %s\n", count, path);
        exit(1);
    }
    fclose(file);
    return values;
}

static void write_floats(const char *path, const float *values, size_t count)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(values, sizeof(*values), count, file) != count || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

static int failed(const ag_context *context)
{
    fprintf(stderr, "%s\n", ag_error_text(context));
    return ag_error(context) == AG_UNAVAILABLE ? 77 : 1;
}

int main(int argc, char **argv)
{
    struct ag_options options = {.device = argc > 1 ? argv[1] : NULL};
    int64_t batch = argc > 4 ? atoll(argv[4]) : 0;
    ag_context *context;
    ag_alexnet *net;
    ag_tensor *x, *y;
    float *input, *output;

    if (argc != 6 || batch < 1) {
        fprintf(stderr, "usage: alexnet_forward DEVICE WEIGHTS INPUT BATCH OUTPUT\n");
        return 2;
    }
    if (ag_context_create(&options, &context) != AG_OK)
        return failed(NULL);
    net = ag_alexnet_create(context);
    if (!net || ag_alexnet_load(net, argv[2]) != AG_OK)
        return failed(context);
    ag_alexnet_train(net, false);
    input = read_floats(argv[3], (size_t)batch * PIXELS);
    output = malloc((size_t)batch * CLASSES * sizeof(*output));
    x = ag_from_floats(context, 4, (int64_t[]){batch, 3, 224, 224}, input);
    y = ag_alexnet_forward(net, x);
    if (!y || !output || ag_to_floats(y, output) != AG_OK)
        return failed(context);
    write_floats(argv[5], output, (size_t)batch * CLASSES);
    free(output);
    free(input);
    ag_release(y);
    ag_release(x);
    ag_alexnet_destroy(net);
    return ag_context_destroy(context) == 0 ? 0 : 1;
}
