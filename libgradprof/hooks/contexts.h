/* SPDX-License-Identifier: MIT */
/*
 * Contexts: what was allocated in one dies with it. An allocation carries its context's number: 0 as long
 * as no context but the primary one was ever made (nothing to tell apart), 1 the primary one, 2 and up
 * those that cuCtxCreate made, in order, the last number standing for all beyond it.
 */
#ifndef GP_HOOKS_CONTEXTS_H
#define GP_HOOKS_CONTEXTS_H

#include <stdint.h>

#define GP_CONTEXT_PRIMARY 1u
#define GP_CONTEXTS_MAX 255u

uint32_t gp_context_current(void);
void gp_contexts_forked(void);

#endif
