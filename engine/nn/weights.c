/* SPDX-License-Identifier: MIT */
/* The raw weight format, described in docs/ENGINE.md. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/value.h"
#include "engine/nn/alexnet.h"

/* File header: magic, then the number of tensors. Each tensor: name length, name, number of
 * dimensions, dimensions, data. All little-endian: lengths and numbers uint32, dimensions uint64, data
 * float32. */
static const char magic[8] = {'A', 'G', 'W', 'E', 'I', 'G', 'H', '1'};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is written as it lies in memory");

struct header {
    char magic[8];
    uint32_t tensors;
};

static size_t tensor_bytes(const ag_tensor *tensor)
{
    return (size_t)ag_count(tensor) * sizeof(float);
}

static bool usable(const ag_alexnet *net)
{
    if (net->context->real)
        return true;
    ag_fail(net->context, AG_INVALID_ARGUMENT,
            "weights cannot be loaded or saved where the arithmetic is skipped");
    return false;
}

static bool put(FILE *file, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, file) == bytes;
}

static bool write_parameter(FILE *file, const ag_tensor *tensor, float *buffer)
{
    uint32_t name_bytes = (uint32_t)strlen(tensor->value->name), dims = (uint32_t)ag_dims(tensor);

    if (!put(file, &name_bytes, sizeof(name_bytes)) ||
        !put(file, tensor->value->name, name_bytes) || !put(file, &dims, sizeof(dims)))
        return false;
    for (uint32_t i = 0; i < dims; i++) {
        uint64_t size = (uint64_t)ag_size(tensor, (int)i);

        if (!put(file, &size, sizeof(size)))
            return false;
    }
    return ag_to_floats(tensor, buffer) == AG_OK && put(file, buffer, tensor_bytes(tensor));
}

static bool write_all(FILE *file, const ag_alexnet *net)
{
    struct header header = {.tensors = AG_ALEXNET_PARAMETERS};

    memcpy(header.magic, magic, sizeof(magic));
    if (!put(file, header.magic, sizeof(header.magic)) ||
        !put(file, &header.tensors, sizeof(header.tensors)))
        return false;
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++) {
        float *buffer = malloc(tensor_bytes(net->parameters[i]));
        bool written = buffer && write_parameter(file, net->parameters[i], buffer);

        free(buffer);
        if (!written)
            return false;
    }
    return true;
}

enum ag_status ag_alexnet_save(const ag_alexnet *net, const char *path)
{
    FILE *file;
    bool written;

    if (!usable(net))
        return AG_INVALID_ARGUMENT;
    file = fopen(path, "wb");
    errno = file ? 0 : errno;
    written = file && write_all(file, net);
    if (file && fclose(file) != 0)
        written = false;
    if (written)
        return AG_OK;
    ag_fail(net->context, AG_INVALID_ARGUMENT, "cannot write %s: %s", path, strerror(errno));
    if (file)
        remove(path);
    return AG_INVALID_ARGUMENT;
}

static bool get(FILE *file, void *ret_data, size_t bytes)
{
    return fread(ret_data, 1, bytes, file) == bytes;
}

/* The description in front of a tensor's data equals the parameter's. */
static bool matches(FILE *file, const ag_tensor *parameter)
{
    char name[256] = {0};
    uint32_t name_bytes, dims;

    if (!get(file, &name_bytes, sizeof(name_bytes)) || name_bytes >= sizeof(name) ||
        !get(file, name, name_bytes) || strcmp(name, parameter->value->name) != 0 ||
        !get(file, &dims, sizeof(dims)) || dims != (uint32_t)ag_dims(parameter))
        return false;
    for (uint32_t i = 0; i < dims; i++) {
        uint64_t size;

        if (!get(file, &size, sizeof(size)) || size != (uint64_t)ag_size(parameter, (int)i))
            return false;
    }
    return true;
}

static bool read_header(FILE *file)
{
    struct header header;

    return get(file, header.magic, sizeof(header.magic)) &&
           !memcmp(header.magic, magic, sizeof(magic)) &&
           get(file, &header.tensors, sizeof(header.tensors)) &&
           header.tensors == AG_ALEXNET_PARAMETERS;
}

/* Look through the whole file before a weight is changed. On failure *ret_what is the tensor whose
 * part of the file is wrong. */
static bool check_file(FILE *file, const ag_alexnet *net, const char **ret_what)
{
    long end;

    *ret_what = "the header";
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0 ||
        !read_header(file))
        return false;
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++) {
        const ag_tensor *parameter = net->parameters[i];
        long data_bytes = (long)tensor_bytes(parameter);

        *ret_what = parameter->value->name;
        if (!matches(file, parameter) || end - ftell(file) < data_bytes ||
            fseek(file, data_bytes, SEEK_CUR) != 0)
            return false;
    }
    *ret_what = "the end";
    return ftell(file) == end;
}

static bool read_parameter(FILE *file, const ag_tensor *parameter)
{
    struct ag_value *value = parameter->value;
    struct ag_backend *backend = value->context->backend;
    size_t bytes = value->storage->size_bytes;
    float *buffer = malloc(bytes);
    bool loaded;

    loaded = buffer && matches(file, parameter) && get(file, buffer, bytes) &&
             ag_done(value->context,
                     backend->ops->copy_in(backend, ag_value_address(value), buffer, bytes)) &&
             ag_done(value->context, backend->ops->synchronize(backend));
    free(buffer);
    return loaded;
}

static bool read_all(FILE *file, const ag_alexnet *net)
{
    if (fseek(file, 0, SEEK_SET) != 0 || !read_header(file))
        return false;
    for (int i = 0; i < AG_ALEXNET_PARAMETERS; i++)
        if (!read_parameter(file, net->parameters[i]))
            return false;
    return true;
}

enum ag_status ag_alexnet_load(ag_alexnet *net, const char *path)
{
    const char *what;
    FILE *file;

    if (!usable(net))
        return AG_INVALID_ARGUMENT;
    file = fopen(path, "rb");
    if (!file) {
        ag_fail(net->context, AG_INVALID_ARGUMENT, "cannot read %s: %s", path, strerror(errno));
        return AG_INVALID_ARGUMENT;
    }
    if (!check_file(file, net, &what))
        ag_fail(net->context, AG_INVALID_ARGUMENT,
                "%s holds no weights of this network: %s is not as expected", path, what);
    else if (!read_all(file, net))
        ag_fail(net->context, AG_INVALID_ARGUMENT, "cannot read %s", path);
    fclose(file);
    return ag_error(net->context);
}
