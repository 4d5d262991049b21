/* SPDX-License-Identifier: MIT */
/*
 * The calls of PyTorch's that are wrapped, by their C++ names. What each gets by the C++ ABI: a
 * reference or an object with a destructor is a pointer, an object that is returned is a hidden first
 * argument.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libgradprof/core/session.h"
#include "libgradprof/core/thread.h"
#include "libgradprof/hooks/loader.h"
#include "libgradprof/python/host.h"
#include "libgradprof/torch/blocks.h"
#include "libgradprof/torch/graph.h"
#include "libgradprof/torch/refused.h"

#define GP_EXPORT __attribute__((visibility("default")))
#define CPP(name) __asm__(name)

typedef void (*generic_function)(void);

/* The function that the caller would have got without us. Libraries of a Python process are not in
 * the global scope: they are asked through the caller's own object. */
static generic_function find(_Atomic(generic_function) *cache, const char *name, const void *caller)
{
    generic_function found = atomic_load_explicit(cache, memory_order_acquire);
    Dl_info info;
    void *library;

    if (__builtin_expect(found != NULL, 1))
        return found;
    if (dladdr(caller, &info) != 0 && info.dli_fname != NULL) {
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        found = library == NULL ? NULL : (generic_function)gp_dlsym(library, name);
        if (library != NULL)
            dlclose(library);
    }
    if (found == NULL)
        found = (generic_function)gp_dlsym(RTLD_NEXT, name);
    atomic_store_explicit(cache, found, memory_order_release);
    return found;
}

#define REAL(type, name)                                                                           \
    ({                                                                                             \
        static _Atomic(generic_function) cache;                                                    \
        (type) find(&cache, name, __builtin_return_address(0));                                    \
    })

static struct gp_thread *enter(void)
{
    struct gp_thread *thread = gp_thread_get();
    int state = atomic_load_explicit(&gp_session.state, memory_order_relaxed);

    if (thread == NULL || thread->guard > 0 || state == GP_OFF || state == GP_CLOSED)
        return NULL;
    if (__builtin_expect(*gp_process_mark == 0, 0))
        gp_session_forked();
    thread->guard++;
    return thread;
}

static void leave(struct gp_thread *thread)
{
    thread->guard--;
}

/* --- blocks --------------------------------------------------------------------------------------- */

typedef void (*report_function)(void *, int64_t, uint64_t, uint64_t, uint16_t);

/* c10::Device is two int8_t: type, index. */
static void report(void *address, int64_t bytes, uint16_t device)
{
    struct gp_thread *thread = enter();

    if (thread == NULL)
        return;
    gp_blocks_report(thread, address, bytes, (int8_t)(device & 0xff), (int8_t)(device >> 8));
    gp_python_arm();
    leave(thread);
}

#define REPORT(function, name)                                                                     \
    GP_EXPORT void function(void *address, int64_t bytes, uint64_t total, uint64_t reserved,       \
                            uint16_t device) CPP(name);                                            \
    GP_EXPORT void function(void *address, int64_t bytes, uint64_t total, uint64_t reserved,       \
                            uint16_t device)                                                       \
    {                                                                                              \
        report_function real = REAL(report_function, name);                                        \
        report(address, bytes, device);                                                            \
        if (real != NULL)                                                                          \
            real(address, bytes, total, reserved, device);                                         \
    }
