/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/host.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GRADPROF_NO_MACROS
#include <gradprof/gradprof.h>

#include "libgradprof/core/event.h"
#include "libgradprof/core/message.h"
#include "libgradprof/core/run_meta.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/python/walker.h"
#include "libgradprof/torch/blocks.h"
#include "libgradprof/torch/graph.h"
#include "libgradprof/torch/layout.h"
#include "libgradprof/torch/slots.h"

#define FILE_INPUT 257 /* Py_file_input */
#define METH_VARARGS 1
#define ARM_PAUSE_NS UINT64_C(2000000) /* between two tries: torch is still being imported */
#define STACK_TRIES 256

typedef struct object PyObject; /* opaque here: all by functions of the running interpreter */

struct method {
    const char *name;
    PyObject *(*call)(PyObject *, PyObject *);
    int flags;
    const char *doc;
};

/* Everything needed of the interpreter; all are part of its stable ABI. */
#define PYTHON_FUNCTIONS(X)                                                                        \
    X(int, Py_AddPendingCall, (int (*)(void *), void *))                                           \
    X(int, PyArg_ParseTuple, (PyObject *, const char *, ...))                                      \
    X(PyObject *, Py_BuildValue, (const char *, ...))                                              \
    X(PyObject *, PyDict_New, (void))                                                              \
    X(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *))                           \
    X(PyObject *, PyDict_GetItemString, (PyObject *, const char *))                                \
    X(PyObject *, PyEval_GetBuiltins, (void))                                                      \
    X(PyObject *, Py_CompileString, (const char *, const char *, int))                             \
    X(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *))                           \
    X(PyObject *, PyObject_CallObject, (PyObject *, PyObject *))                                   \
    X(long, PyLong_AsLong, (PyObject *))                                                           \
    X(PyObject *, PyCFunction_NewEx, (struct method *, PyObject *, PyObject *))                    \
    X(void, PyErr_Clear, (void))                                                                   \
    X(PyObject *, PyList_New, (intptr_t))                                                          \
    X(int, PyList_Append, (PyObject *, PyObject *))                                                \
    X(void, Py_DecRef, (PyObject *))

static struct {
#define X(type, name, arguments) type(*name) arguments;
    PYTHON_FUNCTIONS(X)
#undef X
} python;

enum { NOT_ASKED, ABSENT, WAITING, ARMED, INSTALLED, FAILED };
static _Atomic int state = NOT_ASKED;
static _Atomic uint64_t armed_ns;
static PyObject *try_install; /* the walker's function */

/* --- what the walker can call ---------------------------------------------------------------------- */

static PyObject *none(void)
{
    return python.Py_BuildValue("");
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
    return python.Py_BuildValue("i", thread != NULL);
}

static PyObject *add_handle(PyObject *self, PyObject *arguments)
{
    unsigned long long key, address, node;
    const char *name;
    struct gp_thread *thread;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "KsKK", &key, &name, &address, &node))
        return NULL;
    thread = enter();
    if (thread == NULL)
        return none();
    struct gp_record record = {.type = GP_EV_HANDLE, .key = key, .a = address, .b = node};
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

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "K", &key))
        return NULL;
    gradprof_handle_destroy((const void *)(uintptr_t)key);
    return none();
}

static PyObject *set_role(PyObject *self, PyObject *arguments)
{
    unsigned long long address;
    unsigned role;
    const char *name;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "KIs", &address, &role, &name))
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
    if (!python.PyArg_ParseTuple(arguments, "KK", &object, &size))
        return NULL;
    for (unsigned long long offset = 16; offset + 8 <= size && offset < 512; offset += 8) {
        uint64_t word = *(const uint64_t *)(uintptr_t)(object + offset);
        if (gp_graph_is_node(word, &stack_id))
            return python.Py_BuildValue("K", (unsigned long long)word);
    }
    return python.Py_BuildValue("i", 0);
}

/* Where in its node a SavedTensor object's slot lies: such objects hold a pointer to it, after the
 * object's header. 0: it does not lie in the node. */
