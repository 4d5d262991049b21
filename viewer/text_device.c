/* SPDX-License-Identifier: MIT */
/* The device's own account beside the ledger, as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "viewer/text_reports.h"
#include "viewer/units.h"

static const struct {
    enum gv_reading reading;
    const char *title;
} columns[] = {{GV_READING_FIRST, "first reading"},
               {GV_READING_FULLEST, "fullest"},
               {GV_READING_REFUSED, "at the refusal"},
               {GV_READING_LAST, "last reading"}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

typedef int64_t value_function(const struct gv_device_account *account,
                               const struct gv_account_row *row);

static int64_t context(const struct gv_device_account *account, const struct gv_account_row *row)
{
    return (int64_t)account->context_bytes;
}

static int64_t allocations(const struct gv_device_account *account,
                           const struct gv_account_row *row)
{
    return (int64_t)row->allocations;
}

static int64_t pool_slack(const struct gv_device_account *account, const struct gv_account_row *row)
{
    return (int64_t)row->pool_slack;
}

static int64_t graph_slack(const struct gv_device_account *account,
                           const struct gv_account_row *row)
{
    return (int64_t)row->graph_slack;
}

static int64_t others(const struct gv_device_account *account, const struct gv_account_row *row)
{
    return (int64_t)row->others;
}

static int64_t unexplained(const struct gv_device_account *account,
                           const struct gv_account_row *row)
{
    return row->unexplained;
}

static int64_t used(const struct gv_device_account *account, const struct gv_account_row *row)
{
    return (int64_t)row->used;
}

/* A row that is zero in every column is left out, unless it is always to be shown. */
static void line(struct gv_text *text, const struct gv_device_account *account, const char *label,
                 value_function *value, bool always)
{
    char cells[COLUMNS * 16 + 1] = "";
    bool any = always;
    size_t length = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct gv_account_row *row = &account->rows[columns[i].reading];
        if (!row->read)
            continue;
        int64_t bytes = value(account, row);
        any |= bytes != 0;
        length += (size_t)snprintf(cells + length, sizeof(cells) - length, "%s%14s",
                                   bytes < 0 ? "-" : " ", gv_size((uint64_t)llabs(bytes)).text);
    }
    if (any)
        gv_line(text, GV_PLAIN, "  %-18s%s", label, cells);
}

void gv_text_device_account(const struct gv_report *report, struct gv_text *text)
{
    for (uint32_t i = 0; i < report->accounts.count; i++) {
        const struct gv_device_account *account = &report->accounts.devices[i];
        char titles[COLUMNS * 16 + 1] = "";
        size_t length = 0;
        for (size_t c = 0; c < COLUMNS; c++)
            if (account->rows[columns[c].reading].read)
                length += (size_t)snprintf(titles + length, sizeof(titles) - length, " %14s",
                                           columns[c].title);
        gv_line(text, GV_BOLD, "DEVICE %" PRIu32 " SAYS     %s", account->device_id, titles);
        line(text, account, account->others_known ? "context" : "context, others", context, true);
        line(text, account, "allocations", allocations, true);
        line(text, account, "pools' slack", pool_slack, false);
        line(text, account, "graphs' slack", graph_slack, false);
        line(text, account, "other processes", others, false);
        line(text, account, "unexplained", unexplained, true);
        line(text, account, "used", used, true);
        gv_line(text, GV_PLAIN, "%s", "");
    }
}
