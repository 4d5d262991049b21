/* SPDX-License-Identifier: MIT */
/* Copies and fills. Device memory is host memory, so every direction is memcpy, at once. */
#include <string.h>

#include "engine/hostcuda/config.h"

static cudaError_t copy(const char *function, void *dst, const void *src, size_t count,
                        enum cudaMemcpyKind kind)
{
    cudaError_t status = hc_enter(function);

    if (status)
        return hc_return(status);
    if ((unsigned)kind > cudaMemcpyDefault)
        return hc_return(cudaErrorInvalidMemcpyDirection);
    if (count == 0)
        return cudaSuccess;
    if (!dst || !src)
        return hc_return(cudaErrorInvalidValue);
    memmove(dst, src, count);
    return cudaSuccess;
}

static cudaError_t set(const char *function, void *ptr, int value, size_t count)
{
    cudaError_t status = hc_enter(function);

    if (status)
        return hc_return(status);
    if (count == 0)
        return cudaSuccess;
    if (!ptr)
        return hc_return(cudaErrorInvalidValue);
    memset(ptr, value, count);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return copy(__func__, dst, src, count, kind);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    return copy(__func__, dst, src, count, kind);
}

cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    (void)stream;
    return copy(__func__, dst, src, count, kind);
}

cudaError_t cudaMemset(void *ptr, int value, size_t count)
{
    return set(__func__, ptr, value, count);
}

cudaError_t cudaMemsetAsync(void *ptr, int value, size_t count, cudaStream_t stream)
{
    (void)stream;
    return set(__func__, ptr, value, count);
}

cudaError_t cudaMemsetAsync_ptsz(void *ptr, int value, size_t count, cudaStream_t stream)
{
    (void)stream;
    return set(__func__, ptr, value, count);
}
