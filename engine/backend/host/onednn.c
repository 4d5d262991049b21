/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/onednn.h"

#include <stdio.h>
#include <string.h>

#include "ag/status.h"

int ag_onednn_status(dnnl_status_t status)
{
    switch (status) {
    case dnnl_success:
        return AG_OK;
    case dnnl_out_of_memory:
        return AG_OUT_OF_MEMORY;
    case dnnl_invalid_arguments:
        return AG_INVALID_ARGUMENT;
    default:
        return AG_DEVICE_ERROR;
    }
}

int ag_onednn_init(struct ag_onednn *onednn)
{
    memset(onednn, 0, sizeof(*onednn));
    dnnl_status_t status = dnnl_engine_create(&onednn->engine, dnnl_cpu, 0);
    if (!status)
        status = dnnl_stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags);
    if (!status)
        status = dnnl_primitive_attr_create(&onednn->attributes);
    if (!status)
        status =
            dnnl_primitive_attr_set_scratchpad_mode(onednn->attributes, dnnl_scratchpad_mode_user);
    if (status)
        ag_onednn_finish(onednn);
    return ag_onednn_status(status);
}

void ag_onednn_finish(struct ag_onednn *onednn)
{
    if (onednn->attributes)
        dnnl_primitive_attr_destroy(onednn->attributes);
    if (onednn->stream)
        dnnl_stream_destroy(onednn->stream);
    if (onednn->engine)
        dnnl_engine_destroy(onednn->engine);
    memset(onednn, 0, sizeof(*onednn));
}

void ag_onednn_version(char *ret_text, size_t size_bytes)
{
    const dnnl_version_t *version = dnnl_version();

    snprintf(ret_text, size_bytes, "oneDNN %d.%d.%d", version->major, version->minor,
             version->patch);
}

int ag_onednn_strided(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape,
                      const dnnl_dims_t strides)
{
    return ag_onednn_status(
        dnnl_memory_desc_init_by_strides(ret_desc, dims, shape, dnnl_f32, strides));
}

int ag_onednn_plain(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape)
{
    dnnl_dims_t strides = {0};

    strides[dims - 1] = 1;
    for (int i = dims - 2; i >= 0; i--)
        strides[i] = strides[i + 1] * shape[i + 1];
    return ag_onednn_strided(ret_desc, dims, shape, strides);
}

int ag_onednn_any(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape)
{
    return ag_onednn_status(
        dnnl_memory_desc_init_by_tag(ret_desc, dims, shape, dnnl_f32, dnnl_format_tag_any));
}

static const_dnnl_primitive_desc_t description_of(const struct ag_primitive *primitive)
{
    const_dnnl_primitive_desc_t description = NULL;

    dnnl_primitive_get_primitive_desc(primitive->primitive, &description);
    return description;
}

const dnnl_memory_desc_t *ag_primitive_desc(const struct ag_primitive *primitive, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(description_of(primitive), what, 0);
}

int ag_primitive_add(struct ag_primitive *primitive, const struct ag_onednn *onednn, int arg,
                     const dnnl_memory_desc_t *desc)
{
    dnnl_exec_arg_t *slot = &primitive->args[primitive->count];

    if (primitive->count == AG_ONEDNN_MAX_ARGS)
        return AG_DEVICE_ERROR;
    int status =
        ag_onednn_status(dnnl_memory_create(&slot->memory, desc, onednn->engine, DNNL_MEMORY_NONE));
    if (status)
        return status;
    slot->arg = arg;
    primitive->count++;
    return AG_OK;
}

void ag_primitive_set(struct ag_primitive *primitive, int arg, const void *address)
{
    for (int i = 0; i < primitive->count; i++)
        if (primitive->args[i].arg == arg)
            dnnl_memory_set_data_handle(primitive->args[i].memory, (void *)address);
}

/* Takes `description` over. */
static int init_from(struct ag_primitive *primitive, const struct ag_onednn *onednn,
                     dnnl_primitive_desc_t description)
{
    int status = ag_onednn_status(dnnl_primitive_create(&primitive->primitive, description));

    dnnl_primitive_desc_destroy(description);
    if (status)
        return status;
    const dnnl_memory_desc_t *scratch = ag_primitive_desc(primitive, dnnl_query_scratchpad_md);
    primitive->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    if (primitive->scratch_bytes)
        status = ag_primitive_add(primitive, onednn, DNNL_ARG_SCRATCHPAD, scratch);
    if (status)
        ag_primitive_finish(primitive);
    return status;
}

int ag_primitive_init(struct ag_primitive *ret_primitive, const struct ag_onednn *onednn,
                      const_dnnl_op_desc_t operation)
{
    dnnl_primitive_desc_t description;

    memset(ret_primitive, 0, sizeof(*ret_primitive));
    int status = ag_onednn_status(dnnl_primitive_desc_create(
        &description, operation, onednn->attributes, onednn->engine, NULL));
    return status ? status : init_from(ret_primitive, onednn, description);
}

int ag_primitive_init_reorder(struct ag_primitive *ret_primitive, const struct ag_onednn *onednn,
                              const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t description;

    memset(ret_primitive, 0, sizeof(*ret_primitive));
    if (dnnl_memory_desc_equal(from, to))
        return AG_OK;
    int status = ag_onednn_status(dnnl_reorder_primitive_desc_create(
        &description, from, onednn->engine, to, onednn->engine, onednn->attributes));
    if (!status)
        status = init_from(ret_primitive, onednn, description);
    if (!status)
        status = ag_primitive_add(ret_primitive, onednn, DNNL_ARG_FROM, from);
    if (!status)
        status = ag_primitive_add(ret_primitive, onednn, DNNL_ARG_TO, to);
    if (status)
        ag_primitive_finish(ret_primitive);
    return status;
}

void ag_primitive_finish(struct ag_primitive *primitive)
{
    for (int i = 0; i < primitive->count; i++)
        dnnl_memory_destroy(primitive->args[i].memory);
    if (primitive->primitive)
        dnnl_primitive_destroy(primitive->primitive);
    memset(primitive, 0, sizeof(*primitive));
}

int ag_primitive_run(const struct ag_primitive *primitive, const struct ag_onednn *onednn)
{
    if (!primitive->primitive)
        return AG_OK;
    dnnl_status_t status = dnnl_primitive_execute(primitive->primitive, onednn->stream,
                                                  primitive->count, primitive->args);
    if (!status)
        status = dnnl_stream_wait(onednn->stream);
    return ag_onednn_status(status);
}
