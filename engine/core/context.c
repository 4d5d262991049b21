/* SPDX-License-Identifier: MIT */
#include "engine/core/context.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/plugin.h"

/* true and *ret_second when `text` is one of two words; NULL means the first */
static bool choose(const char *option, const char *text, const char *first, const char *second,
                   bool *ret_second)
{
    *ret_second = text && !strcmp(text, second);
    if (!text || *ret_second || !strcmp(text, first))
        return true;
    ag_fail(NULL, AG_INVALID_ARGUMENT, "%s \"%s\": allowed are %s and %s", option, text, first,
            second);
    return false;
}

enum ag_status ag_context_create(const struct ag_options *options, ag_context **ret_context)
{
    struct ag_backend_config config = {.memory_bytes = options->memory_bytes,
                                       .threads = options->threads};
    bool skip, plain_malloc;
    ag_context *context;
    enum ag_status status;

    if (!choose("compute", options->compute, "real", "skip", &skip) ||
        !choose("allocator", options->allocator, "async", "malloc", &plain_malloc))
        return AG_INVALID_ARGUMENT;
    config.compute = skip ? AG_COMPUTE_SKIP : AG_COMPUTE_REAL;
    config.allocator = plain_malloc ? AG_ALLOCATOR_MALLOC : AG_ALLOCATOR_ASYNC;

    context = calloc(1, sizeof(*context));
    if (!context) {
        ag_fail(NULL, AG_OUT_OF_MEMORY, "no host memory for a context");
        return AG_OUT_OF_MEMORY;
    }
    context->real = !skip;
    context->seed = options->seed;
    status = ag_plugin_open(options->device ? options->device : "auto", &config, &context->backend,
                            &context->plugin);
    if (status != AG_OK) {
        free(context);
        return status;
    }
    ag_clear_error(NULL); /* of devices that "auto" tried in vain */
    *ret_context = context;
    return AG_OK;
}

size_t ag_context_destroy(ag_context *context)
{
    if (!context)
        return 0;
    if (context->live_tensors > 0)
        return context->live_tensors;
    context->backend->ops->close(context->backend);
    dlclose(context->plugin);
    free(context);
    return 0;
}

const char *ag_device_text(const ag_context *context)
{
    return context->backend->ops->describe(context->backend);
}

size_t ag_live_bytes(const ag_context *context)
{
    return context->live_bytes;
}

size_t ag_peak_bytes(const ag_context *context)
{
    return context->peak_bytes;
}

size_t ag_live_nodes(const ag_context *context)
{
    return context->live_nodes;
}

void ag_no_grad_begin(ag_context *context)
{
    context->no_grad_depth++;
}

void ag_no_grad_end(ag_context *context)
{
    if (context->no_grad_depth == 0)
        ag_fail(context, AG_INVALID_ARGUMENT, "ag_no_grad_end without ag_no_grad_begin");
    else
        context->no_grad_depth--;
}

uint64_t ag_random_take(ag_context *context, int64_t count)
{
    uint64_t offset = context->random_offset;

    /* Generators make four numbers at a time: no two draws share a group. */
    context->random_offset += ((uint64_t)count + 3) / 4 * 4;
    return offset;
}