static PyObject *slot_offset(PyObject *self, PyObject *arguments)
{
    unsigned long long object, node;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "KK", &object, &node))
        return NULL;
    uint64_t slot = *(const uint64_t *)(uintptr_t)(object + 16);
    bool inside = node != 0 && slot > node && slot - node < GP_SLOT_LIST;
    return python.Py_BuildValue("K", inside ? (unsigned long long)(slot - node) : 0);
}

static PyObject *step(PyObject *self, PyObject *arguments)
{
    int begin;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "i", &begin))
        return NULL;
    if (begin)
        gradprof_step_begin(NULL);
    else
        gradprof_step_end();
    return none();
}

static PyObject *scope(PyObject *self, PyObject *arguments)
{
    const char *name;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "z", &name))
        return NULL;
    if (name != NULL)
        gradprof_scope_push(GRADPROF_SCOPE_MODULE, name);
    else
        gradprof_scope_pop();
    return none();
}

static PyObject *list_ops(PyObject *self, PyObject *arguments)
{
    PyObject *list = python.PyList_New(0), *item;
    uint32_t offsets[GP_OP_SLOTS];
    const char *op;
    size_t count;

    (void)self, (void)arguments;
    for (size_t i = 0; (op = gp_graph_op(i, offsets, &count)) != NULL; i++)
        for (size_t slot = 0; slot < count; slot++) {
            item = python.Py_BuildValue("sI", op, offsets[slot]);
            python.PyList_Append(list, item);
            python.Py_DecRef(item);
        }
    return list;
}

static PyObject *name_slot(PyObject *self, PyObject *arguments)
{
    const char *op, *name;
    unsigned offset;
    struct gp_thread *thread;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "sIs", &op, &offset, &name))
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
    PyObject *list = python.PyList_New(0), *item;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "KK", &frame, &count))
        return NULL;
    uint64_t inner = *(const uint64_t *)(uintptr_t)(frame + 24); /* PyFrameObject.f_frame */
    PyObject *const *values = (PyObject *const *)(uintptr_t)(inner + GP_PYTHON_LOCALS_OFFSET);
    for (unsigned long long i = 0; i < count; i++) {
        item = values[i] == NULL ? none() : NULL;
        python.PyList_Append(list, item != NULL ? item : values[i]);
        if (item != NULL)
            python.Py_DecRef(item);
    }
    return list;
}

/* One raw walk, for the self-check: (function, file, line) of each frame, innermost first. */
static PyObject *raw_lines(PyObject *self, PyObject *arguments)
{
    void *frames[STACK_TRIES];
    PyObject *list = python.PyList_New(0), *item;
    char function[1024], file[1024];
    uint32_t line;
    size_t count;

    (void)self, (void)arguments;
    count = gp_python_walk(frames, STACK_TRIES);
    for (size_t i = 0; i < count; i++) {
        gp_python_frame_text(frames[i], function, file, sizeof(file), &line);
        item = python.Py_BuildValue("ssI", function, file, line);
        if (item == NULL)
            break;
        python.PyList_Append(list, item);
        python.Py_DecRef(item);
    }
    return list;
}

static PyObject *enable_lines(PyObject *self, PyObject *arguments)
{
    int enable;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "i", &enable))
        return NULL;
    gp_python_lines_enable(enable != 0);
    return none();
}

/* Which calls were seen, and which layouts found: (node, edge, save, release, end, storage, edges). */
static PyObject *capabilities(PyObject *self, PyObject *arguments)
{
    (void)self, (void)arguments;
    return python.Py_BuildValue("iiiiiii", gp_graph_seen(GP_SEEN_NODE), gp_graph_seen(GP_SEEN_EDGE),
                                gp_graph_seen(GP_SEEN_SAVE), gp_graph_seen(GP_SEEN_RELEASE),
                                gp_graph_seen(GP_SEEN_END), gp_layout_knows_storage(),
                                gp_layout_knows_edges());
}

static PyObject *say(PyObject *self, PyObject *arguments)
{
    const char *text;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "s", &text))
        return NULL;
    gp_message("%s", text);
    return none();
}

