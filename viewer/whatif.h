/* SPDX-License-Identifier: MIT */
/* The command `whatif`: replays a run with changes, and compares. */
#ifndef GV_WHATIF_H
#define GV_WHATIF_H

#include <stdio.h>

#include "viewer/options.h"
#include "viewer/run.h"

struct gv_whatif_step {
    uint32_t id;
    uint64_t before_bytes, after_bytes; /* live at its close */
    uint64_t after_peak_bytes;          /* since the close before it */
};

struct gv_outlook {                 /* one of the two runs */
    uint64_t peak_bytes, end_bytes; /* end: at the close of the last completed step */
    bool fails;                     /* an allocation does not fit */
    uint32_t fails_in_step;         /* 0: outside of any step */
};

struct gv_whatif {
    const struct gv_options *options; /* the changes, as they were given */
    uint64_t limit_bytes;             /* of the device; 0: not known */
    struct gv_outlook before, after;
    struct gv_whatif_step *steps;
    uint32_t step_count;
    bool cut_short; /* the recorded run was refused memory, so it ends there */
};

/* 0 or a negative errno with one line in `error`. */
int gv_whatif_command(const struct gv_options *options, bool color,
                      void (*progress)(void *user, uint64_t done, uint64_t total),
                      void (*end_progress)(bool shown), bool *shown, char *error,
                      size_t error_size);

/* whatif_print.c: 0 or -EIO, -ENOMEM */
int gv_whatif_text(const struct gv_whatif *whatif, FILE *out, bool color);
int gv_whatif_json(const struct gv_whatif *whatif, FILE *out);

#endif
