/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/api.h"
#include "libgradprof/hooks/loader.h"

#include <dlfcn.h>
#include <stddef.h>

struct gp_python_api gp_python;

bool gp_python_find(void)
{
#define X(type, name, arguments)                                                                   \
    gp_python.name = (type(*) arguments)gp_dlsym(RTLD_DEFAULT, #name);                             \
    if (gp_python.name == NULL)                                                                    \
        return false;
    GP_PYTHON_FUNCTIONS(X)
#undef X
    return true;
}
