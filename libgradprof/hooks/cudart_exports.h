/* SPDX-License-Identifier: MIT */
/* The wrappers' own prototypes. */
#ifndef GP_HOOKS_CUDART_EXPORTS_H
#define GP_HOOKS_CUDART_EXPORTS_H

#include "libgradprof/hooks/cudart_types.h"

#define GP_EXPORT __attribute__((visibility("default")))

#define GP_HOOK(function, parameters) GP_EXPORT gp_cuda_error function parameters;
#define GP_REAL(function, parameters)
#include "libgradprof/hooks/cudart.def"
#undef GP_HOOK
#undef GP_REAL

#endif
