/* SPDX-License-Identifier: MIT */
/*
 * Sizes, offsets and numbers that the stand-in's header shares with the vendor's. The list is
 * compiled twice, once with each header, into two arrays that must be equal.
 */
#ifndef HOSTCUDA_LAYOUT_H
#define HOSTCUDA_LAYOUT_H

#include <stddef.h>

struct layout_entry {
    const char *what;
    long value;
};

#define LAYOUT_SIZE(type)                                                                          \
    {                                                                                              \
        "size of " #type, (long)sizeof(type)                                                       \
    }
#define LAYOUT_FIELD(type, field)                                                                  \
    {                                                                                              \
#type "." #field, (long)offsetof(type, field)                                              \
    }
#define LAYOUT_NUMBER(name)                                                                        \
    {                                                                                              \
#name, (long)(name)                                                                        \
    }

#define LAYOUT_ENTRIES                                                                             \
    LAYOUT_SIZE(struct cudaDeviceProp), LAYOUT_FIELD(struct cudaDeviceProp, name),                 \
        LAYOUT_FIELD(struct cudaDeviceProp, uuid), LAYOUT_FIELD(struct cudaDeviceProp, luid),      \
        LAYOUT_FIELD(struct cudaDeviceProp, luidDeviceNodeMask),                                   \
        LAYOUT_FIELD(struct cudaDeviceProp, totalGlobalMem),                                       \
        LAYOUT_FIELD(struct cudaDeviceProp, sharedMemPerBlock),                                    \
        LAYOUT_FIELD(struct cudaDeviceProp, regsPerBlock),                                         \
        LAYOUT_FIELD(struct cudaDeviceProp, warpSize),                                             \
        LAYOUT_FIELD(struct cudaDeviceProp, memPitch),                                             \
        LAYOUT_FIELD(struct cudaDeviceProp, maxThreadsPerBlock),                                   \
        LAYOUT_FIELD(struct cudaDeviceProp, maxThreadsDim),                                        \
        LAYOUT_FIELD(struct cudaDeviceProp, maxGridSize),                                          \
        LAYOUT_FIELD(struct cudaDeviceProp, totalConstMem),                                        \
        LAYOUT_FIELD(struct cudaDeviceProp, major), LAYOUT_FIELD(struct cudaDeviceProp, minor),    \
        LAYOUT_FIELD(struct cudaDeviceProp, textureAlignment),                                     \
        LAYOUT_FIELD(struct cudaDeviceProp, texturePitchAlignment),                                \
        LAYOUT_FIELD(struct cudaDeviceProp, multiProcessorCount),                                  \
        LAYOUT_FIELD(struct cudaDeviceProp, integrated),                                           \
        LAYOUT_FIELD(struct cudaDeviceProp, canMapHostMemory),                                     \
        LAYOUT_SIZE(struct cudaMemPoolProps), LAYOUT_FIELD(struct cudaMemPoolProps, allocType),    \
        LAYOUT_FIELD(struct cudaMemPoolProps, handleTypes),                                        \
        LAYOUT_FIELD(struct cudaMemPoolProps, location),                                           \
        LAYOUT_FIELD(struct cudaMemPoolProps, win32SecurityAttributes),                            \
        LAYOUT_FIELD(struct cudaMemPoolProps, maxSize),                                            \
        LAYOUT_FIELD(struct cudaMemPoolProps, usage), LAYOUT_SIZE(struct cudaExtent),              \
        LAYOUT_SIZE(struct cudaPitchedPtr), LAYOUT_FIELD(struct cudaPitchedPtr, pitch),            \
        LAYOUT_FIELD(struct cudaPitchedPtr, xsize), LAYOUT_FIELD(struct cudaPitchedPtr, ysize),    \
        LAYOUT_SIZE(struct cudaChannelFormatDesc), LAYOUT_FIELD(struct cudaChannelFormatDesc, f),  \
        LAYOUT_SIZE(cudaError_t), LAYOUT_NUMBER(cudaSuccess),                                      \
        LAYOUT_NUMBER(cudaErrorInvalidValue), LAYOUT_NUMBER(cudaErrorMemoryAllocation),            \
        LAYOUT_NUMBER(cudaErrorInitializationError), LAYOUT_NUMBER(cudaErrorCudartUnloading),      \
        LAYOUT_NUMBER(cudaErrorInvalidChannelDescriptor),                                          \
        LAYOUT_NUMBER(cudaErrorInvalidMemcpyDirection),                                            \
        LAYOUT_NUMBER(cudaErrorInsufficientDriver), LAYOUT_NUMBER(cudaErrorDevicesUnavailable),    \
        LAYOUT_NUMBER(cudaErrorNoDevice), LAYOUT_NUMBER(cudaErrorInvalidDevice),                   \
        LAYOUT_NUMBER(cudaErrorOperatingSystem), LAYOUT_NUMBER(cudaErrorInvalidResourceHandle),    \
        LAYOUT_NUMBER(cudaErrorNotReady), LAYOUT_NUMBER(cudaErrorIllegalAddress),                  \
        LAYOUT_NUMBER(cudaErrorLaunchOutOfResources),                                              \
        LAYOUT_NUMBER(cudaErrorHostMemoryAlreadyRegistered),                                       \
        LAYOUT_NUMBER(cudaErrorHostMemoryNotRegistered), LAYOUT_NUMBER(cudaErrorLaunchFailure),    \
        LAYOUT_NUMBER(cudaErrorNotPermitted), LAYOUT_NUMBER(cudaErrorNotSupported),                \
        LAYOUT_NUMBER(cudaErrorUnknown), LAYOUT_NUMBER(cudaMemcpyDefault),                         \
        LAYOUT_NUMBER(cudaMemcpyHostToDevice), LAYOUT_NUMBER(cudaMemcpyDeviceToHost),              \
        LAYOUT_NUMBER(cudaChannelFormatKindFloat), LAYOUT_NUMBER(cudaMemLocationTypeDevice),       \
        LAYOUT_NUMBER(cudaMemAllocationTypePinned), LAYOUT_NUMBER(cudaMemHandleTypeNone),          \
        LAYOUT_NUMBER(cudaMemPoolReuseFollowEventDependencies),                                    \
        LAYOUT_NUMBER(cudaMemPoolAttrReleaseThreshold), LAYOUT_NUMBER(cudaMemPoolAttrUsedMemHigh), \
        LAYOUT_NUMBER(cudaStreamNonBlocking), LAYOUT_NUMBER(cudaEventDisableTiming),               \
        LAYOUT_NUMBER(cudaMemAttachGlobal), LAYOUT_NUMBER(cudaMemAttachHost),                      \
        LAYOUT_NUMBER(cudaStreamLegacy), LAYOUT_NUMBER(cudaStreamPerThread)

/* NULL where the vendor's header is not installed; else ends with an entry without name. */
extern const struct layout_entry *const vendor_layout;

#endif
