/* SPDX-License-Identifier: MIT */
#include "libgradprof/hooks/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/memory.h"
#include "libgradprof/core/message.h"
#include "libgradprof/hooks/cudart_exports.h"
#include "libgradprof/hooks/loader.h"
#include "libgradprof/limit.h"
#include "libgradprof/stack/modules.h"

#define CALLERS 4096u /* call places remembered; more only cost time */
#define PROBES 8u
#define PATH_BYTES_MAX 4096u

struct caller {
    _Atomic uintptr_t address;
    _Atomic(const struct gp_cudart *) runtime;
};

static struct caller callers[CALLERS];
static _Atomic(struct gp_cudart *) runtimes;

/* Stands in for every function that a runtime lacks: arguments are the caller's to clean up on this
 * processor, so one function fits all. */
static gp_cuda_error missing(void)
{
    gp_count(GP_COUNTER_unresolved_calls);
    return GP_CUDA_ERROR_INITIALIZATION;
}

#define MISSING(function) .function = (void *)(uintptr_t)missing,
static const struct gp_cudart no_runtime = {
#define GP_HOOK(function, parameters) MISSING(function)
#define GP_REAL(function, parameters) MISSING(function)
#include "libgradprof/hooks/cudart.def"
#undef GP_HOOK
#undef GP_REAL
};

/* --- the table of one runtime ----------------------------------------------------------------------- */

static void *find_in(void *library, const char *name)
{
    void *function = gp_dlsym(library, name);

    if (function == NULL || gp_module_is_own((uintptr_t)function))
        return (void *)(uintptr_t)missing;
    return function;
}

static enum gp_runtime kind_of(void *library)
{
    return gp_dlsym(library, "hostcudaIsStandIn") != NULL ? GP_RUNTIME_HOSTCUDA : GP_RUNTIME_CUDART;
}

/* `library` is the object itself, not one that depends on it. It stays referenced for good: our
 * pointers into it must not outlive it. */
static struct gp_cudart *make_runtime(void *library, void *base)
{
    struct gp_cudart *runtime = gp_pages_map(sizeof(*runtime));

    if (runtime == NULL)
        return NULL;
    runtime->base = base;
    runtime->kind = kind_of(library);
#define GP_HOOK(function, parameters) runtime->function = find_in(library, #function);
#define GP_REAL(function, parameters) runtime->function = find_in(library, #function);
#include "libgradprof/hooks/cudart.def"
#undef GP_HOOK
#undef GP_REAL
    return runtime;
}

static const struct gp_cudart *known_runtime(const void *base)
{
    struct gp_cudart *runtime = atomic_load_explicit(&runtimes, memory_order_acquire);

    while (runtime != NULL && runtime->base != base)
        runtime = runtime->next;
    return runtime;
}

/* The runtime whose object `function` (a real cudaMalloc or the like) lies in. */
static const struct gp_cudart *runtime_of(void *function)
{
    const struct gp_cudart *known;
    struct gp_cudart *runtime;
    void *library;
    Dl_info where;

    if (dladdr(function, &where) == 0)
        return NULL;
    known = known_runtime(where.dli_fbase);
    if (known != NULL)
        return known;
    library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) /* the program itself holds the runtime: its name is no library's */
        library = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    runtime = library == NULL ? NULL : make_runtime(library, where.dli_fbase);
    if (runtime == NULL)
        return NULL;
    gp_limit_apply(runtime); /* before anyone can allocate from it */
    runtime->next = atomic_load_explicit(&runtimes, memory_order_relaxed);
    do {
        known = known_runtime(where.dli_fbase);
        if (known != NULL)
            return known; /* another thread was quicker; ours is dropped, a page */
    } while (!atomic_compare_exchange_weak_explicit(&runtimes, &runtime->next, runtime,
                                                    memory_order_release, memory_order_acquire));
    return runtime;
}

/* --- finding it -------------------------------------------------------------------------------------- */

static void *usable(void *function)
{
    return function == NULL || gp_module_is_own((uintptr_t)function) ? NULL : function;
}

/* As the caller's own object sees it: its dependencies, which RTLD_LOCAL may hide from all others. */
static void *through_caller(const void *caller, const char *name)
{
    struct link_map *map = NULL;
    void *library, *function = NULL;
    Dl_info where;

    if (dladdr1(caller, &where, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL &&
        map->l_name != NULL && map->l_name[0] != 0) {
        library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            function = usable(gp_dlsym(library, name));
            dlclose(library);
        }
    }
    return function != NULL ? function : usable(gp_dlsym(RTLD_NEXT, name));
}

