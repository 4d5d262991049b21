/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA runtime's interface that is hooked, in types of our own, so that the toolkit is
 * not needed. Valid for libcudart 11, 12 and 13 on x86-64; tests/unit/cudart_types_check.c compares
 * them with the vendor's header where there is one.
 */
#ifndef GP_HOOKS_CUDART_TYPES_H
#define GP_HOOKS_CUDART_TYPES_H

#include <stddef.h>

#define GP_CUDA_SUCCESS 0
#define GP_CUDA_ERROR_OUT_OF_MEMORY 2  /* cudaErrorMemoryAllocation */
#define GP_CUDA_ERROR_INITIALIZATION 3 /* cudaErrorInitializationError */

/* Opaque handles and results: names, so that the check can map them onto the vendor's. */
typedef int gp_cuda_error;
typedef void *gp_cuda_stream;
typedef void *gp_cuda_array;
typedef void *gp_cuda_mipmap;
typedef void *gp_cuda_pool;
typedef void *gp_cuda_external;

struct gp_cuda_channel_desc {
    int x, y, z, w; /* bits */
    int format;
};

struct gp_cuda_extent {
    size_t width, height, depth; /* width: bytes for pitched memory, elements for arrays */
};

struct gp_cuda_pitched {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct gp_cuda_ipc_handle {
    char reserved[64];
};

struct gp_cuda_pool_props {
    int alloc_type, handle_types;
    int location_type, location_id;
    void *security_attributes;
    size_t max_size; /* since 12.2; zero before */
    unsigned char reserved[56];
};

struct gp_cuda_pool_pointer {
    unsigned char reserved[64];
};

struct gp_cuda_external_buffer {
    unsigned long long offset, size;
    unsigned int flags;
    unsigned int reserved[16];
};

struct gp_cuda_external_mipmap {
    unsigned long long offset;
    struct gp_cuda_channel_desc format;
    struct gp_cuda_extent extent;
    unsigned int flags, levels;
    unsigned int reserved[16];
};

/* cudaDeviceProp: only its beginning is the same in every version; the whole is larger. */
struct gp_cuda_device_prop {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned int luid_device_node_mask;
    size_t total_bytes; /* totalGlobalMem */
};
#define GP_CUDA_DEVICE_PROP_BYTES 8192u /* larger than any version's */

#endif
