/* SPDX-License-Identifier: MIT */
/* The reference backend's memory: the CUDA runtime's calls, answered by the host stand-in. */
#ifndef AG_REFERENCE_MEMORY_H
#define AG_REFERENCE_MEMORY_H

#include "engine/backend/backend.h"

struct ref_memory;

/* An enum ag_status; on failure *ret_error is a static line. */
int ref_memory_create(const struct ag_backend_config *config, struct ref_memory **ret_memory,
                      const char **ret_error);
void ref_memory_destroy(struct ref_memory *memory);

int ref_memory_allocate(struct ref_memory *memory, size_t size_bytes, void **ret_address);
void ref_memory_free(struct ref_memory *memory, void *address);
int ref_memory_copy_in(struct ref_memory *memory, void *to, const void *from_host,
                       size_t size_bytes);
int ref_memory_copy_out(struct ref_memory *memory, void *to_host, const void *from,
                        size_t size_bytes);
int ref_memory_synchronize(struct ref_memory *memory);

#endif
