/* SPDX-License-Identifier: MIT */
/*
 * What `check` holds a run to. A policy file has one "key = value" a line, # starts a comment; the
 * command line takes the same keys as options and goes before the file.
 *
 *     leaks = fail | allow            findings whose gate says fail
 *     strict = on | off               findings that grow on the host only, too
 *     max-growth = SIZE               device bytes a step, of the whole run
 *     max-peak = SIZE, max-end = SIZE
 *     max-unattributed = PERCENT      of the peak
 *     min-steps = N                   fewer completed steps: cannot judge
 *     allow = FINGERPRINT|ROOT [until YYYY-MM-DD]: REASON       may be repeated
 *     baseline = FILE                 fingerprints that were there before
 */
#ifndef GV_POLICY_H
#define GV_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gv_policy_key {
    GV_POLICY_LEAKS,
    GV_POLICY_STRICT,
    GV_POLICY_GROWTH,
    GV_POLICY_PEAK,
    GV_POLICY_END,
    GV_POLICY_UNATTRIBUTED,
    GV_POLICY_STEPS,
    GV_POLICY_ALLOW,
    GV_POLICY_BASELINE,
    GV_POLICY_KEYS
};

struct gv_allow {
    char *who;    /* fingerprint or root */
    char *reason; /* NULL: an entry of the baseline */
};

struct gv_policy {
    bool allow_leaks, strict;
    uint64_t limits[GV_POLICY_KEYS]; /* bytes, thousandths of a percent, steps */
    unsigned set, set_by_line;       /* bits by key; the latter: on the command line */
    struct gv_allow *allows;
    uint32_t allow_count, allow_capacity;
};

/* A setting from `file`:`line`, or of the command line when file is NULL. 0, or -EINVAL with one line
 * in `error`, -ENOMEM. */
int gv_policy_set(struct gv_policy *policy, const char *key, const char *value, const char *file,
                  unsigned line, char *error, size_t error_size);
bool gv_policy_is_key(const char *key);

/* Reads a policy file; settings of the command line, made before, stay. */
int gv_policy_read(struct gv_policy *policy, const char *path, char *error, size_t error_size);

/* Limits that contradict each other. */
int gv_policy_check(const struct gv_policy *policy, char *error, size_t error_size);

/* Entry for a finding; NULL: none. */
const struct gv_allow *gv_policy_allows(const struct gv_policy *policy, const char *fingerprint,
                                        const char *root);
void gv_policy_free(struct gv_policy *policy);

#endif
