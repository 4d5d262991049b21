/* SPDX-License-Identifier: MIT */
#include "samples/common.h"

#include <inttypes.h>
#include <stdio.h>

static const double gib = 1024.0 * 1024.0 * 1024.0;

static bool prepare_weights(struct sample *sample)
{
    const struct sample_options *options = &sample->options;

    if (options->load_weights && ag_alexnet_load(sample->net, options->load_weights) != AG_OK)
        return false;
    return !options->save_weights || ag_alexnet_save(sample->net, options->save_weights) == AG_OK;
}

bool sample_open(struct sample *sample)
{
    if (ag_context_create(&sample->options.ag, &sample->context) != AG_OK)
        return false;
    printf("device: %s\n", ag_device_text(sample->context));
    fflush(stdout);
    return true;
}

bool sample_start(struct sample *sample)
{
    if (!sample_open(sample))
        return false;
    sample->net = ag_alexnet_create(sample->context);
    return sample->net && prepare_weights(sample);
}

void sample_step_begin(struct sample *sample)
{
    char label[32];

    sample->iteration++;
    snprintf(label, sizeof(label), "iteration %" PRId64, sample->iteration);
    ag_step_begin(sample->context, label);
}

void sample_print_commas(size_t value)
{
    if (value >= 1000) {
        sample_print_commas(value / 1000);
        printf(",%03zu", value % 1000);
    } else {
        printf("%zu", value);
    }
}

bool sample_step_end(struct sample *sample)
{
    size_t live_bytes = ag_live_bytes(sample->context);

    if (ag_error(sample->context) != AG_OK)
        return false;
    ag_step_end(sample->context);
    if (sample->quiet)
        return true;
    if (sample->options.iterations > 1)
        printf("iteration %" PRId64 ": ", sample->iteration);
    printf("%.2f GB (", (double)live_bytes / gib);
    sample_print_commas(live_bytes);
    printf(" bytes)\n");
    fflush(stdout);
    return true;
}

ag_tensor *sample_batch(struct sample *sample)
{
    ag_tensor *batch =
        ag_randn(sample->context, 4, (int64_t[]){sample->options.batch, 3, 224, 224});

    ag_set_role_input(batch, "x");
    return batch;
}

static int explain(const struct sample *sample)
{
    enum ag_status error = ag_error(sample->context);
    const char *program = sample->options.program;

    if (error == AG_OK)
        return SAMPLE_OK;
    if (error != AG_OUT_OF_MEMORY) {
        fprintf(stderr, "%s: %s\n", program, ag_error_text(sample->context));
        return SAMPLE_FAILED;
    }
    if (sample->iteration > 0)
        fprintf(stderr, "%s: out of memory in iteration %" PRId64 ": %s\n", program,
                sample->iteration, ag_error_text(sample->context));
    else
        fprintf(stderr, "%s: out of memory before the first iteration: %s\n", program,
                ag_error_text(sample->context));
    return SAMPLE_OUT_OF_MEMORY;
}

int sample_finish(struct sample *sample)
{
    int status = explain(sample);
    size_t forgotten;

    ag_alexnet_destroy(sample->net);
    forgotten = ag_context_destroy(sample->context);
    if (forgotten > 0) {
        fprintf(stderr, "%s: %zu tensors were never released\n", sample->options.program,
                forgotten);
        return SAMPLE_FAILED;
    }
    return status;
}
