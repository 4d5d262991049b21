/* SPDX-License-Identifier: MIT */
/*
 * The CUDA driver as the lower of the two levels that are hooked. Every CUDA runtime, shared or linked
 * statically into a program or a library, reaches the driver by dlsym and cuGetProcAddress; both hand
 * out our wrappers instead of the functions of driver.def. What a wrapped runtime function calls on its
 * way down is no second allocation (ledger.h).
 */
#ifndef GP_HOOKS_DRIVER_H
#define GP_HOOKS_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "libgradprof/hooks/driver_types.h"
#include "libgradprof/hooks/ledger.h"

enum gp_driver_function {
#define GP_DRIVER(symbol, name, since, stream, parameters) GP_DRIVER_##symbol,
#define GP_DRIVER_ALIAS(symbol, name, since)
#define GP_DRIVER_REAL(symbol, parameters) GP_DRIVER_##symbol,
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL
    GP_DRIVER_FUNCTIONS
};

/* The real functions as they were handed out last: a process has one driver. */
extern _Atomic(void *) gp_driver_real[GP_DRIVER_FUNCTIONS];
/* Looks in the driver's library. Never NULL: what it lacks fails with GP_CU_ERROR_NOT_INITIALIZED. */
void *gp_driver_find(enum gp_driver_function function);

/* gp_real_cuMemAlloc_v2() is the real cuMemAlloc_v2. */
#define GP_REAL_FUNCTION(symbol, parameters)                                                       \
    typedef gp_cu_result(*gp_type_##symbol) parameters;                                            \
    static inline gp_type_##symbol gp_real_##symbol(void)                                          \
    {                                                                                              \
        void *real =                                                                               \
            atomic_load_explicit(&gp_driver_real[GP_DRIVER_##symbol], memory_order_acquire);       \
        return (gp_type_##symbol)(                                                                 \
            __builtin_expect(real != NULL, 1) ? real : gp_driver_find(GP_DRIVER_##symbol));        \
    }
#define GP_DRIVER(symbol, name, since, stream, parameters) GP_REAL_FUNCTION(symbol, parameters)
#define GP_DRIVER_ALIAS(symbol, name, since)
#define GP_DRIVER_REAL(symbol, parameters) GP_REAL_FUNCTION(symbol, parameters)
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL

/* Is there a driver in this process? Asks the loader. */
bool gp_driver_present(void);

/* Our wrapper for a function called `symbol` whose real one is `real`; NULL: it is not hooked. */
void *gp_driver_wrapper(const char *symbol, void *real);
bool gp_driver_hooks(const char *symbol);

extern const struct gp_devices gp_driver_devices;

#endif
