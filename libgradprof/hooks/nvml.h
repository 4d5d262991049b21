/* SPDX-License-Identifier: MIT */
#ifndef GP_HOOKS_NVML_H
#define GP_HOOKS_NVML_H

#include <stdint.h>

/* Bytes that other processes use on the CUDA device, by NVML. GP_UNKNOWN_BYTES: NVML is not there, may not
 * tell, or does not see this process either (other process namespaces). */
uint64_t gp_nvml_others(int device);

#endif
