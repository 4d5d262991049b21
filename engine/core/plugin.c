/* SPDX-License-Identifier: MIT */
#include "engine/core/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/context.h"

static const char *const known_backends[] = {"cuda", "host", "reference"};
/* What "auto" tries, in this order. The reference backend is correct, not fast: only by name. */
static const char *const automatic_backends[] = {"cuda", "host"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "host:1" -> "host", 1 */
static bool parse_device(const char *text, char *ret_name, size_t name_bytes, int *ret_ordinal)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char *end = NULL;
    long ordinal = 0;

    if (length == 0 || length >= name_bytes)
        return false;
    if (colon) {
        if (colon[1] < '0' || colon[1] > '9')
            return false;
        errno = 0;
        ordinal = strtol(colon + 1, &end, 10);
        if (*end != '\0' || errno || ordinal > 1023)
            return false;
    }
    memcpy(ret_name, text, length);
    ret_name[length] = '\0';
    *ret_ordinal = (int)ordinal;
    return true;
}

/* RTLD_NODELETE: a device runtime is never unloaded. It has threads and tables of its own, and a
 * profiler keeps addresses of its functions. */
static const int load_flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

static void *load(const char *name)
{
    char file[64], path[4096];
    void *plugin;

    snprintf(file, sizeof(file), "ag_backend_%s.so", name);
    plugin = dlopen(file, load_flags);
    if (plugin)
        return plugin;
    /* The first error is the telling one when the plugin is there and lacks a library. */
    ag_fail(NULL, AG_UNAVAILABLE, "device \"%s\" is not available here: %s", name, dlerror());
    snprintf(path, sizeof(path), "%s/%s", AG_PLUGIN_DIR, file);
    return dlopen(path, load_flags);
}

static enum ag_status open_one(const char *name, const struct ag_backend_config *config,
                               struct ag_backend **ret_backend, void **ret_plugin)
{
    const char *reason = "no reason given";
    void *plugin = load(name);
    ag_backend_open_fn *open;
    int status;

    if (!plugin)
        return AG_UNAVAILABLE;
    open = (ag_backend_open_fn *)dlsym(plugin, "ag_backend_open");
    if (!open) {
        ag_fail(NULL, AG_UNAVAILABLE, "ag_backend_%s.so is not a backend of this engine", name);
        dlclose(plugin);
        return AG_UNAVAILABLE;
    }
    status = open(config, ret_backend, &reason);
    if (status != AG_OK) {
        ag_fail(NULL, (enum ag_status)status, "device \"%s\" is not available here: %s", name,
                reason);
        dlclose(plugin);
        return (enum ag_status)status;
    }
    *ret_plugin = plugin;
    return AG_OK;
}

static enum ag_status open_automatic(const struct ag_backend_config *config,
                                     struct ag_backend **ret_backend, void **ret_plugin)
{
    enum ag_status status = AG_UNAVAILABLE;

    for (size_t i = 0; i < COUNT(automatic_backends); i++) {
        status = open_one(automatic_backends[i], config, ret_backend, ret_plugin);
        if (status == AG_OK)
            break;
    }
    return status;
}

enum ag_status ag_plugin_open(const char *device, struct ag_backend_config *config,
                              struct ag_backend **ret_backend, void **ret_plugin)
{
    char name[32];

    if (parse_device(device, name, sizeof(name), &config->device)) {
        if (!strcmp(name, "auto"))
            return open_automatic(config, ret_backend, ret_plugin);
        for (size_t i = 0; i < COUNT(known_backends); i++)
            if (!strcmp(name, known_backends[i]))
                return open_one(name, config, ret_backend, ret_plugin);
    }
    ag_fail(NULL, AG_INVALID_ARGUMENT,
            "no device \"%s\"; there are auto, cuda, host, reference, each also with :N", device);
    return AG_INVALID_ARGUMENT;
}
