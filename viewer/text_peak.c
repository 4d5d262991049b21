/* SPDX-License-Identifier: MIT */
/* The account of one moment, the peak unless --at says otherwise: owners, then the largest holders. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

static void owners(struct gv_text *text, const struct gv_account *account)
{
    gv_line(text, GV_BOLD, "  %-28s %10s %18s %8s %8s", "owner", "size", "bytes", "share", "count");
    for (int owner = 0; owner < GV_OWNER_COUNT; owner++) {
        uint64_t bytes = account->owner_bytes[owner];
        if (account->owner_allocations[owner] == 0)
            continue;
        gv_line(text, GV_PLAIN, "  %-28s %10s %18s %8s %8s", gv_owner_label((enum gv_owner)owner),
                gv_size(bytes).text, gv_count((int64_t)bytes).text,
                gv_share(bytes, account->bytes).text,
                gv_count((int64_t)account->owner_allocations[owner]).text);
    }
    gv_line(text, GV_PLAIN, "  %-28s %10s %18s %8s %8s", "all device memory",
            gv_size(account->bytes).text, gv_count((int64_t)account->bytes).text, "",
            gv_count((int64_t)account->allocations).text);
    gv_line(text, GV_PLAIN, "  attributed to an owner: %.2f %%", account->attributed_percent);
    if (account->pinned_bytes)
        gv_line(text, GV_PLAIN, "  pinned host memory, not counted above: %s (%s bytes)",
                gv_size(account->pinned_bytes).text, gv_count((int64_t)account->pinned_bytes).text);
    gv_line(text, GV_PLAIN, "%s", "");
}

static void holder_row(struct gv_text *text, const struct gv_report *report,
                       const struct gv_tally_row *row)
{
    char what[GV_LABEL_MAX], where[GV_LABEL_MAX], shown[256], place[256];
    const char *label = gv_name(&report->names, row->key[1]);
    const char *class = gv_owner_key((enum gv_owner)row->key[0]);
    if (label && row->key[0] == GV_OWNER_WORKSPACE && strrchr(label, '/')) /* a library's path */
        label = strrchr(label, '/') + 1;
    snprintf(what, sizeof(what), "%s%s%s", class, label ? " " : "", label ? label : "");
    gv_place_short(gv_site_place(report->sites, row->key[2]), where, sizeof(where));
    gv_line(text, GV_PLAIN, "  %10s %5" PRIu64 " x  %s %s", gv_size(row->bytes).text, row->count,
            gv_pad(what, 33, shown, sizeof(shown)), gv_fit(where, 24, place, sizeof(place)));
}

void gv_text_peak(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    const struct gv_account *account = &report->chosen;
    char moment[128];
    gv_moment_text(report, &account->moment, moment, sizeof(moment));
    gv_line(text, GV_BOLD, "DEVICE MEMORY %s: %s (%s bytes)", moment, gv_size(account->bytes).text,
            gv_count((int64_t)account->bytes).text);
    if (account->moment.t_ns >= 0)
        gv_line(text, GV_PLAIN, "  %s after the start",
                gv_duration((uint64_t)account->moment.t_ns).text);
    gv_line(text, GV_PLAIN, "%s", "");
    owners(text, account);
    gv_text_device_account(report, text);
    uint32_t rows = limit ? limit : 20;
    uint64_t left_bytes = 0, left = 0;
    gv_line(text, GV_BOLD, "  %10s %5s    %-33s %s", "size", "count", "held as", "allocated at");
    for (uint32_t i = 0; i < report->holders.count; i++) {
        if (i < rows) {
            holder_row(text, report, &report->holders.rows[i]);
        } else {
            left_bytes += report->holders.rows[i].bytes;
            left += report->holders.rows[i].count;
        }
    }
    if (left)
        gv_line(text, GV_PLAIN, "  %10s %5" PRIu64 " x  in %" PRIu32 " more rows (--limit N)",
                gv_size(left_bytes).text, left, report->holders.count - rows);
}
