/* SPDX-License-Identifier: MIT */
/* How programs get at the driver's functions, and what they get instead. */
#include "libgradprof/hooks/driver.h"

#include <dlfcn.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/hooks/driver_exports.h"
#include "libgradprof/hooks/loader.h"
#include "libgradprof/hooks/resolve.h"
#include "libgradprof/stack/modules.h"

#define LIBRARY "libcuda.so.1"
/* The interfaces in driver.def are those of this CUDA version; a later one may have changed one. */
#define KNOWN_VERSION 13000

enum stream_form { ANY, LEGACY, PER_THREAD };

struct hook {
    const char *symbol, *name;
    int since;
    enum stream_form stream;
    enum gp_driver_function function;
    void *wrapper;
};

static const struct hook hooks[] = {
#define GP_DRIVER(symbol, name, since, stream, parameters)                                         \
    {#symbol, name, since, stream, GP_DRIVER_##symbol, (void *)symbol},
#define GP_DRIVER_ALIAS(symbol, name, since)                                                       \
    {NULL, name, since, ANY, GP_DRIVER_##symbol, (void *)symbol},
#define GP_DRIVER_REAL(symbol, parameters)
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL
};
#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

static const char *const symbols[GP_DRIVER_FUNCTIONS] = {
#define GP_DRIVER(symbol, name, since, stream, parameters) #symbol,
#define GP_DRIVER_ALIAS(symbol, name, since)
#define GP_DRIVER_REAL(symbol, parameters) #symbol,
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL
};

typedef gp_cu_result (*get_address)(const char *, void **, int, unsigned long long);
typedef gp_cu_result (*get_address_v2)(const char *, void **, int, unsigned long long,
                                       gp_cu_enum *);

_Atomic(void *) gp_driver_real[GP_DRIVER_FUNCTIONS];
static _Atomic(void *) real_get_address, real_get_address_v2;

/* --- the driver's library --------------------------------------------------------------------------- */

static gp_cu_result missing(void)
{
    gp_count(GP_COUNTER_unresolved_calls);
    return GP_CU_ERROR_NOT_INITIALIZED;
}

/* `symbol` as the driver's library has it, or as the libraries after ours do. NULL: there is none. */
static void *in_driver(const char *symbol)
{
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;

    if (library != NULL) {
        found = gp_dlsym(library, symbol);
        dlclose(library);
    }
    if (found == NULL || gp_module_is_own((uintptr_t)found))
        found = gp_dlsym(RTLD_NEXT, symbol);
    return found == NULL || gp_module_is_own((uintptr_t)found) ? NULL : found;
}

void *gp_driver_find(enum gp_driver_function function)
{
    void *found = in_driver(symbols[function]);

    if (found == NULL)
        return (void *)missing;
    atomic_store_explicit(&gp_driver_real[function], found, memory_order_release);
    return found;
}

bool gp_driver_present(void)
{
    return in_driver("cuInit") != NULL;
}

static void *find_get_address(_Atomic(void *) *place, const char *symbol)
{
    void *found = atomic_load_explicit(place, memory_order_acquire);

    if (found == NULL) {
        found = in_driver(symbol);
        atomic_store_explicit(place, found, memory_order_release);
    }
    return found == NULL ? (void *)missing : found;
}

/* --- look-up by symbol ------------------------------------------------------------------------------- */

static void *hand_out(const struct hook *hook, void *real)
{
    if (real == hook->wrapper || gp_module_is_own((uintptr_t)real))
        return real;
    atomic_store_explicit(&gp_driver_real[hook->function], real, memory_order_release);
    return hook->wrapper;
}

static const struct hook *find_hook(const char *symbol)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (hooks[i].symbol != NULL && strcmp(hooks[i].symbol, symbol) == 0)
            return &hooks[i];
    return NULL;
}

static _Atomic(void *) *get_address_place(const char *symbol, void **ret_wrapper)
{
    bool second = strcmp(symbol, "cuGetProcAddress_v2") == 0;

    *ret_wrapper = second ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
    if (second)
        return &real_get_address_v2;
    return strcmp(symbol, "cuGetProcAddress") == 0 ? &real_get_address : NULL;
}

bool gp_driver_hooks(const char *symbol)
{
    void *wrapper;

    return get_address_place(symbol, &wrapper) != NULL || find_hook(symbol) != NULL;
}

void *gp_driver_wrapper(const char *symbol, void *real)
{
    const struct hook *hook;
    void *wrapper;
    _Atomic(void *) *place = get_address_place(symbol, &wrapper);

    if (place != NULL) {
        if (gp_module_is_own((uintptr_t)real))
            return real;
        atomic_store_explicit(place, real, memory_order_release);
        return wrapper;
    }
    hook = find_hook(symbol);
    return hook == NULL ? NULL : hand_out(hook, real);
}

/* --- look-up by version: cuGetProcAddress -------------------------------------------------------------- */

static enum stream_form form_of(unsigned long long flags)
{
    return flags & GP_CU_PER_THREAD_STREAM ? PER_THREAD : LEGACY;
}

/* The newest interface of `name` that a program built for `version` gets. */
static const struct hook *find_version(const char *name, int version, enum stream_form form)
{
    const struct hook *best = NULL;

    for (size_t i = 0; i < HOOKS; i++)
        if (hooks[i].since <= version && (hooks[i].stream == ANY || hooks[i].stream == form) &&
            (best == NULL || hooks[i].since > best->since) && strcmp(hooks[i].name, name) == 0)
            best = &hooks[i];
    return best;
}

/* The name and version of cuGetProcAddress itself, by which a runtime asks for it again. */
static void *wrapper_of_itself(const char *name, int version, void *real)
{
    bool second = version >= 12000;

    if (strcmp(name, "cuGetProcAddress") != 0 || gp_module_is_own((uintptr_t)real))
        return NULL;
    atomic_store_explicit(second ? &real_get_address_v2 : &real_get_address, real,
                          memory_order_release);
    return second ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
}

/* `known`: what the driver hands out for KNOWN_VERSION, if `version` is later. */
static void *replacement(const char *name, int version, unsigned long long flags, void *real,
                         const void *known)
{
    const struct hook *hook;
    void *itself = wrapper_of_itself(name, version, real);

    if (itself != NULL)
        return itself;
    hook = find_version(name, version, form_of(flags));
    if (hook == NULL)
        return real;
    if (version > KNOWN_VERSION && real != known) {
        gp_count(GP_COUNTER_unknown_driver_functions);
        return real;
    }
    return hand_out(hook, real);
}

gp_cu_result cuGetProcAddress(const char *symbol, void **ret_function, int version,
                              unsigned long long flags)
{
    get_address real = (get_address)find_get_address(&real_get_address, "cuGetProcAddress");
    gp_cu_result result = real(symbol, ret_function, version, flags);
    void *known = NULL;

    if (result != GP_CU_SUCCESS || symbol == NULL || *ret_function == NULL)
        return result;
    if (version > KNOWN_VERSION)
        real(symbol, &known, KNOWN_VERSION, flags);
    *ret_function = replacement(symbol, version, flags, *ret_function, known);
    return result;
}

gp_cu_result cuGetProcAddress_v2(const char *symbol, void **ret_function, int version,
                                 unsigned long long flags, gp_cu_enum *ret_status)
{
    get_address_v2 real =
        (get_address_v2)find_get_address(&real_get_address_v2, "cuGetProcAddress_v2");
    gp_cu_result result = real(symbol, ret_function, version, flags, ret_status);
    gp_cu_enum status;
    void *known = NULL;

    if (result != GP_CU_SUCCESS || symbol == NULL || *ret_function == NULL)
        return result;
    if (version > KNOWN_VERSION)
        real(symbol, &known, KNOWN_VERSION, flags, &status);
    *ret_function = replacement(symbol, version, flags, *ret_function, known);
    return result;
}

/* --- look-up through the loader -------------------------------------------------------------------------- */

static void *driver_answer(void *handle, const char *name)
{
    void *real;

    /* In the default scope the name would find our own wrapper, whether there is a driver or not. */
    real = handle == RTLD_DEFAULT ? in_driver(name) : gp_dlsym(handle, name);
    if (real == NULL)
        return handle == RTLD_DEFAULT ? GP_DLSYM_NONE : GP_DLSYM_PASS;
    return gp_driver_wrapper(name, real);
}

/* RTLD_NEXT passes: from a library before ours it finds our wrapper, from one after ours the real one. */
void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
{
    if (handle == RTLD_NEXT)
        return GP_DLSYM_PASS;
    if (gp_driver_hooks(name))
        return driver_answer(handle, name);
    if (strncmp(name, "cuda", 4) == 0)
        return gp_runtime_answer(handle, name, caller);
    return GP_DLSYM_PASS;
}

/* --- devices ------------------------------------------------------------------------------------------------ */

static int current_device(const struct gp_call *call)
{
    gp_cu_device device;

    return gp_real_cuCtxGetDevice()(&device) == GP_CU_SUCCESS ? device : -1;
}

static enum gp_runtime describe_device(const struct gp_call *call, int device, char *ret_name,
                                       size_t name_bytes, uint64_t *ret_total_bytes)
{
    size_t total_bytes = 0;

    if (gp_real_cuDeviceGetName()(ret_name, (int)name_bytes, device) != GP_CU_SUCCESS)
        ret_name[0] = 0;
    if (gp_real_cuDeviceTotalMem_v2()(&total_bytes, device) == GP_CU_SUCCESS)
        *ret_total_bytes = total_bytes;
    return GP_RUNTIME_DRIVER;
}

static bool device_memory(const struct gp_call *call, size_t *ret_free_bytes,
                          size_t *ret_total_bytes)
{
    return gp_real_cuMemGetInfo_v2()(ret_free_bytes, ret_total_bytes) == GP_CU_SUCCESS;
}

const struct gp_devices gp_driver_devices = {
    .current = current_device, .describe = describe_device, .memory = device_memory};
