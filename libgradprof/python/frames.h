/* SPDX-License-Identifier: MIT */
/*
 * Python lines of the calling thread, read from the interpreter's frames without the GIL: the thread
 * itself is inside a C call that these frames made, so they stand still. Offsets by minor version;
 * nothing is read before a comparison with Python's own API succeeded at a safe point.
 */
#ifndef GP_PYTHON_FRAMES_H
#define GP_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_entry;
struct gp_thread;

struct gp_python_layout { /* offsets in bytes */
    int minor;
    uint16_t thread_cframe, cframe_frame;
    uint16_t frame_code, frame_previous, frame_instruction, frame_owner;
    uint16_t code_first_line, code_file, code_name, code_lines, code_instructions;
    uint16_t text_ascii, text_compact; /* of the characters, after the header */
    uint8_t owner_skipped;             /* frames of this owner are the C stack's; 255: none */
};

#define GP_PYTHON_LOCALS_OFFSET 72 /* of a frame's local variables, 3.11 and 3.12 */
#define GP_PYTHON_OBJECT_FRAME 24  /* of a frame object's interpreter frame, 3.11 and 3.12 */

/* The layout of the running interpreter, or NULL: not Python, or a version that is not in the table.
 * *ret_minor: 0 without Python. */
const struct gp_python_layout *gp_python_layout(int *ret_minor);
/* From the self-check on: frames may be read (or may not). */
void gp_python_lines_enable(bool enable);
bool gp_python_lines_enabled(void);

/* The calling thread runs the program's loop in this frame object, with this code, as of now. */
void gp_python_watch_frame(struct gp_thread *thread, uintptr_t frame_object, uintptr_t code);
/* Something is about to be freed: the first time that happens after the watched frame has ended (or
 * in its end), the thread's step gets a mark. */
void gp_python_check_loop(struct gp_thread *thread);

/* Python frames, innermost first, as pseudo-addresses into `frames`. 0: none here. */
size_t gp_python_walk(void **frames, size_t size);
/* The stack for an event: Python's, or the native one where there is no Python frame. */
uint32_t gp_python_stack_id(struct gp_thread *thread);
uint32_t gp_python_only_stack_id(struct gp_thread *thread); /* 0 where there is no Python frame */

#endif
