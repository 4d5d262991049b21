/* SPDX-License-Identifier: MIT */
#ifndef GV_SOURCE_H
#define GV_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* The text of line `line` of `file`, without the space around it; "" when the file is not at hand or
 * was changed after `not_after_ns` (CLOCK_REALTIME; 0: do not care), since its lines may have moved. */
void gv_source_line(const char *file, uint32_t line, uint64_t not_after_ns, char *ret_text,
                    size_t size);

/* `file` as a reader wants it: relative when it lies under the working directory, else as it is. */
const char *gv_source_short(const char *file);
/* Its last part. */
const char *gv_source_base(const char *file);

#endif
