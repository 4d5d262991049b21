/* SPDX-License-Identifier: MIT */
/* What the walker (walker.py) can call of libgradprof's. Each runs with the GIL held. */
#ifndef GP_PYTHON_CALLS_H
#define GP_PYTHON_CALLS_H

#include "libgradprof/python/api.h"

/* Puts them into the walker's globals. */
void gp_python_add_calls(PyObject *globals);

#endif
