/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA driver's interface that is hooked, in types of our own, so that the toolkit is
 * not needed. tests/unit/driver_types_check.c compares them with the vendor's header where there is
 * one. Names end as the driver's symbols do (_v2, _ptsz): one name, one binary interface.
 */
#ifndef GP_HOOKS_DRIVER_TYPES_H
#define GP_HOOKS_DRIVER_TYPES_H

#include <stddef.h>

#define GP_CU_SUCCESS 0
#define GP_CU_ERROR_OUT_OF_MEMORY 2
#define GP_CU_ERROR_NOT_INITIALIZED 3
#define GP_CU_ERROR_NOT_FOUND 500

/* Opaque handles and results: names, so that the check can map them onto the vendor's. */
typedef int gp_cu_result;
typedef int gp_cu_device;
typedef unsigned long long gp_cu_pointer;  /* CUdeviceptr */
typedef unsigned long long gp_cu_physical; /* CUmemGenericAllocationHandle */
typedef void *gp_cu_stream;
typedef void *gp_cu_array;
typedef void *gp_cu_mipmap;
typedef void *gp_cu_pool;
typedef void *gp_cu_external;
typedef void *gp_cu_context;
typedef void *gp_cu_graph;
typedef void *gp_cu_node;
typedef void *gp_cu_exec;
typedef int gp_cu_enum;

struct gp_cu_ipc_handle {
    char reserved[64];
};

struct gp_cu_uuid {
    char bytes[16];
};

struct gp_cu_array_desc {
    size_t width, height; /* elements */
    gp_cu_enum format;
    unsigned int channels;
};

struct gp_cu_array3d_desc {
    size_t width, height, depth;
    gp_cu_enum format;
    unsigned int channels, flags;
};
#define GP_CU_ARRAY_LAYERED 0x01u  /* the depth counts layers */
#define GP_CU_ARRAY_CUBEMAP 0x04u  /* the depth counts faces */
#define GP_CU_ARRAY_SPARSE 0x40u   /* no memory of its own: it is mapped into it */
#define GP_CU_ARRAY_DEFERRED 0x80u /* likewise */

struct gp_cu_physical_prop { /* CUmemAllocationProp */
    gp_cu_enum type, handle_types;
    gp_cu_enum location_type;
    int location_id;
    void *win32;
    unsigned char flags[8];
};
#define GP_CU_LOCATION_DEVICE 1 /* every other place is in the host's memory */

struct gp_cu_pool_props {
    gp_cu_enum alloc_type, handle_types;
    gp_cu_enum location_type;
    int location_id;
    void *win32;
    size_t max_size; /* since 12.2; zero before */
    unsigned char reserved[56];
};

struct gp_cu_pool_pointer {
    unsigned char reserved[64];
};

struct gp_cu_graph_alloc { /* CUDA_MEM_ALLOC_NODE_PARAMS */
    struct gp_cu_pool_props pool;
    const void *access;
    size_t access_count;
    size_t size_bytes;
    gp_cu_pointer address;
};

struct gp_cu_external_buffer {
    unsigned long long offset, size;
    unsigned int flags;
    unsigned int reserved[16];
};

struct gp_cu_external_mipmap {
    unsigned long long offset;
    struct gp_cu_array3d_desc array;
    unsigned int levels;
    unsigned int reserved[16];
};

#define GP_CU_NODE_GRAPH 4 /* CUgraphNodeType */
#define GP_CU_NODE_ALLOC 10
#define GP_CU_NODE_FREE 11

#define GP_CU_POOL_RESERVED 5 /* CUmemPool_attribute: ..._RESERVED_MEM_CURRENT, a 64-bit number */
#define GP_CU_POOL_USED 7     /* ..._USED_MEM_CURRENT */
#define GP_CU_GRAPH_USED 0    /* CUgraphMem_attribute: likewise */
#define GP_CU_GRAPH_RESERVED 2

#define GP_CU_PER_THREAD_STREAM 2ull /* flags of cuGetProcAddress */

#endif
