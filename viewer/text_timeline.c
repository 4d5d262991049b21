/* SPDX-License-Identifier: MIT */
/* The run step by step: a line of blocks for each of bytes, peaks and nodes, then a table. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/pieces.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"

#define SPARK_COLUMNS 56
#define TABLE_ROWS 30

typedef uint64_t value_of(const struct gv_step *step);

static uint64_t end_bytes(const struct gv_step *step)
{
    return step->end_bytes;
}

static uint64_t peak_bytes(const struct gv_step *step)
{
    return step->peak_bytes;
}

static uint64_t end_nodes(const struct gv_step *step)
{
    return step->end_nodes;
}

/* Each column shows the highest of its steps, against the highest of all. */
static void sparkline(struct gv_text *text, const char *label, const struct gv_step **steps,
                      uint32_t count, value_of *value, bool is_bytes)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t highest = 0, tops[SPARK_COLUMNS] = {0};
    uint32_t columns = count < SPARK_COLUMNS ? count : SPARK_COLUMNS;
    char line[SPARK_COLUMNS * 3 + 1] = "";
    for (uint32_t i = 0; i < count; i++) {
        uint32_t column = (uint32_t)((uint64_t)i * columns / count);
        uint64_t v = value(steps[i]);
        tops[column] = v > tops[column] ? v : tops[column];
        highest = v > highest ? v : highest;
    }
    for (uint32_t c = 0; c < columns; c++) {
        double share = highest ? (double)tops[c] / (double)highest : 0;
        strcat(line, blocks[(int)(share * 7 + 0.5)]);
    }
    gv_line(text, GV_PLAIN, "  %-6s %s %s", label, line,
            is_bytes ? gv_size(highest).text : gv_count((int64_t)highest).text);
}

static void change_text(uint64_t now, uint64_t before, bool first, char *ret_text, size_t size)
{
    int64_t change = (int64_t)now - (int64_t)before;
    snprintf(ret_text, size, "%s%s", change > 0 ? "+" : "", gv_count(change).text);
    if (first || change == 0)
        snprintf(ret_text, size, "%s", first ? "" : "=");
}

static void table_row(struct gv_text *text, const struct gv_step *step,
                      const struct gv_step *before)
{
    char bytes[GV_NUMBER_MAX + 2], nodes[GV_NUMBER_MAX + 2];
    change_text(step->end_bytes, before ? before->end_bytes : 0, !before, bytes, sizeof(bytes));
    change_text(step->end_nodes, before ? before->end_nodes : 0, !before, nodes, sizeof(nodes));
    gv_line(text, GV_PLAIN, "  %6" PRIu32 " %10s %10s %16s %10s %8s %9s", step->id,
            gv_duration(step->end_ns - step->begin_ns).text, gv_size(step->end_bytes).text, bytes,
            gv_size(step->peak_bytes).text, gv_count((int64_t)step->end_nodes).text, nodes);
}

static void table(struct gv_text *text, const struct gv_step **steps, uint32_t count,
                  uint32_t limit)
{
    uint32_t head = count > limit ? (limit + 1) / 2 : count, tail = count > limit ? limit / 2 : 0;
    gv_line(text, GV_BOLD, "  %6s %10s %10s %16s %10s %8s %9s", "step", "took", "at its end",
            "change", "peak", "nodes", "change");
    for (uint32_t i = 0; i < count; i++) {
        if (i == head && count > head + tail)
            gv_line(text, GV_DIM, "  ... %" PRIu32 " more (--limit)", count - head - tail);
        if (i < head || i >= count - tail)
            table_row(text, steps[i], i ? steps[i - 1] : NULL);
    }
}

static void unfinished(struct gv_text *text, const struct gv_report *report)
{
    const struct gv_failure *failure = gv_report_failure(report);
    if (failure)
        gv_line(text, GV_RED, "  %6" PRIu32 " refused %s with %s in use", failure->step_id,
                gv_size(failure->asked_bytes).text, gv_size(failure->live_bytes).text);
}

void gv_text_timeline(const struct gv_report *report, struct gv_text *text, uint32_t limit)
{
    const struct gv_run *run = &report->run;
    const struct gv_step **steps = calloc((size_t)run->step_count + 1, sizeof(struct gv_step *));
    uint32_t count = 0;
    for (uint32_t i = 0; steps && i < run->step_count; i++)
        if (run->steps[i].completed)
            steps[count++] = &run->steps[i];
    if (count == 0) {
        gv_line(text, GV_BOLD, "NO COMPLETED STEPS: the program marks none (gradprof_step_begin).");
        unfinished(text, report);
        free(steps);
        return;
    }
    gv_line(text, GV_BOLD, "STEP BY STEP, each column against the highest (right)");
    sparkline(text, "end", steps, count, end_bytes, true);
    sparkline(text, "peak", steps, count, peak_bytes, true);
    sparkline(text, "nodes", steps, count, end_nodes, false);
    gv_line(text, GV_PLAIN, "%s", "");
    table(text, steps, count, limit ? limit : TABLE_ROWS);
    unfinished(text, report);
    free(steps);
}