static PyObject *put_meta(PyObject *self, PyObject *arguments)
{
    const char *key, *value;
    struct gp_thread *thread;

    (void)self;
    if (!python.PyArg_ParseTuple(arguments, "ss", &key, &value))
        return NULL;
    thread = enter();
    if (thread != NULL) {
        gp_run_meta_put(thread, key, value);
        thread->guard--;
    }
    return none();
}

static struct method methods[] = {
    {"is_recording", is_recording, METH_VARARGS, NULL},
    {"add_handle", add_handle, METH_VARARGS, NULL},
    {"end_handle", end_handle, METH_VARARGS, NULL},
    {"set_role", set_role, METH_VARARGS, NULL},
    {"capabilities", capabilities, METH_VARARGS, NULL},
    {"slot_offset", slot_offset, METH_VARARGS, NULL},
    {"node_of", node_of, METH_VARARGS, NULL},
    {"step", step, METH_VARARGS, NULL},
    {"scope", scope, METH_VARARGS, NULL},
    {"list_ops", list_ops, METH_VARARGS, NULL},
    {"name_slot", name_slot, METH_VARARGS, NULL},
    {"locals_of", locals_of, METH_VARARGS, NULL},
    {"raw_lines", raw_lines, METH_VARARGS, NULL},
    {"say", say, METH_VARARGS, NULL},
    {"enable_lines", enable_lines, METH_VARARGS, NULL},
    {"put_meta", put_meta, METH_VARARGS, NULL},
};

/* --- installing it ---------------------------------------------------------------------------------- */

static bool find_python(void)
{
#define X(type, name, arguments)                                                                   \
    python.name = (type(*) arguments)dlsym(RTLD_DEFAULT, #name);                                   \
    if (python.name == NULL)                                                                       \
        return false;
    PYTHON_FUNCTIONS(X)
#undef X
    return true;
}

static PyObject *load_walker(void)
{
    PyObject *globals = python.PyDict_New(), *code, *function;
    int minor;

    python.PyDict_SetItemString(globals, "__builtins__", python.PyEval_GetBuiltins());
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        function = python.PyCFunction_NewEx(&methods[i], NULL, NULL);
        python.PyDict_SetItemString(globals, methods[i].name, function);
        python.Py_DecRef(function);
    }
    function = python.Py_BuildValue("i", gp_python_layout(&minor) != NULL);
    python.PyDict_SetItemString(globals, "HAVE_LAYOUT", function);
    python.Py_DecRef(function);
    code = python.Py_CompileString(gp_walker_source, "<gradprof>", FILE_INPUT);
    if (code == NULL || python.PyEval_EvalCode(code, globals, globals) == NULL)
        return NULL;
    return python.PyDict_GetItemString(globals, "try_install");
}

/* With the GIL, in the main thread, between two bytecodes. */
static int install(void *unused)
{
    PyObject *result = NULL;

    (void)unused;
    if (try_install == NULL)
        try_install = load_walker();
    if (try_install != NULL)
        result = python.PyObject_CallObject(try_install, NULL);
    if (result == NULL) {
        python.PyErr_Clear();
        gp_message("the Python walker cannot be used here: no names of variables, no steps");
        atomic_store(&state, FAILED);
        return 0;
    }
    atomic_store(&state, python.PyLong_AsLong(result) ? INSTALLED : WAITING);
    python.Py_DecRef(result);
    return 0;
}

void gp_python_arm(void)
{
    int now = atomic_load_explicit(&state, memory_order_relaxed), expected = WAITING;

    if (__builtin_expect(now >= ARMED || now == ABSENT, 1))
        return;
    if (now == NOT_ASKED) {
        bool found = find_python();
        atomic_store(&state, found ? WAITING : ABSENT);
        if (!found)
            return;
    }
    if (gp_time_ns() - atomic_load(&armed_ns) < ARM_PAUSE_NS)
        return;
    if (!atomic_compare_exchange_strong(&state, &expected, ARMED))
        return;
    atomic_store(&armed_ns, gp_time_ns());
    if (python.Py_AddPendingCall(install, NULL) != 0)
        atomic_store(&state, WAITING);
}

void gp_python_forked(void)
{
    int expected = ARMED;

    atomic_compare_exchange_strong(&state, &expected, WAITING);
}
