/* SPDX-License-Identifier: MIT */
/* Holds a run to a policy. */
#ifndef GV_CHECK_H
#define GV_CHECK_H

#include <stdio.h>

#include "viewer/policy.h"
#include "viewer/report.h"

enum gv_outcome { GV_PASSED, GV_FAILED, GV_WARNED, GV_ALLOWED, GV_KNOWN, GV_CANNOT_JUDGE };

enum { GV_EXIT_PASS = 0, GV_EXIT_FAIL = 1, GV_EXIT_USAGE = 2, GV_EXIT_CANNOT_JUDGE = 3 };

struct gv_check_item { /* a rule that was looked at, or a finding */
    const char *rule;  /* "leaks", "max-peak", ... */
    enum gv_outcome outcome;
    char text[1024]; /* one line for people */
    bool is_finding;
    struct gv_finding finding; /* its place points to strings of `check` */
    char *file, *function;     /* of the finding, NULL: not known */
};

struct gv_check_run {
    char *path, *program;
    struct gv_check_item *items;
    uint32_t count, capacity;
    uint64_t peak_bytes;
};

struct gv_check {
    struct gv_check_run *runs;
    uint32_t count, capacity;
};

/* Adds the items of one run. 0 or -ENOMEM. */
int gv_check_add(struct gv_check *check, const struct gv_policy *policy,
                 const struct gv_report *report);
void gv_check_free(struct gv_check *check);

int gv_check_status(const struct gv_check *check); /* exit status: 0, 1 or 3 */
uint32_t gv_check_count(const struct gv_check *check, enum gv_outcome outcome);
const char *gv_outcome_name(enum gv_outcome outcome); /* "fail" */

/* "FAIL: 1 finding (GRAPH y_sum ...)": without newline. */
void gv_check_summary(const struct gv_check *check, char *ret_text, size_t size);

/* check_output.c: 0 or -EIO */
int gv_check_text(const struct gv_check *check, FILE *out, bool color);
int gv_check_github(const struct gv_check *check, FILE *out);
int gv_check_junit(const struct gv_check *check, FILE *out);
/* check_json.c: 0, -ENOMEM or -EIO */
int gv_check_json(const struct gv_check *check, FILE *out);
int gv_check_sarif(const struct gv_check *check, const char *version, FILE *out);

#endif