/* (void*, long, long, long, Device) up to 1.13; (void*, long, size_t, size_t, Device) from 2.0 on */
REPORT(gp_report_1, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")
REPORT(gp_report_2, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")

/* The CPU allocator reports only when this says so. */
GP_EXPORT bool gp_memory_profiling(void) CPP("_ZN3c1022memoryProfilingEnabledEv");
GP_EXPORT bool gp_memory_profiling(void)
{
    bool (*real)(void) = REAL(bool (*)(void), "_ZN3c1022memoryProfilingEnabledEv");

    if (atomic_load_explicit(&gp_session.state, memory_order_relaxed) != GP_OFF)
        return true;
    return real != NULL && real();
}

/* --- refused memory ------------------------------------------------------------------------------- */

static void tell_refused(void)
{
    struct gp_thread *thread = enter();

    if (thread == NULL)
        return;
    gp_refused_tell(thread);
    leave(thread);
}

static void refused(int64_t bytes, uint16_t device)
{
    int type = (int8_t)(device & 0xff);
    struct gp_thread *thread = enter();

    if (thread == NULL)
        return;
    gp_refused_note(thread, bytes, type, (int8_t)(device >> 8));
    leave(thread);
    if (type != GP_TORCH_CPU && gp_python_observes())
        return; /* the observer comes next, and tells */
    if (type == GP_TORCH_CPU && gp_python_look()) {
        tell_refused();
        return;
    }
    tell_refused();
    gp_python_look_later();
}

typedef void (*refused_function)(int64_t, uint64_t, uint64_t, uint16_t);

#define REFUSED(function, name)                                                                    \
    GP_EXPORT void function(int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device)     \
        CPP(name);                                                                                 \
    GP_EXPORT void function(int64_t bytes, uint64_t total, uint64_t reserved, uint16_t device)     \
    {                                                                                              \
        refused_function real = REAL(refused_function, name);                                      \
        refused(bytes, device);                                                                    \
        if (real != NULL)                                                                          \
            real(bytes, total, reserved, device);                                                  \
    }
REFUSED(gp_refused_1, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE")
REFUSED(gp_refused_2, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")

/* --- graph ---------------------------------------------------------------------------------------- */

static const void *first_word(const void *object)
{
    const void *word;

    memcpy(&word, object, sizeof(word));
    return word;
}

typedef void (*saved_function)(void *, const void *, bool, bool);

#define SAVED(function, name)                                                                      \
    GP_EXPORT void function(void *slot, const void *tensor, bool is_output, bool is_view)          \
        CPP(name);                                                                                 \
    GP_EXPORT void function(void *slot, const void *tensor, bool is_output, bool is_view)          \
    {                                                                                              \
        saved_function real = REAL(saved_function, name);                                          \
        struct gp_thread *thread;                                                                  \
        real(slot, tensor, is_output, is_view);                                                    \
        if ((thread = enter()) == NULL)                                                            \
            return;                                                                                \
        gp_graph_saved(thread, first_word(slot));                                                  \
        gp_python_arm();                                                                           \
        leave(thread);                                                                             \
    }
SAVED(gp_saved_complete, "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb")
SAVED(gp_saved_base, "_ZN5torch8autograd13SavedVariableC2ERKN2at6TensorEbb")

#define RESET "_ZN5torch8autograd13SavedVariable10reset_dataEv"
GP_EXPORT void gp_reset_data(void *slot) CPP(RESET);
GP_EXPORT void gp_reset_data(void *slot)
{
    void (*real)(void *) = REAL(void (*)(void *), RESET);
    struct gp_thread *thread = first_word(slot) == NULL ? NULL : enter();

    if (thread != NULL) {
        gp_graph_slot_reset(thread, slot);
        leave(thread);
    }
    real(slot);
}

#define DELETE "_ZN5torch8autograd10deleteNodeEPNS0_4NodeE"
GP_EXPORT void gp_delete_node(void *node) CPP(DELETE);
GP_EXPORT void gp_delete_node(void *node)
{
    void (*real)(void *) = REAL(void (*)(void *), DELETE);
    struct gp_thread *thread = enter();

    if (thread != NULL) {
        gp_graph_delete(thread, node);
        leave(thread);
    }
    real(node);
}

/* torch::autograd::Edge begins with the node. */
#define ATTACH "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE"
GP_EXPORT void gp_set_gradient_edge(const void *tensor, void *edge) CPP(ATTACH);
GP_EXPORT void gp_set_gradient_edge(const void *tensor, void *edge)
{
    void (*real)(const void *, void *) = REAL(void (*)(const void *, void *), ATTACH);
    struct gp_thread *thread;
    const void *node = first_word(edge);

    real(tensor, edge);
    if ((thread = enter()) == NULL)
        return;
    gp_graph_attached(thread, node);
    gp_python_arm();
    leave(thread);
}

#define EDGE "_ZN5torch8autograd4impl13gradient_edgeERKN2at6TensorE"
GP_EXPORT void *gp_gradient_edge(void *ret_edge, const void *tensor) CPP(EDGE);
GP_EXPORT void *gp_gradient_edge(void *ret_edge, const void *tensor)
{
    void *(*real)(void *, const void *) = REAL(void *(*)(void *, const void *), EDGE);
    struct gp_thread *thread;

    ret_edge = real(ret_edge, tensor);
    if ((thread = enter()) == NULL)
        return ret_edge;
    gp_graph_edge(thread, first_word(ret_edge));
    leave(thread);
    return ret_edge;
}