static void *in_library(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD), *function;

    if (library == NULL)
        return NULL;
    function = usable(gp_dlsym(library, name));
    dlclose(library);
    return function;
}

static void *by_soname(const char *name)
{
    static const char *const sonames[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                          "libhostcuda.so"};
    void *function = NULL;

    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]) && function == NULL; i++)
        function = in_library(sonames[i], name);
    return function;
}

struct search {
    size_t skip;
    char path[PATH_BYTES_MAX];
};

/* Names such as libcudart-e409450e.so.11.0, which wheels carry. */
static int looks_like_runtime(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *search = user;
    const char *slash = strrchr(info->dlpi_name, '/'), *name;

    name = slash == NULL ? info->dlpi_name : slash + 1;
    if (strncmp(name, "libcudart", 9) != 0 && strncmp(name, "libhostcuda", 11) != 0)
        return 0;
    if (search->skip-- > 0 || strlen(info->dlpi_name) >= sizeof(search->path))
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

static void *by_file_name(const char *name)
{
    struct search search;
    void *function = NULL;

    for (size_t i = 0; function == NULL; i++) { /* the loader's lock is free again when we open */
        search.skip = i;
        if (dl_iterate_phdr(looks_like_runtime, &search) == 0)
            return NULL;
        function = in_library(search.path, name);
    }
    return function;
}

/* NULL: none is loaded. */
static const struct gp_cudart *find_runtime(const void *caller)
{
    void *function = through_caller(caller, "cudaMalloc");

    if (function == NULL)
        function = by_soname("cudaMalloc");
    if (function == NULL)
        function = by_file_name("cudaMalloc");
    return function == NULL ? NULL : runtime_of(function);
}

static const struct gp_cudart *no_runtime_yet(void)
{
    static _Atomic int warned;

    if (atomic_exchange(&warned, 1) == 0)
        gp_message("a CUDA call was made, but no CUDA runtime library is loaded; it fails");
    return &no_runtime;
}

const struct gp_cudart *gp_resolve(const void *caller)
{
    uintptr_t address = (uintptr_t)caller, seen;
    size_t start = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    const struct gp_cudart *runtime;

    for (size_t i = 0; i < PROBES; i++) {
        struct caller *slot = &callers[(start + i) % CALLERS];
        seen = atomic_load_explicit(&slot->address, memory_order_acquire);
        if (seen == address) {
            runtime = atomic_load_explicit(&slot->runtime, memory_order_acquire);
            if (runtime != NULL)
                return runtime;
        }
        if (seen == 0)
            break;
    }
    runtime = find_runtime(caller);
    if (runtime == NULL)
        return no_runtime_yet(); /* one may be loaded later */
    for (size_t i = 0; i < PROBES; i++) {
        struct caller *slot = &callers[(start + i) % CALLERS];
        seen = 0;
        if (atomic_compare_exchange_strong(&slot->address, &seen, address) || seen == address) {
            atomic_store_explicit(&slot->runtime, runtime, memory_order_release);
            break;
        }
    }
    return runtime;
}

/* --- look-ups through the loader ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    void *wrapper;
    size_t place; /* in struct gp_cudart */
} hooks[] = {
#define GP_HOOK(function, parameters)                                                              \
    {#function, (void *)function, offsetof(struct gp_cudart, function)},
#define GP_REAL(function, parameters)
#include "libgradprof/hooks/cudart.def"
#undef GP_HOOK
#undef GP_REAL
};

void *gp_runtime_answer(void *handle, const char *name, const void *caller)
{
    const struct gp_cudart *runtime;
    size_t i = 0;
    void *real;

    while (i < sizeof(hooks) / sizeof(hooks[0]) && strcmp(hooks[i].name, name) != 0)
        i++;
    if (i == sizeof(hooks) / sizeof(hooks[0]))
        return GP_DLSYM_PASS;
    runtime = find_runtime(caller);
    if (handle == RTLD_DEFAULT) /* finds our own wrapper, whether there is a runtime or not */
        return runtime == NULL ? GP_DLSYM_NONE : GP_DLSYM_PASS;
    real = gp_dlsym(handle, name);
    if (runtime == NULL || real == NULL ||
        memcmp((const char *)runtime + hooks[i].place, &real, sizeof(real)) != 0)
        return GP_DLSYM_PASS;
    return hooks[i].wrapper;
}
