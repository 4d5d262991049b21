/* SPDX-License-Identifier: MIT */
/* Every event that a dead process's log still holds -> ingest. */
#ifndef GP_STORE_IMPORT_H
#define GP_STORE_IMPORT_H

#include "libgradprof/store/ingest.h"
#include "libgradprof/store/log_reader.h"
#include "libgradprof/store/recover.h"

struct gp_import {
    const struct gp_log_view *view;
    struct gp_ingest *ingest;
    struct gp_recover_result *result; /* imported_events, holes and lost are added to */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
};

/* 0 or what ingest returned. Commits on the way, so an interrupted import goes on where it was. */
int gp_import_log(const struct gp_import *import);

#endif
