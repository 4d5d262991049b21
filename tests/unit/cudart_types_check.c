/* SPDX-License-Identifier: MIT */
/*
 * Compile-time: our prototypes of the CUDA runtime against the vendor's header. Without the toolkit
 * there is nothing to compare with, and the test says so.
 */
#include <stdio.h>

#if HAVE_CUDA_HEADER
#include <assert.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

/* Ours, under other names, for the layouts. */
#define gp_cuda_error ours_error
#define gp_cuda_stream ours_stream
#define gp_cuda_array ours_array
#define gp_cuda_mipmap ours_mipmap
#define gp_cuda_pool ours_pool
#define gp_cuda_external ours_external
#include "libgradprof/hooks/cudart_types.h"
#undef gp_cuda_error
#undef gp_cuda_stream
#undef gp_cuda_array
#undef gp_cuda_mipmap
#undef gp_cuda_pool
#undef gp_cuda_external

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #ours " = " #theirs)
#define SAME_PLACE(ours, a, theirs, b)                                                             \
    static_assert(offsetof(ours, a) == offsetof(theirs, b), #ours "." #a " = " #theirs "." #b)
SAME_SIZE(struct gp_cuda_channel_desc, struct cudaChannelFormatDesc);
SAME_SIZE(struct gp_cuda_extent, struct cudaExtent);
SAME_SIZE(struct gp_cuda_pitched, struct cudaPitchedPtr);
SAME_SIZE(struct gp_cuda_ipc_handle, cudaIpcMemHandle_t);
SAME_SIZE(struct gp_cuda_pool_props, struct cudaMemPoolProps);
SAME_SIZE(struct gp_cuda_pool_pointer, struct cudaMemPoolPtrExportData);
SAME_SIZE(struct gp_cuda_external_buffer, struct cudaExternalMemoryBufferDesc);
SAME_SIZE(struct gp_cuda_external_mipmap, struct cudaExternalMemoryMipmappedArrayDesc);
SAME_PLACE(struct gp_cuda_pitched, pitch, struct cudaPitchedPtr, pitch);
SAME_PLACE(struct gp_cuda_pool_props, location_id, struct cudaMemPoolProps, location.id);
SAME_PLACE(struct gp_cuda_pool_props, max_size, struct cudaMemPoolProps, maxSize);
SAME_PLACE(struct gp_cuda_external_mipmap, extent, struct cudaExternalMemoryMipmappedArrayDesc,
           extent);
SAME_PLACE(struct gp_cuda_external_mipmap, levels, struct cudaExternalMemoryMipmappedArrayDesc,
           numLevels);
SAME_PLACE(struct gp_cuda_device_prop, total_bytes, struct cudaDeviceProp, totalGlobalMem);
static_assert(sizeof(struct cudaDeviceProp) <= GP_CUDA_DEVICE_PROP_BYTES, "the buffer holds it");
static_assert(GP_CUDA_ERROR_OUT_OF_MEMORY == cudaErrorMemoryAllocation, "the error's number");
static_assert(GP_CUDA_ERROR_INITIALIZATION == cudaErrorInitializationError, "the error's number");

/* The list again, in the vendor's types: each prototype must be the vendor's own. */
#define gp_cuda_channel_desc cudaChannelFormatDesc
#define gp_cuda_extent cudaExtent
#define gp_cuda_pitched cudaPitchedPtr
#define gp_cuda_ipc_handle cudaIpcMemHandle_st
#define gp_cuda_pool_props cudaMemPoolProps
#define gp_cuda_pool_pointer cudaMemPoolPtrExportData
#define gp_cuda_external_buffer cudaExternalMemoryBufferDesc
#define gp_cuda_external_mipmap cudaExternalMemoryMipmappedArrayDesc
#define gp_cuda_device_prop cudaDeviceProp
typedef cudaStream_t gp_cuda_stream;
typedef cudaArray_t gp_cuda_array;
typedef cudaMipmappedArray_t gp_cuda_mipmap;
typedef cudaMemPool_t gp_cuda_pool;
typedef cudaExternalMemory_t gp_cuda_external;

/* Not in the header: other forms of a function that is. */
cudaError_t cudaMallocAsync_ptsz(void **, size_t, cudaStream_t);
cudaError_t cudaFreeAsync_ptsz(void *, cudaStream_t);
cudaError_t cudaMallocFromPoolAsync_ptsz(void **, size_t, cudaMemPool_t, cudaStream_t);
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *, int);
cudaError_t cudaThreadExit(void);
cudaError_t hostcudaIsStandIn(void);
cudaError_t hostcudaSetMemory(int, size_t);

#define CHECK(function, parameters)                                                                \
    static_assert(__builtin_types_compatible_p(__typeof__(function), cudaError_t parameters),      \
                  #function " is declared as the vendor does");
#define GP_HOOK(function, parameters) CHECK(function, parameters)
#define GP_REAL(function, parameters) CHECK(function, parameters)
#include "libgradprof/hooks/cudart.def"

int main(void)
{
    printf("checked against CUDA runtime %d\n", CUDART_VERSION);
    return 0;
}
#else
int main(void)
{
    puts("no cuda_runtime_api.h here: our prototypes were not compared with the vendor's");
    return 77;
}
#endif
