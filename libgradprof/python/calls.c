/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/calls.h"

#define GRADPROF_NO_MACROS
#include <gradprof/gradprof.h>

#include "libgradprof/annotate/step.h"
#include "libgradprof/core/event.h"
#include "libgradprof/core/message.h"
#include "libgradprof/core/run_meta.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/python/host.h"
#include "libgradprof/torch/blocks.h"
#include "libgradprof/torch/graph.h"
#include "libgradprof/torch/layout.h"
#include "libgradprof/torch/refused.h"
#include "libgradprof/torch/slots.h"

#define STACK_TRIES 256

static PyObject *none(void)
{
    return gp_python.Py_BuildValue("");
}

/* The calling thread if it records, its guard up. */
static struct gp_thread *enter(void)
{
    struct gp_thread *thread = gp_thread_get();

    if (thread == NULL || thread->guard > 0)
        return NULL;
    thread->guard++;
    if (gp_session_ready(thread, false))
        return thread;
    thread->guard--;
    return NULL;
}

static PyObject *is_recording(PyObject *self, PyObject *arguments)
{
    struct gp_thread *thread = enter();

    (void)self, (void)arguments;
    if (thread != NULL) {
        gp_graph_settle(thread);
        thread->guard--;
    }
    return gp_python.Py_BuildValue("i", thread != NULL);
}

static PyObject *add_handle(PyObject *self, PyObject *arguments)
{
    unsigned long long key, address, node;
    const char *name;
    struct gp_thread *thread;
    int late;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KsKKi", &key, &name, &address, &node, &late))
        return NULL;
    thread = enter();
    if (thread == NULL)
        return none();
    struct gp_record record = {
        .type = GP_EV_HANDLE, .key = key, .a = address, .b = node, .detail = (uint32_t)late};
    record.name_id = gp_name_id(thread, gp_name(name));
    if (node == 0 || !gp_graph_is_node(node, &record.stack_id))
        record.stack_id = gp_blocks_stack(address);
    if (!gp_blocks_is_recorded(address))
        record.a = 0;
    gp_event(thread, &record);
    thread->guard--;
    return none();
}

static PyObject *end_handle(PyObject *self, PyObject *arguments)
{
    unsigned long long key;
    struct gp_thread *thread;
    int late;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "Ki", &key, &late))
        return NULL;
    thread = enter();
    if (thread == NULL)
        return none();
    struct gp_record record = {.type = GP_EV_HANDLE_DESTROY, .key = key, .detail = (uint32_t)late};
    gp_event(thread, &record);
    thread->guard--;
    return none();
}

/* Whether the storage, or the node, of a variable that is gone still exists. */
static PyObject *is_alive(PyObject *self, PyObject *arguments)
{
    unsigned long long address, node;
    uint32_t stack_id;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KK", &address, &node))
        return NULL;
    return gp_python.Py_BuildValue("i", node != 0 ? gp_graph_is_node(node, &stack_id)
                                                  : gp_blocks_is_recorded(address));
}

static PyObject *set_role(PyObject *self, PyObject *arguments)
{
    unsigned long long address;
    unsigned role;
    const char *name;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KIs", &address, &role, &name))
        return NULL;
    if (gp_blocks_is_recorded(address))
        gradprof_storage_role((const void *)(uintptr_t)address, (enum gradprof_role)role, name);
    return none();
}

/* The node that a grad_fn object stands for: the first live one that its memory names. */
static PyObject *node_of(PyObject *self, PyObject *arguments)
{
    unsigned long long object, size;
    uint32_t stack_id;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KK", &object, &size))
        return NULL;
    for (unsigned long long offset = 16; offset + 8 <= size && offset < 512; offset += 8) {
        uint64_t word = *(const uint64_t *)(uintptr_t)(object + offset);
        if (gp_graph_is_node(word, &stack_id))
            return gp_python.Py_BuildValue("K", (unsigned long long)word);
    }
    return gp_python.Py_BuildValue("i", 0);
}

/* Where in its node a SavedTensor object's slot lies: such objects hold a pointer to it, after the
 * object's header. 0: it does not lie in the node. */
