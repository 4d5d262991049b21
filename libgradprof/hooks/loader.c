/* SPDX-License-Identifier: MIT */
/*
 * Where the real dlsym is. Nobody can be asked by name, since the name is ours by now: the symbol tables
 * of the loaded objects are read instead, in the loader's order: the first object after ours that has the
 * name, or, when we were opened at run time and so came last, the first of all.
 */
#include "libgradprof/hooks/loader.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "libgradprof/stack/modules.h"

#define HIDDEN_VERSION 0x8000u /* in a DT_VERSYM entry: not the default version of the name */

/* Read by the thunks; NULL until gp_loader_init. */
void *gp_real_dlsym __attribute__((visibility("hidden")));
void *gp_real_dlvsym __attribute__((visibility("hidden")));
void gp_loader_init(void) __attribute__((visibility("hidden")));

struct tables { /* of one object */
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const ElfW(Versym) * versions;
};

struct search {
    const char *name;
    bool past_own;
    void *found, *before_own;
};

static bool read_tables(const struct dl_phdr_info *info, struct tables *ret_tables)
{
    const ElfW(Dyn) *entry = NULL;

    memset(ret_tables, 0, sizeof(*ret_tables));
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        /* The loader has made them addresses, but for the kernel's own object. */
        ElfW(Addr) place = entry->d_un.d_ptr;
        if (place < info->dlpi_addr)
            place += info->dlpi_addr;
        if (entry->d_tag == DT_SYMTAB)
            ret_tables->symbols = (const void *)place;
        else if (entry->d_tag == DT_STRTAB)
            ret_tables->names = (const void *)place;
        else if (entry->d_tag == DT_GNU_HASH)
            ret_tables->gnu_hash = (const void *)place;
        else if (entry->d_tag == DT_VERSYM)
            ret_tables->versions = (const void *)place;
    }
    return ret_tables->symbols != NULL && ret_tables->names != NULL && ret_tables->gnu_hash != NULL;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name != 0; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_definition(const struct tables *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];

    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           (tables->versions == NULL || (tables->versions[index] & HIDDEN_VERSION) == 0) &&
           strcmp(tables->names + symbol->st_name, name) == 0;
}

/*
 * DT_GNU_HASH: buckets, first symbol, bloom words, bloom shift | bloom (64 bit each) | bucket -> first
 * symbol of its chain | per symbol from `first` on: hash, its lowest bit set at the end of a chain.
 */
static const ElfW(Sym) * find_symbol(const struct tables *tables, const char *name)
{
    uint32_t buckets = tables->gnu_hash[0], first = tables->gnu_hash[1];
    const uint32_t *bucket = tables->gnu_hash + 4 + tables->gnu_hash[2] * 2;
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = gnu_hash(name), index = buckets == 0 ? 0 : bucket[hash % buckets];

    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t link = chain[index - first];
        if ((link | 1) == (hash | 1) && is_definition(tables, index, name))
            return &tables->symbols[index];
        if (link & 1)
            return NULL;
    }
}

static bool is_own(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            gp_module_is_own(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr))
            return true;
    return false;
}

static int look_in(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *search = user;
    const ElfW(Sym) * symbol;
    struct tables tables;
    void **found = search->past_own ? &search->found : &search->before_own;

    if (is_own(info)) {
        search->past_own = true;
        return 0;
    }
    symbol = read_tables(info, &tables) ? find_symbol(&tables, search->name) : NULL;
    if (symbol != NULL && *found == NULL)
        *found = (void *)(info->dlpi_addr + symbol->st_value);
    return search->found != NULL;
}

static void *find_real(const char *name)
{
    struct search search = {.name = name};

    dl_iterate_phdr(look_in, &search);
    return search.found != NULL ? search.found : search.before_own;
}

/* Any thread, any number of times: the answer is the same. */
void gp_loader_init(void)
{
    __atomic_store_n(&gp_real_dlvsym, find_real("dlvsym"), __ATOMIC_RELEASE);
    __atomic_store_n(&gp_real_dlsym, find_real("dlsym"), __ATOMIC_RELEASE);
}

void *gp_dlsym(void *handle, const char *name)
{
    if (__atomic_load_n(&gp_real_dlsym, __ATOMIC_ACQUIRE) == NULL)
        gp_loader_init();
    return ((void *(*)(void *, const char *))gp_real_dlsym)(handle, name);
}
