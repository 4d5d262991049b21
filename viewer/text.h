/* SPDX-License-Identifier: MIT */
/* Text for a terminal of 80 columns. Whatever comes from the program under test (names, paths, source
 * lines) goes through %s of these functions only, which show control characters as \xNN. */
#ifndef GV_TEXT_H
#define GV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GV_WIDTH 80

struct gv_text {
    FILE *out;
    bool color;
};

enum gv_style { GV_PLAIN, GV_BOLD, GV_RED, GV_GREEN, GV_DIM };

/* One line in one style, cut at the width. */
void gv_line(struct gv_text *text, enum gv_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "  label      value", the value wrapped below itself, cut after three lines. */
void gv_field(struct gv_text *text, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `in` made safe and cut to `columns` columns ("..." marks the cut) into `ret`; returns `ret`.
 * gv_pad also fills up with spaces. */
char *gv_fit(const char *in, int columns, char *ret, size_t size);
char *gv_pad(const char *in, int columns, char *ret, size_t size);

/* The end of `in` when it must be cut: for paths. */
char *gv_fit_left(const char *in, int columns, char *ret, size_t size);

int gv_columns(const char *in); /* columns that `in` takes, made safe */

#endif
