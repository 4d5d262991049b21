/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/core/event.h"
#include "libgradprof/core/memory.h"
#include "libgradprof/hooks/loader.h"
#include "libgradprof/python/text.h"

#define RETURN_VALUE 83 /* opcode; only 3.11 frees local variables before it leaves the frame */
#define LINES 8192u     /* remembered (code, instruction) pairs; power of two */

/* What a cached line was made from: a code object's address is reused after its death. */
struct line {
    uintptr_t code, file, name, table;
    int32_t instruction, first_line;
    struct gp_entry *entry;
};

static const struct gp_python_layout layouts[] = {
    {11, 56, 8, 32, 48, 56, 69, 72, 112, 128, 136, 184, 48, 72, 255},
    {12, 56, 0, 0, 8, 56, 70, 68, 112, 128, 136, 192, 40, 56, 3},
};

static const struct gp_python_layout *layout;
static _Atomic bool enabled;
static void *(*this_thread_state)(void);
static _Atomic(struct line *) lines[LINES];
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_arena arena;

const struct gp_python_layout *gp_python_layout(int *ret_minor)
{
    const char *(*version)(void) = (const char *(*)(void))gp_dlsym(RTLD_DEFAULT, "Py_GetVersion");
    const char *text = version == NULL ? "" : version();

    *ret_minor = strncmp(text, "3.", 2) == 0 ? atoi(text + 2) : 0;
    this_thread_state = (void *(*)(void))gp_dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].minor == *ret_minor && this_thread_state != NULL)
            layout = &layouts[i];
    return layout;
}

void gp_python_lines_enable(bool enable)
{
    atomic_store_explicit(&enabled, enable && layout != NULL, memory_order_release);
}

bool gp_python_lines_enabled(void)
{
    return atomic_load_explicit(&enabled, memory_order_acquire);
}

static uintptr_t word(uintptr_t object, size_t offset)
{
    return *(const uintptr_t *)(object + offset);
}

static int32_t number(uintptr_t object, size_t offset)
{
    return *(const int32_t *)(object + offset);
}

/* --- lines ---------------------------------------------------------------------------------------- */

static bool is_of(const struct line *line, uintptr_t code, int32_t instruction)
{
    return line != NULL && line->code == code && line->instruction == instruction &&
           line->file == word(code, layout->code_file) &&
           line->name == word(code, layout->code_name) &&
           line->table == word(code, layout->code_lines) &&
           line->first_line == number(code, layout->code_first_line);
}

static struct gp_entry *read_line(uintptr_t code, int32_t instruction)
{
    char function[GP_PYTHON_TEXT_MAX], file[GP_PYTHON_TEXT_MAX];

    gp_python_text(layout, word(code, layout->code_name), function, sizeof(function));
    gp_python_text(layout, word(code, layout->code_file), file, sizeof(file));
    return gp_python_frame(function, file,
                           (uint32_t)gp_python_line(word(code, layout->code_lines),
                                                    number(code, layout->code_first_line),
                                                    instruction));
}

static struct line *new_line(void)
{
    pthread_mutex_lock(&arena_lock);
    struct line *line = gp_arena_alloc(&arena, sizeof(*line));
    pthread_mutex_unlock(&arena_lock);
    return line;
}

static struct gp_entry *line_of(uintptr_t code, int32_t instruction)
{
    uint64_t mixed = (code + (uint64_t)(uint32_t)instruction) * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic(struct line *) *slot = &lines[mixed >> 40 & (LINES - 1)];
    struct line *line = atomic_load_explicit(slot, memory_order_acquire);
    struct gp_entry *entry;

    if (__builtin_expect(is_of(line, code, instruction), 1))
        return line->entry;
    entry = read_line(code, instruction);
    /* Entries are immutable for readers without a lock: a taken place is left to the first comer
     * unless that one's code object is gone. */
    if (entry == NULL || (line != NULL && line->code != code))
        return entry;
    line = new_line();
    if (line != NULL) {
        *line = (struct line){code,
                              word(code, layout->code_file),
                              word(code, layout->code_name),
                              word(code, layout->code_lines),
                              instruction,
                              number(code, layout->code_first_line),
                              entry};
        atomic_store_explicit(slot, line, memory_order_release);
    }
    return entry;
}

/* --- the walk ------------------------------------------------------------------------------------- */

size_t gp_python_walk(void **frames, size_t size)
{
    uintptr_t thread = (uintptr_t)this_thread_state(), frame, code;
    size_t count = 0;

    if (thread == 0)
        return 0;
    frame = word(word(thread, layout->thread_cframe), layout->cframe_frame);
    for (; frame != 0 && count < size; frame = word(frame, layout->frame_previous)) {
        if (*(const uint8_t *)(frame + layout->frame_owner) == layout->owner_skipped)
            continue;
        code = word(frame, layout->frame_code);
        struct gp_entry *entry =
            line_of(code, (int32_t)((intptr_t)word(frame, layout->frame_instruction) -
                                    (intptr_t)(code + layout->code_instructions)));
        if (entry != NULL)
            frames[count++] = gp_python_frame_address(entry);
    }
    return count;
}

/* --- the program's loop --------------------------------------------------------------------------- */

void gp_python_watch_frame(struct gp_thread *thread, uintptr_t frame_object, uintptr_t code)
{
    if (!gp_python_lines_enabled())
        return;
    thread->torch.loop_frame = word(frame_object, GP_PYTHON_OBJECT_FRAME);
    thread->torch.loop_code = code;
}

static bool is_running(const struct gp_torch_thread *torch)
{
    uintptr_t thread = (uintptr_t)this_thread_state(), top, frame;

    if (thread == 0)
        return true; /* not a thread of Python's: it says nothing */
    top = word(word(thread, layout->thread_cframe), layout->cframe_frame);
    for (frame = top; frame != 0 && frame != torch->loop_frame;)
        frame = word(frame, layout->frame_previous);
    if (frame == 0 || word(frame, layout->frame_code) != torch->loop_code)
        return false;
    return frame != top || layout->minor != 11 ||
           *(const uint8_t *)word(frame, layout->frame_instruction) != RETURN_VALUE;
}

void gp_python_check_loop(struct gp_thread *thread)
{
    struct gp_record record = {.type = GP_EV_LOOP_END};

    if (__builtin_expect(thread->torch.loop_frame == 0, 1) || is_running(&thread->torch))
        return;
    thread->torch.loop_frame = 0;
    thread->torch.loop_over = true;
    if (gp_session_ready(thread, false))
        gp_event(thread, &record);
}

uint32_t gp_python_only_stack_id(struct gp_thread *thread)
{
    size_t count = 0;

    if (gp_python_lines_enabled())
        count = gp_python_walk(thread->frames + 1, gp_session.depth);
    return gp_stack_id_of(thread, thread->frames + 1, count);
}

uint32_t gp_python_stack_id(struct gp_thread *thread)
{
    uint32_t stack_id = gp_python_only_stack_id(thread);

    return stack_id != 0 ? stack_id : gp_stack_id(thread);
}