static PyObject *slot_offset(PyObject *self, PyObject *arguments)
{
    unsigned long long object, node;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KK", &object, &node))
        return NULL;
    uint64_t slot = *(const uint64_t *)(uintptr_t)(object + 16);
    bool inside = node != 0 && slot > node && slot - node < GP_SLOT_LIST;
    return gp_python.Py_BuildValue("K", inside ? (unsigned long long)(slot - node) : 0);
}

/* 0: a step ends, 1: begins, 2: ended with the loop, if that has ended. */
static PyObject *step(PyObject *self, PyObject *arguments)
{
    int what;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "i", &what))
        return NULL;
    if (what == 1)
        gradprof_step_begin(NULL);
    else
        gp_step_end(what == 2);
    return none();
}

static PyObject *scope(PyObject *self, PyObject *arguments)
{
    const char *name;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "z", &name))
        return NULL;
    if (name != NULL)
        gradprof_scope_push(GRADPROF_SCOPE_MODULE, name);
    else
        gradprof_scope_pop();
    return none();
}

static PyObject *list_ops(PyObject *self, PyObject *arguments)
{
    PyObject *list = gp_python.PyList_New(0), *item;
    uint32_t offsets[GP_OP_SLOTS];
    const char *op;
    size_t count;

    (void)self, (void)arguments;
    for (size_t i = 0; (op = gp_graph_op(i, offsets, &count)) != NULL; i++)
        for (size_t slot = 0; slot < count; slot++) {
            item = gp_python.Py_BuildValue("sI", op, offsets[slot]);
            gp_python.PyList_Append(list, item);
            gp_python.Py_DecRef(item);
        }
    return list;
}

static PyObject *name_slot(PyObject *self, PyObject *arguments)
{
    const char *op, *name;
    unsigned offset;
    struct gp_thread *thread;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "sIs", &op, &offset, &name))
        return NULL;
    thread = enter();
    if (thread != NULL) {
        gp_graph_slot_name(thread, op, offset, name);
        thread->guard--;
    }
    return none();
}

/* Values of the local variables of a running frame: reading frame.f_locals would keep them alive. */
static PyObject *locals_of(PyObject *self, PyObject *arguments)
{
    unsigned long long frame, count;
    PyObject *list = gp_python.PyList_New(0), *item;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KK", &frame, &count))
        return NULL;
    uint64_t inner = *(const uint64_t *)(uintptr_t)(frame + GP_PYTHON_OBJECT_FRAME);
    PyObject *const *values = (PyObject *const *)(uintptr_t)(inner + GP_PYTHON_LOCALS_OFFSET);
    for (unsigned long long i = 0; i < count; i++) {
        item = values[i] == NULL ? none() : NULL;
        gp_python.PyList_Append(list, item != NULL ? item : values[i]);
        if (item != NULL)
            gp_python.Py_DecRef(item);
    }
    return list;
}

/* One raw walk, for the self-check: (function, file, line) of each frame, innermost first. */
static PyObject *raw_lines(PyObject *self, PyObject *arguments)
{
    void *frames[STACK_TRIES];
    PyObject *list = gp_python.PyList_New(0), *item;
    char function[1024], file[1024];
    uint32_t line;
    size_t count;

    (void)self, (void)arguments;
    count = gp_python_walk(frames, STACK_TRIES);
    for (size_t i = 0; i < count; i++) {
        gp_python_frame_text(frames[i], function, file, sizeof(file), &line);
        item = gp_python.Py_BuildValue("ssI", function, file, line);
        if (item == NULL)
            break;
        gp_python.PyList_Append(list, item);
        gp_python.Py_DecRef(item);
    }
    return list;
}

static PyObject *enable_lines(PyObject *self, PyObject *arguments)
{
    int enable;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "i", &enable))
        return NULL;
    gp_python_lines_enable(enable != 0);
    return none();
}

/* Which calls were seen, and which layouts found: (node, edge, save, release, end, storage, edges). */
static PyObject *capabilities(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    return gp_python.Py_BuildValue("iiiiiii", gp_graph_seen(GP_SEEN_NODE),
                                   gp_graph_seen(GP_SEEN_EDGE), gp_graph_seen(GP_SEEN_SAVE),
                                   gp_graph_seen(GP_SEEN_RELEASE), gp_graph_seen(GP_SEEN_END),
                                   gp_layout_knows_storage(), gp_layout_knows_edges());
}

