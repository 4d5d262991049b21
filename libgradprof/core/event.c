/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/event.h"

#include <string.h>

#define GRADPROF_NO_MACROS
#include <gradprof/gradprof.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/stack/modules.h"
#include "libgradprof/stack/unwind.h"

struct scope_content {
    struct gp_entry *name;
    const struct gp_entry *parent;
    uint64_t kind;
};

struct stack_content { /* what a stack entry's bytes are */
    uint64_t unloads;  /* objects unloaded so far: the same addresses may mean other code now */
    void *frame[];
};

struct source_content { /* what a Python frame's entry is */
    struct gp_entry *function, *file;
    uint64_t line;
};

static struct gp_intern names = GP_INTERN_INITIALIZER(1024);
static struct gp_intern scopes = GP_INTERN_INITIALIZER(512);
static struct gp_intern stacks = GP_INTERN_INITIALIZER(4096);
static struct gp_intern sources = GP_INTERN_INITIALIZER(1024);

/* Definitions are appended one at a time, so that an id that another thread sees as defined is. */
static pthread_mutex_t define_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t unloads;

void gp_event_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    define_lock = fresh;
    gp_intern_forked(&names);
    gp_intern_forked(&scopes);
    gp_intern_forked(&stacks);
    gp_intern_forked(&sources);
}

uint64_t gp_event_payload(struct gp_thread *thread, struct gp_record *record, const void *payload,
                          size_t payload_bytes)
{
    record->thread_id = thread->tid;
    record->t_ns = gp_time_ns();
    return gp_log_append(&gp_session.log, record, payload, payload_bytes);
}

uint64_t gp_event(struct gp_thread *thread, struct gp_record *record)
{
    return gp_event_payload(thread, record, NULL, 0);
}

/* --- definitions ----------------------------------------------------------------------------------- */

static bool is_defined(const _Atomic uint32_t *epoch)
{
    return atomic_load_explicit(epoch, memory_order_acquire) ==
           atomic_load_explicit(&gp_session.epoch, memory_order_relaxed);
}

static void define(struct gp_thread *thread, _Atomic uint32_t *epoch, struct gp_record *record,
                   const void *payload, size_t payload_bytes)
{
    pthread_mutex_lock(&define_lock);
    if (!is_defined(epoch)) {
        gp_event_payload(thread, record, payload, payload_bytes);
        atomic_store_explicit(epoch, atomic_load_explicit(&gp_session.epoch, memory_order_relaxed),
                              memory_order_release);
    }
    pthread_mutex_unlock(&define_lock);
}

/* --- names and scopes ------------------------------------------------------------------------------ */

struct gp_entry *gp_name(const char *text)
{
    size_t length;
    struct gp_entry *entry;

    if (text == NULL)
        return NULL;
    length = strnlen(text, GRADPROF_NAME_MAX + 1);
    if (length > GRADPROF_NAME_MAX) {
        gp_count(GP_COUNTER_cut_names);
        length = GRADPROF_NAME_MAX;
    }
    entry = gp_intern(&names, text, (uint32_t)length);
    if (entry == NULL)
        gp_count(GP_COUNTER_uninterned);
    return entry;
}

uint32_t gp_name_id(struct gp_thread *thread, struct gp_entry *name)
{
    struct gp_record record = {.type = GP_EV_STRING};

    if (name == NULL)
        return 0;
    if (__builtin_expect(!is_defined(&name->epoch), 0)) {
        record.define_id = name->id;
        record.length = name->content_bytes;
        define(thread, &name->epoch, &record, name->content, name->content_bytes);
    }
    return name->id;
}

struct gp_entry *gp_scope(const struct gp_entry *parent, uint32_t kind, const struct gp_entry *name)
{
    struct scope_content content = {
        .name = (struct gp_entry *)(uintptr_t)name, .parent = parent, .kind = kind};
    struct gp_entry *entry = gp_intern(&scopes, &content, sizeof(content));

    if (entry == NULL)
        gp_count(GP_COUNTER_uninterned);
    return entry;
}

uint32_t gp_scope_id(struct gp_thread *thread, struct gp_entry *scope)
{
    const struct scope_content *content;
    struct gp_record record = {.type = GP_EV_SCOPE};

    if (scope == NULL)
        return 0;
    if (__builtin_expect(!is_defined(&scope->epoch), 0)) {
        content = (const void *)scope->content;
        record.define_id = scope->id;
        record.parent_id = gp_scope_id(thread, (struct gp_entry *)(uintptr_t)content->parent);
        record.name_id = gp_name_id(thread, content->name);
        record.detail = (uint32_t)content->kind;
        define(thread, &scope->epoch, &record, NULL, 0);
    }
    return scope->id;
}

uint32_t gp_current_scope_id(struct gp_thread *thread)
{
    uint32_t depth = thread->scope_depth < GP_SCOPES_MAX ? thread->scope_depth : GP_SCOPES_MAX;

    return depth == 0 ? 0 : gp_scope_id(thread, thread->scope[depth - 1]);
}

