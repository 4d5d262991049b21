/* SPDX-License-Identifier: MIT */
/* The few functions of the CUDA runtime that the host programs call. */
#ifndef TESTS_HOSTS_CUDA_H
#define TESTS_HOSTS_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
int cudaMalloc(void **ret_address, size_t size_bytes);
int cudaFree(void *address);
int cudaMallocAsync(void **ret_address, size_t size_bytes, void *stream);
int cudaFreeAsync(void *address, void *stream);
int cudaMallocHost(void **ret_address, size_t size_bytes);
int cudaFreeHost(void *address);
int cudaMallocManaged(void **ret_address, size_t size_bytes, unsigned int flags);
int cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width_bytes, size_t height);
int cudaSetDevice(int device);
int cudaGetLastError(void);
int cudaMemGetInfo(size_t *ret_free_bytes, size_t *ret_total_bytes);
int cudaDeviceReset(void);
#ifdef __cplusplus
}
#endif

#endif
