/* SPDX-License-Identifier: MIT */
#include "engine/core/storage.h"

#include <stdio.h>
#include <stdlib.h>

#include <gradprof/gradprof.h>

static const double gib = 1024.0 * 1024.0 * 1024.0;

static void refuse(ag_context *context, size_t size_bytes, const char *what, int status)
{
    size_t limit = context->backend->config.memory_bytes;
    char named[32], tensor[128], in_use[64], bytes[AG_COMMAS_BYTES];

    snprintf(named, sizeof(named), "the %s", what);
    ag_scope_describe(context, named, tensor, sizeof(tensor));
    if (status != AG_OUT_OF_MEMORY) {
        ag_fail(context, (enum ag_status)status, "%s bytes for %s: the device failed",
                ag_commas(size_bytes, bytes), tensor);
        return;
    }
    if (limit)
        snprintf(in_use, sizeof(in_use), "%.2f GB of %.2f GB", (double)context->live_bytes / gib,
                 (double)limit / gib);
    else
        snprintf(in_use, sizeof(in_use), "%.2f GB", (double)context->live_bytes / gib);
    ag_fail(context, AG_OUT_OF_MEMORY, "%s bytes for %s refused; %s in use",
            ag_commas(size_bytes, bytes), tensor, in_use);
}

/* cudaMalloc knows no limit but the device's own: the engine keeps it, and says so. */
static bool past_own_limit(const ag_context *context, size_t size_bytes)
{
    const struct ag_backend_config *config = &context->backend->config;

    return config->allocator == AG_ALLOCATOR_MALLOC && config->memory_bytes > 0 &&
           size_bytes > config->memory_bytes - context->live_bytes;
}

static int ag_device_allocate(ag_context *context, size_t size_bytes, void **ret_address)
{
    struct ag_backend *backend = context->backend;
    char what[64];

    if (past_own_limit(context, size_bytes)) {
        snprintf(what, sizeof(what), "--memory %.2f GB",
                 (double)backend->config.memory_bytes / gib);
        gradprof_refused(backend->config.device, size_bytes, what);
        return AG_OUT_OF_MEMORY;
    }
    return backend->ops->allocate(backend, size_bytes, ret_address);
}

struct ag_storage *ag_storage_new(ag_context *context, size_t size_bytes, const char *what)
{
    struct ag_storage *storage = calloc(1, sizeof(*storage));
    int status;

    if (!storage) {
        ag_fail(context, AG_OUT_OF_MEMORY, "no host memory for a storage");
        return NULL;
    }
    ag_scope_push(context, GRADPROF_SCOPE_TENSOR, what);
    status = ag_device_allocate(context, size_bytes, &storage->address);
    ag_scope_pop(context, what);
    if (status != AG_OK) {
        refuse(context, size_bytes, what, status);
        free(storage);
        return NULL;
    }
    storage->context = context;
    storage->refs = 1;
    storage->size_bytes = size_bytes;
    context->live_storages++;
    context->live_bytes += size_bytes;
    if (context->live_bytes > context->peak_bytes)
        context->peak_bytes = context->live_bytes;
    return storage;
}

struct ag_storage *ag_storage_retain(struct ag_storage *storage)
{
    storage->refs++;
    return storage;
}

void ag_storage_release(struct ag_storage *storage)
{
    ag_context *context;

    if (!storage || --storage->refs > 0)
        return;
    context = storage->context;
    context->live_storages--;
    context->live_bytes -= storage->size_bytes;
    context->backend->ops->free(context->backend, storage->address);
    free(storage);
}
