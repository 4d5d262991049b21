/* SPDX-License-Identifier: MIT */
/* The running interpreter's own functions, by name; all are part of its stable ABI but for the pending
 * call. Objects are opaque here. */
#ifndef GP_PYTHON_API_H
#define GP_PYTHON_API_H

#include <stdbool.h>
#include <stdint.h>

typedef struct object PyObject;

#define GP_PYTHON_FILE_INPUT 257 /* Py_file_input */
#define GP_PYTHON_VARARGS 1      /* METH_VARARGS */

struct gp_python_method { /* PyMethodDef */
    const char *name;
    PyObject *(*call)(PyObject *, PyObject *);
    int flags;
    const char *doc;
};

#define GP_PYTHON_FUNCTIONS(X)                                                                     \
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
    X(PyObject *, PyCFunction_NewEx, (struct gp_python_method *, PyObject *, PyObject *))          \
    X(void, PyErr_Clear, (void))                                                                   \
    X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                                  \
    X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *))                                   \
    X(int, PyGILState_Check, (void))                                                               \
    X(int, PyGILState_Ensure, (void))                                                              \
    X(void, PyGILState_Release, (int))                                                             \
    X(void *, PyGILState_GetThisThreadState, (void))                                               \
    X(PyObject *, PyList_New, (intptr_t))                                                          \
    X(int, PyList_Append, (PyObject *, PyObject *))                                                \
    X(void, Py_DecRef, (PyObject *))

struct gp_python_api {
#define X(type, name, arguments) type(*name) arguments;
    GP_PYTHON_FUNCTIONS(X)
#undef X
};

extern struct gp_python_api gp_python;

/* Once, before anything else here. False: this process has no Python, or not all of it. */
bool gp_python_find(void);

#endif
