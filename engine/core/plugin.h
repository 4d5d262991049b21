/* SPDX-License-Identifier: MIT */
#ifndef AG_PLUGIN_H
#define AG_PLUGIN_H

#include "engine/backend/backend.h"

/*
 * Load the backend that `device` names ("auto", "host", "reference", "cuda", each with an optional
 * ":N" for the N-th device) and open it with `config`, whose `device` member is filled in here.
 *
 * A plugin ag_backend_NAME.so is looked for along the run path of the object that contains the
 * engine (meson gives the samples $ORIGIN-relative ones), then in the installation's plugin folder.
 *
 * AG_INVALID_ARGUMENT, AG_UNAVAILABLE or the backend's own failure; then ag_error_text(NULL) has the
 * reason and nothing stays open.
 */
enum ag_status ag_plugin_open(const char *device, struct ag_backend_config *config,
                              struct ag_backend **ret_backend, void **ret_plugin);

#endif
