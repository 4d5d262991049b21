/* SPDX-License-Identifier: MIT */
#ifndef AG_STORAGE_H
#define AG_STORAGE_H

#include "engine/core/value.h"

/* `size_bytes` of device memory, with one reference; NULL after ag_fail when it is refused. */
struct ag_storage *ag_storage_new(ag_context *context, size_t size_bytes, const char *what);
struct ag_storage *ag_storage_retain(struct ag_storage *storage);
void ag_storage_release(struct ag_storage *storage); /* accepts NULL */

#endif
