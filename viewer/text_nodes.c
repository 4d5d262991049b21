/* SPDX-License-Identifier: MIT */
/* The graph at one moment: what its nodes save, and how many there are of each operation. */
#include <inttypes.h>
#include <stdio.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

static void slots(struct gv_text *text, const struct gv_report *report, uint32_t limit)
{
    uint64_t own_bytes = 0;
    gv_line(text, GV_BOLD, "  %-40s %7s %13s %13s", "saved slot", "count", "size", "own*");
    for (uint32_t i = 0; i < report->slots.count; i++) {
        const struct gv_tally_row *row = &report->slots.rows[i];
        char slot[GV_LABEL_MAX], shown[256];
        uint64_t first_bytes = report->slot_first_bytes[row->value];
        own_bytes += first_bytes;
        if (i >= limit)
            continue;
        gv_slot_text(report, row->key[0], row->key[1], slot, sizeof(slot));
        gv_line(text, GV_PLAIN, "  %s %7s %13s %13s", gv_pad(slot, 40, shown, sizeof(shown)),
                gv_count((int64_t)row->count).text, gv_size(row->bytes).text,
                gv_size(first_bytes).text);
    }
    if (report->slots.count > limit)
        gv_line(text, GV_DIM, "  ... %" PRIu32 " more (--limit N)", report->slots.count - limit);
    gv_line(text, GV_PLAIN, "  %-40s %7s %13s %13s", "all saved storages", "", "",
            gv_size(own_bytes).text);
    gv_line(text, GV_DIM, "  * without what an earlier slot of another row saves already");
    gv_line(text, GV_PLAIN, "%s", "");
}

static void ops(struct gv_text *text, const struct gv_report *report, uint32_t limit)
{
    gv_line(text, GV_BOLD, "  %-40s %7s", "operation", "nodes");
    for (uint32_t i = 0; i < report->ops.count && i < limit; i++) {
        const struct gv_tally_row *row = &report->ops.rows[i];
        const char *op = gv_name(&report->names, row->key[0]);
        char shown[256];
        gv_line(text, GV_PLAIN, "  %s %7s", gv_pad(op ? op : "?", 40, shown, sizeof(shown)),
                gv_count((int64_t)row->count).text);
    }
    if (report->ops.count > limit)
        gv_line(text, GV_DIM, "  ... %" PRIu32 " more (--limit N)", report->ops.count - limit);
}

void gv_text_nodes(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    char moment[128];
    gv_moment_text(report, &report->chosen.moment, moment, sizeof(moment));
    gv_line(text, GV_BOLD, "GRAPH %s: %s nodes", moment,
            gv_count(report->retention.live_nodes).text);
    gv_line(text, GV_PLAIN, "%s", "");
    if (report->retention.live_nodes == 0) {
        gv_line(text, GV_PLAIN,
                "  No node of the graph is alive. --at peak or --at step:N look "
                "elsewhere.");
        return;
    }
    slots(text, report, limit ? limit : 25);
    ops(text, report, limit ? limit : 25);
}
