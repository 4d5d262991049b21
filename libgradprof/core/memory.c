/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/memory.h"

#include <sys/mman.h>

void *gp_pages_map(size_t size_bytes)
{
    void *pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void gp_pages_unmap(void *pages, size_t size_bytes)
{
    if (pages != NULL)
        munmap(pages, size_bytes);
}

void *gp_arena_alloc(struct gp_arena *arena, size_t size_bytes)
{
    size_bytes = (size_bytes + 15) & ~(size_t)15;
    if (arena->chunk_bytes - arena->used_bytes < size_bytes) {
        size_t chunk_bytes = size_bytes > GP_ARENA_CHUNK_BYTES ? size_bytes : GP_ARENA_CHUNK_BYTES;
        unsigned char *chunk = gp_pages_map(chunk_bytes);
        if (chunk == NULL)
            return NULL;
        arena->chunk = chunk;
        arena->chunk_bytes = chunk_bytes;
        arena->used_bytes = 0;
    }
    void *result = arena->chunk + arena->used_bytes;
    arena->used_bytes += size_bytes;
    return result;
}
