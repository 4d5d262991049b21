/* SPDX-License-Identifier: MIT */
/* Devices, their properties, errors, streams and events. Three devices of 512 MiB. */
#include <time.h>
#include <unistd.h>

#include "tests/engine/hostcuda_test.h"

static void devices_are_counted(void **state)
{
    int value = -1;

    (void)state;
    assert_int_equal(hostcudaIsStandIn(), 1);
    assert_cuda_ok(cudaGetDeviceCount(&value));
    assert_int_equal(value, 3);
    assert_cuda_ok(cudaSetDevice(2));
    assert_cuda_ok(cudaGetDevice(&value));
    assert_int_equal(value, 2);
    assert_cuda_error(cudaSetDevice(3), cudaErrorInvalidDevice);
    assert_cuda_error(cudaSetDevice(-1), cudaErrorInvalidDevice);
    assert_cuda_ok(cudaGetDevice(&value));
    assert_int_equal(value, 2);
    assert_cuda_error(cudaGetDevice(NULL), cudaErrorInvalidValue);
    assert_cuda_error(cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
    assert_cuda_ok(cudaRuntimeGetVersion(&value));
    assert_int_equal(value, 13000);
    assert_cuda_ok(cudaDriverGetVersion(&value));
    assert_int_equal(value, 13000);
    assert_cuda_ok(cudaDeviceSynchronize());
}

static void capacity_can_be_set(void **state)
{
    size_t free, total;
    void *p, *q;

    (void)state;
    assert_cuda_ok(cudaMalloc(&p, 1000));
    assert_int_equal(hostcudaSetMemory(0, 500), 0);
    assert_cuda_ok(cudaMemGetInfo(&free, &total));
    assert_int_equal(free, 0); /* live allocations stay */
    assert_int_equal(total, 500);
    assert_cuda_error(cudaMalloc(&q, 1), cudaErrorMemoryAllocation);
    assert_int_equal(hostcudaSetMemory(0, 1001), 0);
    assert_cuda_ok(cudaMalloc(&q, 1));
    assert_cuda_ok(cudaFree(p));
    assert_cuda_ok(cudaFree(q));
    assert_cuda_error((cudaError_t)hostcudaSetMemory(3, 1), cudaErrorInvalidDevice);
    assert_int_equal(hostcudaSetMemory(-1, 512 * MIB), 0);
    assert_int_equal(free_bytes(), 512 * MIB);
}

static void properties_say_what_it_is(void **state)
{
    struct cudaDeviceProp prop;
    unsigned char old[CUDA12_DEVICE_PROP_BYTES + 1];
    size_t total;
    int processors;

    (void)state;
    memset(&prop, 0xff, sizeof(prop));
    assert_cuda_ok(cudaGetDeviceProperties(&prop, 1));
    assert_string_equal(prop.name, "host stand-in, no GPU");
    assert_int_equal(prop.totalGlobalMem, 512 * MIB);
    assert_int_equal(prop.multiProcessorCount, sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(prop.unnamed[sizeof(prop.unnamed) - 1], 0);

    memset(old, 0xff, sizeof(old));
    assert_cuda_ok(cudaGetDeviceProperties_v2(old, 1));
    assert_string_equal((char *)old, "host stand-in, no GPU");
    memcpy(&total, old + 288, sizeof(total));
    assert_int_equal(total, 512 * MIB);
    memcpy(&processors, old + 388, sizeof(processors)); /* its place in CUDA 12 */
    assert_int_equal(processors, sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(old[CUDA12_DEVICE_PROP_BYTES - 1], 0);
    assert_int_equal(old[CUDA12_DEVICE_PROP_BYTES], 0xff); /* and nothing beyond */

    assert_cuda_error(cudaGetDeviceProperties(&prop, 3), cudaErrorInvalidDevice);
    assert_cuda_error(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    assert_cuda_error(cudaGetDeviceProperties_v2(old, -1), cudaErrorInvalidDevice);
}

static void errors_have_names(void **state)
{
    (void)state;
    assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
    assert_string_equal(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}

static void the_last_error_stays_until_read(void **state)
{
    int value;

    (void)state;
    assert_int_equal(cudaSetDevice(7), cudaErrorInvalidDevice);
    assert_cuda_ok(cudaGetDevice(&value)); /* a success does not clear it */
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

static void streams_come_and_go(void **state)
{
    cudaStream_t stream;
    cudaEvent_t event;

    (void)state;
    assert_cuda_ok(cudaStreamCreate(&stream));
    assert_cuda_ok(cudaStreamQuery(stream));
    assert_cuda_ok(cudaStreamSynchronize(stream));
    assert_cuda_ok(cudaEventCreate(&event));
    assert_cuda_ok(cudaStreamWaitEvent(stream, event, 0));
    assert_cuda_error(cudaStreamWaitEvent(stream, NULL, 0), cudaErrorInvalidResourceHandle);
    assert_cuda_ok(cudaEventDestroy(event));
    assert_cuda_ok(cudaStreamDestroy(stream));
    assert_cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda_ok(cudaStreamDestroy(stream));
    assert_cuda_ok(cudaStreamCreateWithPriority(&stream, 0, -5));
    assert_cuda_ok(cudaStreamDestroy(stream));
    assert_cuda_ok(cudaStreamSynchronize(NULL));
    assert_cuda_ok(cudaStreamSynchronize(cudaStreamPerThread));
    assert_cuda_error(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
    assert_cuda_error(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
    assert_cuda_error(cudaStreamCreateWithFlags(&stream, 2), cudaErrorInvalidValue);
    assert_cuda_error(cudaStreamCreate(NULL), cudaErrorInvalidValue);
}

static void events_tell_time(void **state)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    cudaEvent_t start, end, untimed;
    float ms = -1;

    (void)state;
    assert_cuda_ok(cudaEventCreate(&start));
    assert_cuda_ok(cudaEventCreateWithFlags(&end, 0));
    assert_cuda_ok(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    assert_cuda_ok(cudaEventRecord(start, NULL));
    assert_cuda_error(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
    nanosleep(&pause, NULL);
    assert_cuda_ok(cudaEventRecord(end, NULL));
    assert_cuda_ok(cudaEventSynchronize(end));
    assert_cuda_ok(cudaEventQuery(end));
    assert_cuda_ok(cudaEventElapsedTime(&ms, start, end));
    assert_true(ms >= 20 && ms < 20000);
    assert_cuda_ok(cudaEventElapsedTime(&ms, end, start));
    assert_true(ms <= -20);
    assert_cuda_ok(cudaEventRecord(untimed, NULL));
    assert_cuda_error(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
    assert_cuda_error(cudaEventElapsedTime(NULL, start, end), cudaErrorInvalidValue);
    assert_cuda_error(cudaEventRecord(NULL, NULL), cudaErrorInvalidResourceHandle);
    assert_cuda_error(cudaEventCreateWithFlags(&start, 8), cudaErrorInvalidValue);
    assert_cuda_ok(cudaEventDestroy(start));
    assert_cuda_ok(cudaEventDestroy(end));
    assert_cuda_ok(cudaEventDestroy(untimed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(devices_are_counted, nothing_left),
        cmocka_unit_test_teardown(capacity_can_be_set, nothing_left),
        cmocka_unit_test_teardown(properties_say_what_it_is, nothing_left),
        cmocka_unit_test_teardown(errors_have_names, nothing_left),
        cmocka_unit_test_teardown(the_last_error_stays_until_read, nothing_left),
        cmocka_unit_test_teardown(streams_come_and_go, nothing_left),
        cmocka_unit_test_teardown(events_tell_time, nothing_left),
    };

    setenv("HOSTCUDA_DEVICES", "3", 1);
    setenv("HOSTCUDA_MEMORY", "512M", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
