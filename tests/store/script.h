/* SPDX-License-Identifier: MIT */
/* A run that has a bit of everything, for tests that stop, damage and resume it. */
#ifndef TESTS_STORE_SCRIPT_H
#define TESTS_STORE_SCRIPT_H

#include "tests/store/log_builder.h"

void script_add_run(struct log_builder *log, unsigned steps);

#endif
