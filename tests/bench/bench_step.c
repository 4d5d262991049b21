/* SPDX-License-Identifier: MIT */
/*
 * One forward of AlexNet, in training mode with its graph kept, each time a line arrives on standard
 * input, and with "backward" the backward of its loss; prints the milliseconds of both (0: not done) and
 * the process's peak resident KiB. bench_step.py drives it side by side with PyTorch.
 *
 *   bench_step BATCH [DEVICE [THREADS [backward]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "ag/ag.h"

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static long peak_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static int fail(ag_context *context)
{
    fprintf(stderr, "bench_step: %s\n", ag_error_text(context));
    return 1;
}

/* 0, or 1 when a step failed. `target`: NULL for the forward alone. */
static int serve(ag_context *context, ag_alexnet *net, ag_tensor *x, ag_tensor *target)
{
    char line[16];

    printf("ready: %s\n", ag_device_text(context));
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        double start_ms = now_ms(), middle_ms;
        ag_tensor *y = ag_alexnet_forward(net, x), *loss = NULL;

        middle_ms = now_ms();
        if (target) {
            loss = ag_cross_entropy(y, target);
            ag_backward(loss, false);
        }
        if (ag_error(context) != AG_OK)
            return fail(context);
        printf("%.1f %.1f %ld\n", middle_ms - start_ms, now_ms() - middle_ms, peak_kib());
        fflush(stdout);
        for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
            ag_zero_grad(ag_alexnet_parameter(net, i));
        ag_release(loss);
        ag_release(y);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const int64_t shape[] = {argc > 1 ? atoll(argv[1]) : 0, 3, 224, 224};
    const struct ag_options options = {.device = argc > 2 ? argv[2] : "host",
                                       .threads = argc > 3 ? atoi(argv[3]) : 0};
    ag_context *context;

    if (shape[0] < 1) {
        fprintf(stderr, "usage: bench_step BATCH [DEVICE [THREADS [backward]]]\n");
        return 2;
    }
    if (ag_context_create(&options, &context))
        return fail(NULL);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = ag_randn(context, 4, shape);
    int64_t *classes = calloc((size_t)shape[0], sizeof(*classes));
    ag_tensor *target = argc > 4 ? ag_from_ints(context, 1, shape, classes) : NULL;
    int status = net && x ? serve(context, net, x, target) : fail(context);
    free(classes);
    ag_release(target);
    ag_release(x);
    ag_alexnet_destroy(net);
    ag_context_destroy(context);
    return status;
}
