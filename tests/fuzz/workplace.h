/* SPDX-License-Identifier: MIT */
/* The folder that a fuzz target writes its files into: made once, emptied after each input. */
#ifndef TESTS_FUZZ_WORKPLACE_H
#define TESTS_FUZZ_WORKPLACE_H

#include <stddef.h>
#include <stdint.h>

const char *workplace_db_path(void);
const char *workplace_log_path(void);
/* A file of `size` bytes that holds `bytes` at `offset` and zeros elsewhere. */
void workplace_write(const char *path, uint64_t size, uint64_t offset, const void *bytes,
                     size_t count);
void workplace_clear(void);

#endif
