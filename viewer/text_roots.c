/* SPDX-License-Identifier: MIT */
/* Everything the program holds at one moment, and what each of it keeps alive. */
#include <inttypes.h>
#include <stdio.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

void gv_text_roots(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    char moment[128], name[GV_LABEL_MAX], shown[GV_LABEL_MAX];
    const struct gv_retention *r = &report->retention;
    uint32_t blocks = 0, rows = limit ? limit : 10;
    gv_moment_text(report, &report->chosen.moment, moment, sizeof(moment));
    gv_line(text, GV_BOLD, "WHO HOLDS DEVICE MEMORY %s", moment);
    gv_roots_table(text, report, rows);
    gv_field(text, "sum", "%s kept + %s shared + %s held by none = %s bytes",
             gv_count((int64_t)r->retained_bytes).text, gv_count((int64_t)r->shared_bytes).text,
             gv_count((int64_t)r->rest_bytes).text, gv_count((int64_t)r->live_bytes).text);
    for (uint32_t i = 0; i < report->roots.count && blocks < rows; i++) {
        uint32_t index = report->root_order[i];
        const struct gv_root *root = &report->roots.roots[index];
        if (root->retained_bytes == 0)
            continue;
        blocks++;
        gv_root_name(report, index, name, sizeof(name));
        gv_line(text, GV_PLAIN, "%s", "");
        gv_line(text, gv_keeps_old_graphs(report, root) ? GV_RED : GV_BOLD, "%s",
                gv_fit(name, GV_WIDTH, shown, sizeof(shown)));
        gv_root_block(text, report, index, 6);
    }
}