static PyObject *say(PyObject *self, PyObject *arguments)
{
    const char *text;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "s", &text))
        return NULL;
    gp_message("%s", text);
    return none();
}

static PyObject *put_meta(PyObject *self, PyObject *arguments)
{
    const char *key, *value;
    struct gp_thread *thread;

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "ss", &key, &value))
        return NULL;
    thread = enter();
    if (thread != NULL) {
        gp_run_meta_put(thread, key, value);
        thread->guard--;
    }
    return none();
}

static PyObject *watch_frame(PyObject *self, PyObject *arguments)
{
    unsigned long long frame, code;
    struct gp_thread *thread = gp_thread_get();

    (void)self;
    if (!gp_python.PyArg_ParseTuple(arguments, "KK", &frame, &code))
        return NULL;
    if (thread != NULL)
        gp_python_watch_frame(thread, (uintptr_t)frame, (uintptr_t)code);
    return none();
}

/* Whether the watched frame ended since it was set. */
static PyObject *loop_ended(PyObject *self, PyObject *arguments)
{
    struct gp_thread *thread = gp_thread_get();
    bool over = thread != NULL && thread->torch.loop_over;

    (void)self, (void)arguments;
    if (over)
        thread->torch.loop_over = false;
    return gp_python.Py_BuildValue("i", over);
}

/* PyTorch's observer of refusals will call the walker. */
static PyObject *observe(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    gp_python_observe();
    return none();
}

static PyObject *tell_refused(PyObject *self, PyObject *arguments)
{
    struct gp_thread *thread = enter();

    (void)self, (void)arguments;
    if (thread != NULL) {
        gp_refused_tell(thread);
        thread->guard--;
    }
    return none();
}

static PyObject *finished(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    gp_python_finished();
    return none();
}

static struct gp_python_method methods[] = {
    {"is_recording", is_recording, GP_PYTHON_VARARGS, NULL},
    {"add_handle", add_handle, GP_PYTHON_VARARGS, NULL},
    {"end_handle", end_handle, GP_PYTHON_VARARGS, NULL},
    {"is_alive", is_alive, GP_PYTHON_VARARGS, NULL},
    {"set_role", set_role, GP_PYTHON_VARARGS, NULL},
    {"capabilities", capabilities, GP_PYTHON_VARARGS, NULL},
    {"slot_offset", slot_offset, GP_PYTHON_VARARGS, NULL},
    {"node_of", node_of, GP_PYTHON_VARARGS, NULL},
    {"step", step, GP_PYTHON_VARARGS, NULL},
    {"scope", scope, GP_PYTHON_VARARGS, NULL},
    {"list_ops", list_ops, GP_PYTHON_VARARGS, NULL},
    {"name_slot", name_slot, GP_PYTHON_VARARGS, NULL},
    {"locals_of", locals_of, GP_PYTHON_VARARGS, NULL},
    {"raw_lines", raw_lines, GP_PYTHON_VARARGS, NULL},
    {"say", say, GP_PYTHON_VARARGS, NULL},
    {"enable_lines", enable_lines, GP_PYTHON_VARARGS, NULL},
    {"put_meta", put_meta, GP_PYTHON_VARARGS, NULL},
    {"watch_frame", watch_frame, GP_PYTHON_VARARGS, NULL},
    {"loop_ended", loop_ended, GP_PYTHON_VARARGS, NULL},
    {"observe", observe, GP_PYTHON_VARARGS, NULL},
    {"tell_refused", tell_refused, GP_PYTHON_VARARGS, NULL},
    {"finished", finished, GP_PYTHON_VARARGS, NULL},
};

void gp_python_add_calls(PyObject *globals)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        PyObject *function = gp_python.PyCFunction_NewEx(&methods[i], NULL, NULL);
        gp_python.PyDict_SetItemString(globals, methods[i].name, function);
        gp_python.Py_DecRef(function);
    }
}
