/* SPDX-License-Identifier: MIT */
/* The driver wrappers' own prototypes. */
#ifndef GP_HOOKS_DRIVER_EXPORTS_H
#define GP_HOOKS_DRIVER_EXPORTS_H

#include "libgradprof/hooks/driver_types.h"

#define GP_EXPORT __attribute__((visibility("default")))

#define GP_DRIVER(symbol, name, since, stream, parameters) GP_EXPORT gp_cu_result symbol parameters;
#define GP_DRIVER_ALIAS(symbol, name, since)
#define GP_DRIVER_REAL(symbol, parameters)
#include "libgradprof/hooks/driver.def"
#undef GP_DRIVER
#undef GP_DRIVER_ALIAS
#undef GP_DRIVER_REAL

GP_EXPORT gp_cu_result cuGetProcAddress(const char *symbol, void **ret_function, int version,
                                        unsigned long long flags);
GP_EXPORT gp_cu_result cuGetProcAddress_v2(const char *symbol, void **ret_function, int version,
                                           unsigned long long flags, gp_cu_enum *ret_status);

#endif
