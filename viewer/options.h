/* SPDX-License-Identifier: MIT */
#ifndef GV_OPTIONS_H
#define GV_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewer/moment.h"

enum gv_color { GV_COLOR_AUTO, GV_COLOR_ALWAYS, GV_COLOR_NEVER };

struct gv_command;

struct gv_extra {             /* an option of one command only; both point into argv */
    const char *name, *value; /* value "" for a switch */
};

#define GV_EXTRAS_MAX 256

struct gv_options {
    const struct gv_command *command;
    const char *path; /* the first of `paths`, or the default */
    bool path_given;
    const char **paths;
    int path_count; /* at least 1 */
    struct gv_extra extras[GV_EXTRAS_MAX];
    int extra_count;
    const char *limit_text; /* of --limit as it was given; NULL: not given */
    struct gv_at at;
    bool json;
    enum gv_color color;
    uint32_t limit; /* rows of a list; 0: not given */
    bool help, version;
};

struct gv_report;
struct gv_text;

struct gv_command {
    const char *name, *summary;
    enum gv_moment_kind at; /* its moment when --at is not given */
    void (*print)(const struct gv_report *report, struct gv_text *text, uint32_t limit);
    /* NULL: the command needs no report, `run` is called instead and gives the exit status */
    int (*run)(const struct gv_options *options);
    bool many; /* takes more than one database */
};

extern const struct gv_command gv_commands[]; /* ends with a NULL name; the first is the default */

/* 0, or -EINVAL with one line in `error`; gv_options_free in both cases. */
int gv_options_parse(int argc, char **argv, struct gv_options *ret_options, char *error,
                     size_t error_size);

void gv_options_free(struct gv_options *options);

/* The value of the last `name` among the extras; NULL: not given. */
const char *gv_extra_value(const struct gv_options *options, const char *name);

/* One line that lists the commands there are. */
void gv_unknown_command(const char *name, char *ret_text, size_t size);

#endif
