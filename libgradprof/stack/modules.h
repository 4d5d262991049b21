/* SPDX-License-Identifier: MIT */
/* Which loaded object an address lies in: path, build id, load bias. */
#ifndef GP_STACK_MODULES_H
#define GP_STACK_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_BUILD_ID_MAX 32u /* bytes kept */

struct gp_module {
    uintptr_t base;       /* load bias: an address minus it is the ELF file's own virtual address */
    uintptr_t start, end; /* of the mapped segments */
    _Atomic uint32_t epoch; /* run whose log has the MODULE event */
    uint32_t build_id_bytes, path_bytes;
    unsigned char name[]; /* build id, then the path (not terminated) */
};

/* Looks again at what is loaded when something came or went since. Never call it with a lock held: it
 * takes the loader's. Returns a number that changes when an object was unloaded: addresses may mean
 * something else from then on. */
uint64_t gp_modules_refresh(void);

/* NULL: in no object known at the last refresh. Takes no lock. */
struct gp_module *gp_module_find(uintptr_t address);

/* Bounds of libgradprof's own code, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static inline bool gp_module_is_own(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}

void gp_modules_forked(void);

#endif
