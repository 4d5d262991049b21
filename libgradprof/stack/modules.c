/* SPDX-License-Identifier: MIT */
#include "libgradprof/stack/modules.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "libgradprof/core/memory.h"

#define PATH_BYTES_MAX 4096u

struct module_list {     /* sorted by start; immutable once published, never unmapped */
    uint64_t adds, subs; /* the loader's counts when it was made */
    size_t count;
    struct gp_module *module[];
};

struct build {
    struct module_list *list;
    size_t capacity;
};

static _Atomic(struct module_list *) current;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* one refresh publishes at a time; arena */
static struct gp_arena arena;

static int read_counts(struct dl_phdr_info *info, size_t size, void *user)
{
    uint64_t *counts = user;

    counts[0] = info->dlpi_adds;
    counts[1] = info->dlpi_subs;
    counts[2]++;
    return 0;
}

static void find_build_id(const struct dl_phdr_info *info, const unsigned char **ret_id,
                          uint32_t *ret_bytes)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_NOTE)
            continue;
        const unsigned char *note = (const unsigned char *)info->dlpi_addr + header->p_vaddr;
        const unsigned char *end = note + header->p_memsz;
        while (note + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *n = (const void *)note;
            const unsigned char *id = note + sizeof(*n) + ((n->n_namesz + 3u) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && id + n->n_descsz <= end) {
                *ret_id = id;
                *ret_bytes = n->n_descsz < GP_BUILD_ID_MAX ? n->n_descsz : GP_BUILD_ID_MAX;
                return;
            }
            note = id + ((n->n_descsz + 3u) & ~3u);
        }
    }
}

static bool find_extent(const struct dl_phdr_info *info, uintptr_t *ret_start, uintptr_t *ret_end)
{
    uintptr_t start = UINTPTR_MAX, end = 0;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + header->p_vaddr < start)
            start = info->dlpi_addr + header->p_vaddr;
        if (info->dlpi_addr + header->p_vaddr + header->p_memsz > end)
            end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
    }
    *ret_start = start;
    *ret_end = end;
    return start < end;
}

/* The same object as before keeps its entry, and with it what the log knows. */
static struct gp_module *known(uintptr_t base, uintptr_t start, uintptr_t end, const char *path,
                               size_t path_bytes)
{
    struct gp_module *module = gp_module_find(start);

    if (module != NULL && module->base == base && module->start == start && module->end == end &&
        module->path_bytes == path_bytes &&
        memcmp(module->name + module->build_id_bytes, path, path_bytes) == 0)
        return module;
    return NULL;
}

static struct gp_module *make_module(const struct dl_phdr_info *info, const char *path)
{
    const unsigned char *build_id = NULL;
    uint32_t build_id_bytes = 0;
    uintptr_t start, end;
    size_t path_bytes = strnlen(path, PATH_BYTES_MAX);
    struct gp_module *module;

    if (!find_extent(info, &start, &end))
        return NULL;
    module = known(info->dlpi_addr, start, end, path, path_bytes);
    if (module != NULL)
        return module;
    find_build_id(info, &build_id, &build_id_bytes);
    module = gp_arena_alloc(&arena, sizeof(*module) + build_id_bytes + path_bytes);
    if (module == NULL)
        return NULL;
    module->base = info->dlpi_addr;
    module->start = start;
    module->end = end;
    module->build_id_bytes = build_id_bytes;
    module->path_bytes = (uint32_t)path_bytes;
    if (build_id_bytes > 0)
        memcpy(module->name, build_id, build_id_bytes);
    memcpy(module->name + build_id_bytes, path, path_bytes);
    return module;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *user)
{
    struct build *build = user;
    struct module_list *list = build->list;
    char path[PATH_BYTES_MAX];
    const char *name = info->dlpi_name;
    struct gp_module *module;
    size_t i;

    if (list->count == build->capacity)
        return 1;
    if (name == NULL || *name == 0) { /* the program itself */
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[length > 0 ? length : 0] = 0;
        name = path;
    }
    module = make_module(info, name);
    if (module == NULL)
        return 0;
    for (i = list->count++; i > 0 && list->module[i - 1]->start > module->start; i--)
        list->module[i] = list->module[i - 1];
    list->module[i] = module;
    return 0;
}

/* The loader's lock is taken before ours here (inside the iteration), and nobody takes them in the
 * other order: every other holder of ours calls nothing. */
static int add_module_locked(struct dl_phdr_info *info, size_t size, void *user)
{
    pthread_mutex_lock(&lock);
    int r = add_module(info, size, user);
    pthread_mutex_unlock(&lock);
    return r;
}

uint64_t gp_modules_refresh(void)
{
    struct module_list *list = atomic_load_explicit(&current, memory_order_acquire);
    uint64_t counts[3] = {0};
    struct build build;

    dl_iterate_phdr(read_counts, counts);
    if (list != NULL && list->adds == counts[0] && list->subs == counts[1])
        return list->subs;
    build.capacity = counts[2] + 8; /* a few may come meanwhile */
    size_t bytes = sizeof(*list) + build.capacity * sizeof(list->module[0]);
    build.list = gp_pages_map(bytes);
    if (build.list == NULL)
        return list == NULL ? 0 : list->subs;
    build.list->adds = counts[0];
    build.list->subs = counts[1];
    dl_iterate_phdr(add_module_locked, &build);
    atomic_store_explicit(&current, build.list, memory_order_release);
    return counts[1];
}

struct gp_module *gp_module_find(uintptr_t address)
{
    struct module_list *list = atomic_load_explicit(&current, memory_order_acquire);
    size_t low = 0, high = list == NULL ? 0 : list->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        struct gp_module *module = list->module[middle];
        if (address < module->start)
            high = middle;
        else if (address >= module->end)
            low = middle + 1;
        else
            return module;
    }
    return NULL;
}

void gp_modules_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
}
