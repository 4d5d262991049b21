/* SPDX-License-Identifier: MIT */
/*
 * The command `export`: a run in the formats of other tools. One file a format, each behind one
 * function of the table in export_formats.c. What a format says of a moment adds up to what the
 * report says of it, to the byte.
 */
#ifndef GV_EXPORT_H
#define GV_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "libgradprof/store/recover.h"
#include "viewer/names.h"
#include "viewer/options.h"
#include "viewer/query.h"
#include "viewer/rows.h"
#include "viewer/run.h"
#include "viewer/sites.h"

struct gv_export { /* what a writer works on */
    struct gv_query query;
    struct gp_recover_result recovered;
    struct gv_names names;
    struct gv_run run;
    struct gv_sites *sites;
    struct gv_moment moment;
    struct gv_rows rows; /* what lives at the moment: only with `needs_rows` */
    FILE *out;
    uint32_t limit; /* of --limit; 0: not given */
};

struct gv_export_format {
    const char *name, *what;
    bool binary;     /* never onto a terminal */
    bool needs_rows; /* of the moment */
    /* 0 or a negative errno, perhaps with a line in query.error; errors of `out` are found later */
    int (*write)(struct gv_export *export);
};

extern const struct gv_export_format gv_export_formats[]; /* ends with a NULL name */

int gv_export_folded(struct gv_export *export);
int gv_export_speedscope(struct gv_export *export);
int gv_export_pprof(struct gv_export *export);
int gv_export_csv(struct gv_export *export);
int gv_export_chrome(struct gv_export *export);
int gv_export_snapshot(struct gv_export *export);
int gv_export_hprof(struct gv_export *export);
int gv_export_dot(struct gv_export *export);

/* The command: 0 or a negative errno with one line in `error`. */
int gv_export_command(const struct gv_options *options,
                      void (*progress)(void *user, uint64_t done, uint64_t total),
                      void (*end_progress)(bool shown), bool *shown, char *error,
                      size_t error_size);

/* The lines of --help that list the formats. */
void gv_export_help(FILE *out);

#endif
