/* SPDX-License-Identifier: MIT */
/*
 * Code address -> function, file, line, with inlined calls, from the DWARF data of the module it
 * lies in. symbols.c is the only file that includes elfutils; symbols_none.c replaces it in a build
 * without. A failure is never an error: the answer just says less.
 */
#ifndef GV_SYMBOLS_H
#define GV_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define GV_INLINE_MAX 16

struct gv_symbol { /* texts belong to the gv_symbols that was asked, or NULL: not known */
    const char *function, *file;
    uint32_t line; /* 0: not known */
};

enum gv_module_state {
    GV_MODULE_OK,
    GV_MODULE_MISSING, /* no such file any more, or not one that can be read */
    GV_MODULE_CHANGED, /* its build id differs: it was rebuilt since the run, lines would be wrong */
    GV_MODULE_NO_LINES /* the file has no debug information */
};

struct gv_module {
    const char *path; /* NULL: not known */
    uint64_t base;
    const unsigned char *build_id;
    size_t build_id_bytes; /* 0: not known */
};

struct gv_symbols;

struct gv_symbols *gv_symbols_create(void); /* NULL: no memory, or a build without symbols */
void gv_symbols_destroy(struct gv_symbols *symbols); /* accepts NULL */

/* Fills `ret` innermost first (an inlined function stands before the one it was inlined into) and
 * returns how many, 0 when nothing is known. `module_key`: any number that names the module, small
 * and dense; `address` as it was in the process, not a return address. */
int gv_symbols_find(struct gv_symbols *symbols, uint32_t module_key, const struct gv_module *module,
                    uint64_t address, struct gv_symbol ret[GV_INLINE_MAX],
                    enum gv_module_state *ret_state);

#endif
