/* SPDX-License-Identifier: MIT */
/* Pieces that several text reports share. */
#ifndef GV_PIECES_H
#define GV_PIECES_H

#include "viewer/report.h"
#include "viewer/text.h"

#define GV_LABEL_MAX 512

/* "at the refused allocation, step 3", "at the end (after step 2)", ... */
void gv_moment_text(const struct gv_report *report, const struct gv_moment *moment, char *ret_text,
                    size_t size);

/* "samples/x.c:42 (main)", "x+0x1234", "??" */
void gv_place_text(const struct gv_place *place, char *ret_text, size_t size);
/* "x.c:42": for a column of a table */
void gv_place_short(const struct gv_place *place, char *ret_text, size_t size);

/* The field `label` with the place, and the text of the source line below it when it is at hand. */
void gv_place_field(struct gv_text *text, const struct gv_report *report, const char *label,
                    const struct gv_place *place);

/* A root in full: place, what it keeps, by which path, and what would free it. */
void gv_root_block(struct gv_text *text, const struct gv_report *report, uint32_t root,
                   uint32_t limit);

/* Rows "who, where, keeps alive, own tensors", `limit` of them, then shared and the rest. */
void gv_roots_table(struct gv_text *text, const struct gv_report *report, uint32_t limit);

/* "the graph of step 2", "2 graphs, of steps 1 to 2" */
void gv_graphs_text(const struct gv_graphs *graphs, char *ret_text, size_t size);

/* "y_sum, best": roots that reach the largest shared part. */
void gv_sharers_text(const struct gv_report *report, char *ret_text, size_t size);

void gv_root_name(const struct gv_report *report, uint32_t root, char *ret_title, size_t size);

/* "ConvolutionBackward0.input" */
void gv_slot_text(const struct gv_report *report, uint32_t op_id, uint32_t slot_id, char *ret_text,
                  size_t size);

/* "y_sum > AddBackward0 > ... > ReluBackward0.result" for group row `group` of the retention; ""
 * when there is no path. */
void gv_path_text(const struct gv_report *report, uint32_t root, uint32_t group, char *ret_text,
                  size_t size);

#endif
