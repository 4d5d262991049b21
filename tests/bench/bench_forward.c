/* SPDX-License-Identifier: MIT */
/*
 * One forward of AlexNet, in training mode with its graph kept, each time a line arrives on standard
 * input; prints its milliseconds and the process's peak resident KiB. bench_forward.py drives it side
 * by side with PyTorch.
 *
 *   bench_forward BATCH [DEVICE [THREADS]]
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
    fprintf(stderr, "bench_forward: %s\n", ag_error_text(context));
    return 1;
}

/* 0, or 1 when a forward failed. */
static int serve(ag_context *context, ag_alexnet *net, ag_tensor *x)
{
    char line[16];

    printf("ready: %s\n", ag_device_text(context));
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        double start_ms = now_ms();
        ag_tensor *y = ag_alexnet_forward(net, x);
        if (!y)
            return fail(context);
        printf("%.1f %ld\n", now_ms() - start_ms, peak_kib());
        fflush(stdout);
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
        fprintf(stderr, "usage: bench_forward BATCH [DEVICE [THREADS]]\n");
        return 2;
    }
    if (ag_context_create(&options, &context))
        return fail(NULL);
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = ag_randn(context, 4, shape);
    int status = net && x ? serve(context, net, x) : fail(context);
    ag_release(x);
    ag_alexnet_destroy(net);
    ag_context_destroy(context);
    return status;
}
