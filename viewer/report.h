/* SPDX-License-Identifier: MIT */
/* The model that every output draws from: one database at one chosen moment. */
#ifndef GV_REPORT_H
#define GV_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "libgradprof/store/recover.h"
#include "viewer/device_account.h"
#include "viewer/holders.h"
#include "viewer/leaks.h"
#include "viewer/names.h"
#include "viewer/owners.h"
#include "viewer/query.h"
#include "viewer/retention.h"
#include "viewer/roots.h"
#include "viewer/rows.h"
#include "viewer/run.h"
#include "viewer/sites.h"

#define GV_PROBLEM_MAX 320

struct gv_problem {
    char text[GV_PROBLEM_MAX];
};

struct gv_report {
    struct gv_query query;
    struct gp_recover_result recovered;
    struct gv_names names;
    struct gv_run run;
    struct gv_device_accounts accounts;
    struct gv_sites *sites;
    struct gv_rows rows; /* moments 0 = chosen, 1 = peak, 2 = end */
    struct gv_account chosen, peak, end;
    struct gv_roots roots;
    uint32_t *root_order; /* most retained bytes first */
    struct gv_retention retention;
    struct gv_tally slots, ops, holders; /* of the chosen moment, see holders.h */
    uint64_t *slot_first_bytes;
    struct gv_leaks leaks;       /* of the whole run, whatever the moment */
    uint64_t run_end_unix_ns;    /* 0: not known */
    struct gv_problem *problems; /* what makes the figures less than sure */
    uint32_t problem_count, problem_capacity;
};

/* Opens `path` (importing a log left beside it) and computes everything for the moment `at`. On
 * failure a line is in `error` and nothing needs freeing. *ret_report must not move afterwards. */
int gv_report_make(const char *path, struct gv_at at,
                   void (*progress)(void *user, uint64_t done, uint64_t total), void *user,
                   struct gv_report *ret_report, char *error, size_t error_size);
void gv_report_free(struct gv_report *report);

/* The command line with the folders of the program itself left out, or "program not known". */
const char *gv_report_program(const struct gv_report *report);

/* The refused allocation that the run ended with, NULL: none was refused. */
const struct gv_failure *gv_report_failure(const struct gv_report *report);

/* The site and its place of a stack; place NULL when not known. */
const struct gv_place *gv_report_place(const struct gv_report *report, uint32_t stack_id);

/* True when the nodes were made by two or more steps, or by one before the moment's own. */
bool gv_are_old(const struct gv_report *report, const struct gv_graphs *graphs);

/* True when `root` keeps graphs alive that an earlier step made: detaching it would help. */
bool gv_keeps_old_graphs(const struct gv_report *report, const struct gv_root *root);

/* The root to speak of first: of those that keep old graphs, the one that retains most; NULL: none. */
const struct gv_root *gv_report_culprit(const struct gv_report *report);

/* "annotations", "allocations", "none": how much this run could be explained. */
const char *gv_report_level(const struct gv_report *report);

#endif
