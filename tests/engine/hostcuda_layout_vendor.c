/* SPDX-License-Identifier: MIT */
#include "tests/engine/hostcuda_layout.h"

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

#if defined(CUDART_VERSION) && CUDART_VERSION >= 13000
static const struct layout_entry entries[] = {LAYOUT_ENTRIES, {NULL, 0}};

const struct layout_entry *const vendor_layout = entries;
#else
const struct layout_entry *const vendor_layout = NULL;
#endif