/* --- stacks ---------------------------------------------------------------------------------------- */

static void define_module(struct gp_thread *thread, uintptr_t address)
{
    struct gp_module *module = gp_module_find(address);
    struct gp_record record = {.type = GP_EV_MODULE};

    if (module == NULL || is_defined(&module->epoch))
        return;
    record.key = module->base;
    record.a = module->end;
    record.b = module->build_id_bytes;
    record.length = module->build_id_bytes + module->path_bytes;
    define(thread, &module->epoch, &record, module->name, record.length);
}

struct gp_entry *gp_python_frame(const char *function, const char *file, uint32_t line)
{
    struct source_content content = {gp_name(function), gp_name(file), line};

    return gp_intern(&sources, &content, sizeof(content));
}

static void copy_name(const struct gp_entry *name, char *ret_text, size_t size)
{
    size_t length = name == NULL ? 0 : name->content_bytes;

    length = length < size ? length : size - 1;
    memcpy(ret_text, name == NULL ? (const void *)"" : name->content, length);
    ret_text[length] = 0;
}

void gp_python_frame_text(const void *address, char *ret_function, char *ret_file, size_t size,
                          uint32_t *ret_line)
{
    const struct gp_entry *frame = (const void *)((uintptr_t)address & ~GP_FRAME_SOURCE);
    const struct source_content *content = (const void *)frame->content;

    copy_name(content->function, ret_function, size);
    copy_name(content->file, ret_file, size);
    *ret_line = (uint32_t)content->line;
}

static void define_source(struct gp_thread *thread, struct gp_entry *frame)
{
    const struct source_content *content = (const void *)frame->content;
    struct gp_record record = {.type = GP_EV_FRAME, .define_id = frame->id};

    if (is_defined(&frame->epoch))
        return;
    record.key = (uintptr_t)gp_python_frame_address(frame);
    record.name_id = gp_name_id(thread, content->function);
    record.parent_id = gp_name_id(thread, content->file);
    record.detail = (uint32_t)content->line;
    define(thread, &frame->epoch, &record, NULL, 0);
}

static void define_frame(struct gp_thread *thread, uintptr_t address)
{
    if (address & GP_FRAME_SOURCE)
        define_source(thread, (struct gp_entry *)(address & ~GP_FRAME_SOURCE));
    else
        define_module(thread, address);
}

static void define_stack(struct gp_thread *thread, struct gp_entry *stack)
{
    const struct stack_content *content = (const void *)stack->content;
    size_t bytes = stack->content_bytes - sizeof(*content);
    struct gp_record record = {.type = GP_EV_STACK};

    for (size_t i = 0; i < bytes / sizeof(content->frame[0]); i++)
        define_frame(thread, (uintptr_t)content->frame[i]);
    record.define_id = stack->id;
    record.length = (uint32_t)(bytes / sizeof(content->frame[0]));
    define(thread, &stack->epoch, &record, content->frame, bytes);
}

/* The entry of `key`, count + 1 words long: a loop comes by the same few stacks again and again, and a
 * comparison is half the price of a hash. */
static struct gp_entry *find_stack(struct gp_thread *thread, const uint64_t *key, size_t count)
{
    uint32_t bytes = (uint32_t)((count + 1) * sizeof(*key));
    uint64_t mixed =
        (key[1] ^ key[(count + 1) / 2] << 7 ^ count << 13) * UINT64_C(0x9e3779b97f4a7c15);
    struct gp_entry **recent = &thread->recent[mixed >> 32 & (GP_RECENT_STACKS - 1)];

    if (*recent == NULL || (*recent)->content_bytes != bytes ||
        memcmp((*recent)->content, key, bytes) != 0)
        *recent = gp_intern(&stacks, key, bytes);
    if (*recent == NULL)
        gp_count(GP_COUNTER_uninterned);
    return *recent;
}

uint32_t gp_stack_id_of(struct gp_thread *thread, void **frames, size_t count)
{
    struct gp_entry *stack;
    uint64_t *key = (uint64_t *)(void *)(frames - 1);

    if (count == 0)
        return 0;
    key[0] = atomic_load_explicit(&unloads, memory_order_relaxed);
    stack = find_stack(thread, key, count);
    if (__builtin_expect(stack != NULL && !is_defined(&stack->epoch), 0)) {
        uint64_t now = gp_modules_refresh();
        if (now != key[0]) { /* something was unloaded since: the ids of before are history */
            atomic_store_explicit(&unloads, now, memory_order_relaxed);
            key[0] = now;
            stack = find_stack(thread, key, count);
        }
        if (stack != NULL && !is_defined(&stack->epoch))
            define_stack(thread, stack);
    }
    return stack == NULL ? 0 : stack->id;
}

uint32_t gp_stack_id(struct gp_thread *thread)
{
    void **frames;
    size_t count = gp_unwind_capture(thread, gp_session.depth, &frames);

    return gp_stack_id_of(thread, frames, count);
}
