/* SPDX-License-Identifier: MIT */
/* The HOSTCUDA_* environment, injected faults, and the error each thread remembers. */
#ifndef HOSTCUDA_CONFIG_H
#define HOSTCUDA_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "engine/hostcuda/hostcuda_runtime.h"

#define HC_MAX_DEVICES 16
#define HC_DEFAULT_MEMORY_BYTES ((size_t)8 << 30)

struct hc_config {
    int device_count;
    size_t memory_bytes;    /* capacity of each device */
    uint64_t latency_ns;    /* added to each allocation and free */
    char fail_function[64]; /* "": no fault to inject, "*": any function */
    uint64_t fail_nth;      /* 1: the first call */
    int fail_error;
};

/* Read once, at the first call. A bad value is told in one line on stderr and the default used. */
const struct hc_config *hc_config(void);

/* "8GiB", "512M", "1073741824" -> bytes. Returns 0, or -1 for anything else. */
int hc_parse_bytes(const char *text, size_t *ret_bytes);

/* First statement of every exported function that can fail: counts the call and returns the
 * injected error when its turn has come, else cudaSuccess. The function then has no other effect.
 */
cudaError_t hc_enter(const char *function);

/* Busy-waits HOSTCUDA_LATENCY_NS. */
void hc_latency(void);

/* Last statement of every exported function: remembers a failure for cudaGetLastError. */
cudaError_t hc_return(cudaError_t status);

#endif
