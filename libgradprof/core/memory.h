/* SPDX-License-Identifier: MIT */
/* Memory that does not come from the host's malloc, which a hook must not enter. */
#ifndef GP_CORE_MEMORY_H
#define GP_CORE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define GP_ARENA_CHUNK_BYTES (UINT64_C(256) << 10)

/* Zeroed private pages, or NULL. */
void *gp_pages_map(size_t size_bytes);
void gp_pages_unmap(void *pages, size_t size_bytes);

/* Grows only; what is allocated lives as long as the process. The caller holds its own lock. */
struct gp_arena {
    unsigned char *chunk;
    size_t used_bytes, chunk_bytes;
};

void *gp_arena_alloc(struct gp_arena *arena,
                     size_t size_bytes); /* 16-byte aligned, zeroed; or NULL */

#endif
