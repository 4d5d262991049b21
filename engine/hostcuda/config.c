/* SPDX-License-Identifier: MIT */
#include "engine/hostcuda/config.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define MAX_LATENCY_NS NS_PER_S

static struct hc_config config;
static pthread_once_t config_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t calls_of_fail_function;
static _Thread_local cudaError_t last_error;

static int parse_number(const char *text, uint64_t *ret_value, const char **ret_rest)
{
    char *rest;

    if (!isdigit((unsigned char)text[0]))
        return -1;
    errno = 0;
    unsigned long long value = strtoull(text, &rest, 10);
    if (errno)
        return -1;
    *ret_value = value;
    *ret_rest = rest;
    return 0;
}

int hc_parse_bytes(const char *text, size_t *ret_bytes)
{
    static const char units[] = "KMGT";
    uint64_t value;
    const char *rest;
    unsigned shift = 0;

    if (parse_number(text, &value, &rest))
        return -1;
    const char *unit = *rest ? strchr(units, *rest) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        rest++;
        if (*rest == 'i')
            rest++;
    }
    if (*rest == 'B')
        rest++;
    if (*rest || value > SIZE_MAX >> shift)
        return -1;
    *ret_bytes = (size_t)value << shift;
    return 0;
}

static void warn(const char *name, const char *value, const char *allowed)
{
    fprintf(stderr, "hostcuda: %s=%s ignored: must be %s\n", name, value, allowed);
}

/* Returns 0 and the number where `name` is set to one in [low, high]; warns when it is set wrong.
 */
static int read_number(const char *name, uint64_t low, uint64_t high, const char *allowed,
                       uint64_t *ret_value)
{
    const char *text = getenv(name);
    const char *rest;
    uint64_t value;

    if (!text)
        return -1;
    if (parse_number(text, &value, &rest) || *rest || value < low || value > high) {
        warn(name, text, allowed);
        return -1;
    }
    *ret_value = value;
    return 0;
}

static int parse_fail(const char *text)
{
    const char *colon = strchr(text, ':');
    const char *rest;
    uint64_t nth, error = cudaErrorMemoryAllocation;

    if (!colon || colon == text || (size_t)(colon - text) >= sizeof(config.fail_function))
        return -1;
    if (parse_number(colon + 1, &nth, &rest) || nth == 0)
        return -1;
    if (*rest == ':' && parse_number(rest + 1, &error, &rest))
        return -1;
    if (*rest || error == 0 || error > 9999)
        return -1;
    memcpy(config.fail_function, text, (size_t)(colon - text));
    config.fail_nth = nth;
    config.fail_error = (int)error;
    return 0;
}

static void read_config(void)
{
    const char *memory = getenv("HOSTCUDA_MEMORY");
    const char *fail = getenv("HOSTCUDA_FAIL");
    uint64_t value;

    config.device_count = 1;
    config.memory_bytes = HC_DEFAULT_MEMORY_BYTES;
    if (!read_number("HOSTCUDA_DEVICES", 1, HC_MAX_DEVICES, "1..16", &value))
        config.device_count = (int)value;
    if (memory && hc_parse_bytes(memory, &config.memory_bytes))
        warn("HOSTCUDA_MEMORY", memory, "a size such as 8GiB, 512MiB or 1000000");
    if (fail && parse_fail(fail))
        warn("HOSTCUDA_FAIL", fail, "FUNCTION:N[:ERROR], N >= 1, ERROR a number >= 1");
    if (!read_number("HOSTCUDA_LATENCY_NS", 0, MAX_LATENCY_NS, "0..1000000000", &value))
        config.latency_ns = value;
}

const struct hc_config *hc_config(void)
{
    pthread_once(&config_once, read_config);
    return &config;
}

cudaError_t hc_enter(const char *function)
{
    const struct hc_config *c = hc_config();

    if (!c->fail_function[0])
        return cudaSuccess;
    if (strcmp(c->fail_function, "*") != 0 && strcmp(c->fail_function, function) != 0)
        return cudaSuccess;
    if (atomic_fetch_add(&calls_of_fail_function, 1) + 1 != c->fail_nth)
        return cudaSuccess;
    return (cudaError_t)c->fail_error;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void hc_latency(void)
{
    uint64_t latency_ns = hc_config()->latency_ns;

    if (latency_ns == 0)
        return;
    for (uint64_t start_ns = now_ns(); now_ns() - start_ns < latency_ns;)
        continue;
}

cudaError_t hc_return(cudaError_t status)
{
    if (status != cudaSuccess)
        last_error = status;
    return status;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define HC_ERROR(name, value, text)                                                                \
    case value:                                                                                    \
        return #name;
#include "engine/hostcuda/errors.def"
#undef HC_ERROR
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
#define HC_ERROR(name, value, text)                                                                \
    case value:                                                                                    \
        return text;
#include "engine/hostcuda/errors.def"
#undef HC_ERROR
    }
    return "unrecognized error code";
}
