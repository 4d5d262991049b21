/* SPDX-License-Identifier: MIT */
/* Streams and events. Work is done when it is called, so every stream is always idle. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "engine/hostcuda/config.h"

#define STREAM_MAGIC 0x6d727473u /* "strm" */
#define EVENT_MAGIC 0x746e7665u  /* "evnt" */
#define EVENT_FLAGS 0x7u         /* blocking sync, disable timing, interprocess */
#define NS_PER_S 1000000000ull
#define NS_PER_MS 1e6

struct CUstream_st {
    unsigned magic;
};

struct CUevent_st {
    unsigned magic;
    unsigned flags;
    _Atomic uint64_t recorded_ns; /* 0: not recorded */
};

/* The null, the legacy and the per-thread stream are constants, no pointers. */
static bool stream_valid(cudaStream_t stream)
{
    return (uintptr_t)stream <= (uintptr_t)cudaStreamPerThread || stream->magic == STREAM_MAGIC;
}

static bool event_valid(cudaEvent_t event)
{
    return event && event->magic == EVENT_MAGIC;
}

static cudaError_t create_stream(const char *function, cudaStream_t *ret_stream, unsigned int flags)
{
    cudaError_t status = hc_enter(function);

    if (status)
        return hc_return(status);
    if (!ret_stream || flags & ~cudaStreamNonBlocking)
        return hc_return(cudaErrorInvalidValue);
    cudaStream_t stream = malloc(sizeof(*stream));
    if (!stream)
        return hc_return(cudaErrorMemoryAllocation);
    stream->magic = STREAM_MAGIC;
    *ret_stream = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return create_stream(__func__, stream, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return create_stream(__func__, stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)priority; /* clamped to the device's range, which is a single value here */
    return create_stream(__func__, stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t status = hc_enter(__func__);

    if (status)
        return hc_return(status);
    if ((uintptr_t)stream <= (uintptr_t)cudaStreamPerThread || stream->magic != STREAM_MAGIC)
        return hc_return(cudaErrorInvalidResourceHandle);
    stream->magic = 0;
    free(stream);
    return cudaSuccess;
}

static cudaError_t check_stream(const char *function, cudaStream_t stream)
{
    cudaError_t status = hc_enter(function);

    if (!status && !stream_valid(stream))
        status = cudaErrorInvalidResourceHandle;
    return status;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return hc_return(check_stream(__func__, stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return hc_return(check_stream(__func__, stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t status = check_stream(__func__, stream);

    (void)flags;
    if (!status && !event_valid(event))
        status = cudaErrorInvalidResourceHandle;
    return hc_return(status);
}

static cudaError_t create_event(const char *function, cudaEvent_t *ret_event, unsigned int flags)
{
    cudaError_t status = hc_enter(function);

    if (status)
        return hc_return(status);
    if (!ret_event || flags & ~EVENT_FLAGS)
        return hc_return(cudaErrorInvalidValue);
    cudaEvent_t event = malloc(sizeof(*event));
    if (!event)
        return hc_return(cudaErrorMemoryAllocation);
    event->magic = EVENT_MAGIC;
    event->flags = flags;
    atomic_init(&event->recorded_ns, 0);
    *ret_event = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return create_event(__func__, event, 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return create_event(__func__, event, flags);
}

static cudaError_t check_event(const char *function, cudaEvent_t event)
{
    cudaError_t status = hc_enter(function);

    if (!status && !event_valid(event))
        status = cudaErrorInvalidResourceHandle;
    return status;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t status = check_event(__func__, event);
    struct timespec now;

    if (!status && !stream_valid(stream))
        status = cudaErrorInvalidResourceHandle;
    if (status)
        return hc_return(status);
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&event->recorded_ns, (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return hc_return(check_event(__func__, event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return hc_return(check_event(__func__, event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t status = check_event(__func__, start);

    if (status)
        return hc_return(status);
    if (!ms)
        return hc_return(cudaErrorInvalidValue);
    if (!event_valid(end) || (start->flags | end->flags) & cudaEventDisableTiming)
        return hc_return(cudaErrorInvalidResourceHandle);
    uint64_t start_ns = atomic_load(&start->recorded_ns), end_ns = atomic_load(&end->recorded_ns);
    if (!start_ns || !end_ns)
        return hc_return(cudaErrorInvalidResourceHandle);
    *ms = (float)((double)(int64_t)(end_ns - start_ns) / NS_PER_MS);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t status = check_event(__func__, event);

    if (status)
        return hc_return(status);
    event->magic = 0;
    free(event);
    return cudaSuccess;
}
