/* SPDX-License-Identifier: MIT */
#include "libgradprof/stack/unwind.h"
#include "libgradprof/hooks/loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h> /* types only: _Unwind_Backtrace is looked up at run time */

/* How far a frame chain may reach when the thread's own bounds are not known. */
#define STACK_BYTES_MAX (UINT64_C(8) << 20)

typedef _Unwind_Reason_Code (*gcc_backtrace_function)(_Unwind_Trace_Fn, void *);
typedef _Unwind_Ptr (*gcc_get_ip_function)(struct _Unwind_Context *);

int (*gp_unwind_fast)(void **frames, int size);
static gcc_backtrace_function gcc_backtrace;
static gcc_get_ip_function gcc_get_ip;
static enum gp_unwind_choice in_use = GP_UNWIND_OFF;
static bool forked_inside;

const char *gp_unwind_name(enum gp_unwind_choice choice)
{
    static const char *const names[] = {"auto", "libunwind", "libgcc", "fp", "off"};

    return names[choice];
}

/* --- libunwind ------------------------------------------------------------------------------------ */

static void *open_beside_us(const char *soname)
{
    char path[4096];
    const char *slash;
    Dl_info self;

    if (dladdr((void *)(uintptr_t)&gp_unwind_init, &self) == 0 || self.dli_fname == NULL)
        return NULL;
    slash = strrchr(self.dli_fname, '/');
    if (slash == NULL ||
        (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname),
                         self.dli_fname, soname) >= sizeof(path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* libunwind frees its per-thread cache when a thread ends, under a mutex; ThreadSanitizer's lock
 * function crashes there, having finished with the thread already (gcc 12, libunwind 1.6). */
static bool is_thread_sanitized(void)
{
    return gp_dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

static bool load_libunwind(void)
{
    void *library;

    if (is_thread_sanitized() || forked_inside)
        return false;
    library = open_beside_us("libunwind.so.8");
    if (library == NULL)
        library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    gp_unwind_fast = (int (*)(void **, int))gp_dlsym(library, "unw_backtrace");
    return gp_unwind_fast != NULL;
}

/* --- libgcc --------------------------------------------------------------------------------------- */

struct gcc_walk {
    void **frames;
    size_t count, size;
};

static _Unwind_Reason_Code gcc_frame(struct _Unwind_Context *context, void *user)
{
    struct gcc_walk *walk = user;
    void *address = (void *)gcc_get_ip(context);

    if (address == NULL || walk->count == walk->size)
        return _URC_END_OF_STACK;
    walk->frames[walk->count++] = address;
    return _URC_NO_REASON;
}

static bool load_libgcc(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return false;
    gcc_backtrace = (gcc_backtrace_function)gp_dlsym(library, "_Unwind_Backtrace");
    gcc_get_ip = (gcc_get_ip_function)gp_dlsym(library, "_Unwind_GetIP");
    return gcc_backtrace != NULL && gcc_get_ip != NULL;
}

/* --- frame pointers ------------------------------------------------------------------------------- */

static uintptr_t find_stack_end(uintptr_t here)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    uintptr_t end = here + STACK_BYTES_MAX;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return end;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0 && (uintptr_t)low + bytes > here)
        end = (uintptr_t)low + bytes;
    pthread_attr_destroy(&attributes);
    return end;
}

/* Reads words of the live stack that no object of ours describes. */
__attribute__((no_sanitize("address", "thread"))) static size_t
walk_frame_pointers(struct gp_thread *thread, void **frames, size_t size)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0), next;
    size_t count = 0;

    if (thread->stack_end == 0)
        thread->stack_end = find_stack_end(frame);
    while (count < size && frame % sizeof(void *) == 0 &&
           frame + 2 * sizeof(void *) <= thread->stack_end) {
        void *const *words = (void *const *)frame;
        if (words[1] == NULL)
            break;
        frames[count++] = words[1];
        next = (uintptr_t)words[0];
        if (next <= frame) /* callers' frames lie higher: anything else is no frame pointer */
            break;
        frame = next;
    }
    return count;
}

void gp_unwind_forked_inside(void)
{
    forked_inside = true;
}

/* --- the choice ----------------------------------------------------------------------------------- */

enum gp_unwind_choice gp_unwind_init(enum gp_unwind_choice wanted)
{
    gp_unwind_fast = NULL;
    in_use = wanted;
    if ((wanted == GP_UNWIND_AUTO || wanted == GP_UNWIND_LIBUNWIND) && load_libunwind())
        in_use = GP_UNWIND_LIBUNWIND;
    else if (wanted <= GP_UNWIND_LIBGCC && load_libgcc())
        in_use = GP_UNWIND_LIBGCC;
    else if (wanted != GP_UNWIND_OFF)
        in_use = GP_UNWIND_FP;
    return in_use;
}

size_t gp_unwind_slowly(struct gp_thread *thread, size_t size)
{
    struct gcc_walk gcc = {.frames = thread->frames + 1, .size = size};

    switch (in_use) {
    case GP_UNWIND_LIBGCC:
        gcc_backtrace(gcc_frame, &gcc);
        return gcc.count;
    case GP_UNWIND_FP:
        return walk_frame_pointers(thread, thread->frames + 1, size);
    default:
        return 0;
    }
}
