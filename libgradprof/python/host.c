/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/host.h"

#include <stdatomic.h>
#include <stddef.h>

#include "libgradprof/core/event.h"
#include "libgradprof/core/message.h"
#include "libgradprof/python/api.h"
#include "libgradprof/python/calls.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/python/walker.h"

#define ARM_PAUSE_NS UINT64_C(2000000) /* between two tries: torch is still being imported */

enum { NOT_ASKED, ASKING, ABSENT, WAITING, ARMED, INSTALLED, FAILED, FINISHED };
static _Atomic int state = NOT_ASKED;
static _Atomic uint64_t armed_ns;
static _Atomic bool observes, look_waits;
static PyObject *try_install, *look; /* the walker's functions */

/* --- installing it ---------------------------------------------------------------------------------- */

static PyObject *load_walker(void)
{
    PyObject *globals = gp_python.PyDict_New(), *code, *layout;
    int minor;

    gp_python.PyDict_SetItemString(globals, "__builtins__", gp_python.PyEval_GetBuiltins());
    gp_python_add_calls(globals);
    layout = gp_python.Py_BuildValue("i", gp_python_layout(&minor) != NULL);
    gp_python.PyDict_SetItemString(globals, "HAVE_LAYOUT", layout);
    gp_python.Py_DecRef(layout);
    code = gp_python.Py_CompileString(gp_walker_source, "<gradprof>", GP_PYTHON_FILE_INPUT);
    if (code == NULL || gp_python.PyEval_EvalCode(code, globals, globals) == NULL)
        return NULL;
    look = gp_python.PyDict_GetItemString(globals, "look_at_refusal");
    return gp_python.PyDict_GetItemString(globals, "try_install");
}

/* With the GIL, in the main thread, between two bytecodes. */
static int install(void *unused)
{
    PyObject *result = NULL;

    (void)unused;
    if (try_install == NULL)
        try_install = load_walker();
    if (try_install != NULL)
        result = gp_python.PyObject_CallObject(try_install, NULL);
    if (result == NULL) {
        gp_python.PyErr_Clear();
        gp_message("the Python walker cannot be used here: no names of variables, no steps");
        atomic_store(&state, FAILED);
        return 0;
    }
    atomic_store(&state, gp_python.PyLong_AsLong(result) ? INSTALLED : WAITING);
    gp_python.Py_DecRef(result);
    return 0;
}

void gp_python_arm(void)
{
    int now = atomic_load_explicit(&state, memory_order_relaxed), expected = WAITING;

    if (__builtin_expect(now >= ARMED || now == ABSENT || now == ASKING, 1))
        return;
    if (now == NOT_ASKED) {
        if (!atomic_compare_exchange_strong(&state, &now, ASKING))
            return; /* another thread does */
        bool found = gp_python_find();
        atomic_store(&state, found ? WAITING : ABSENT);
        if (!found)
            return;
    }
    if (gp_time_ns() - atomic_load(&armed_ns) < ARM_PAUSE_NS)
        return;
    if (!atomic_compare_exchange_strong(&state, &expected, ARMED))
        return;
    atomic_store(&armed_ns, gp_time_ns());
    if (gp_python.Py_AddPendingCall(install, NULL) != 0)
        atomic_store(&state, WAITING);
}

void gp_python_forked(void)
{
    int expected = ARMED;

    atomic_compare_exchange_strong(&state, &expected, WAITING);
    atomic_store(&look_waits, false);
}

void gp_python_finished(void)
{
    atomic_store(&state, FINISHED);
}

/* --- looks outside of the walker's own hooks ------------------------------------------------------------ */

/* With the GIL; an exception that is on its way stays. `late`: what is found counts as of the last
 * refusal. */
static void call_look(bool late)
{
    PyObject *type, *value, *trace, *arguments, *result = NULL;

    gp_python.PyErr_Fetch(&type, &value, &trace);
    arguments = gp_python.Py_BuildValue("(i)", late);
    if (arguments != NULL)
        result = gp_python.PyObject_CallObject(look, arguments);
    if (result == NULL)
        gp_python.PyErr_Clear();
    else
        gp_python.Py_DecRef(result);
    if (arguments != NULL)
        gp_python.Py_DecRef(arguments);
    gp_python.PyErr_Restore(type, value, trace);
}

bool gp_python_look(void)
{
    int gil;

    if (atomic_load(&state) != INSTALLED || look == NULL ||
        gp_python.PyGILState_GetThisThreadState() == NULL)
        return false;
    gil = gp_python.PyGILState_Ensure(); /* a thread of Python's own: it comes to no new state */
    call_look(false);
    gp_python.PyGILState_Release(gil);
    return true;
}

static int look_late(void *unused)
{
    (void)unused;
    atomic_store(&look_waits, false);
    if (atomic_load(&state) == INSTALLED)
        call_look(true);
    return 0;
}

void gp_python_look_later(void)
{
    if (atomic_load(&state) != INSTALLED || look == NULL || atomic_exchange(&look_waits, true))
        return;
    if (gp_python.Py_AddPendingCall(look_late, NULL) != 0)
        atomic_store(&look_waits, false);
}

void gp_python_observe(void)
{
    atomic_store(&observes, true);
}

bool gp_python_observes(void)
{
    return atomic_load(&observes) && atomic_load(&state) == INSTALLED;
}
