/* SPDX-License-Identifier: MIT */
/* One function per command: `limit` rows of each list, 0: the command's own default. */
#ifndef GV_TEXT_REPORTS_H
#define GV_TEXT_REPORTS_H

#include "viewer/report.h"
#include "viewer/text.h"

void gv_text_summary(const struct gv_report *report, struct gv_text *text, uint32_t limit);
void gv_text_peak(const struct gv_report *report, struct gv_text *text, uint32_t limit);
void gv_text_nodes(const struct gv_report *report, struct gv_text *text, uint32_t limit);
void gv_text_roots(const struct gv_report *report, struct gv_text *text, uint32_t limit);
void gv_text_leaks(const struct gv_report *report, struct gv_text *text, uint32_t limit);
void gv_text_timeline(const struct gv_report *report, struct gv_text *text, uint32_t limit);

/* The device's own account, if it was read. */
void gv_text_device_account(const struct gv_report *report, struct gv_text *text);

/* The whole model as one JSON document (docs/FORMAT.md); 0 or a negative errno. */
int gv_json_print(const struct gv_report *report, FILE *out, uint32_t limit);

#endif
