/* SPDX-License-Identifier: MIT */
/* A fuzz target: libFuzzer's entry point, and where its inputs start from. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Must return for whatever bytes, without a crash, a leak or an endless loop. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A whole input that mutations start from; to be freed. */
uint8_t *fuzz_make_seed(size_t *ret_size);

#endif
