/* SPDX-License-Identifier: MIT */
#include "viewer/problems.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viewer/memory.h"
#include "viewer/units.h"

static int add(struct gv_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int add(struct gv_report *report, const char *format, ...)
{
    int r = gv_reserve(&report->problems, &report->problem_capacity, report->problem_count,
                       sizeof(*report->problems));
    if (r < 0)
        return r;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->problems[report->problem_count++].text, GV_PROBLEM_MAX, format, arguments);
    va_end(arguments);
    return 0;
}

/* Counters in plain words; one that is not listed is shown by its name. NULL: not a problem. */
static const struct {
    const char *name, *meaning;
} counters[] = {
    {"dropped_events", "events were dropped because no space was left: figures are too low"},
    {"unknown_frees", "frees of addresses that were never seen allocated"},
    {"invalid_frees", "frees of addresses that the runtime did not know either"},
    {"failed_frees", "frees that returned an error"},
    {"missed_frees", "allocations at an address that was still live: a free was missed"},
    {"no_device", "allocations whose device is not known"},
    {"unknown_addresses", "saved or held addresses that lie in no known allocation"},
    {"unknown_nodes", "mentions of graph nodes that were not live"},
    {"unknown_handles", "mentions of handles that were not live"},
    {"unknown_slots", "releases of saved slots that held nothing"},
    {"missed_node_ends", "nodes whose end was not seen"},
    {"missed_handle_ends", "handles whose end was not seen"},
    {"missed_releases", "saved slots whose release was not seen"},
    {"unbalanced_steps", "step ends without a beginning"},
    {"unbalanced_scopes", "scope ends without a beginning"},
    {"malformed_events", "damaged events were left out"},
    {"unknown_events", "events of a newer profiler were left out"},
    {"holes", "events were cut off inside their hook when the program was killed"},
};

static const char *meaning_of(const char *name)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        if (strcmp(counters[i].name, name) == 0)
            return counters[i].meaning;
    return NULL;
}

static int add_counters(struct gv_report *report)
{
    int r = 0;
    for (uint32_t i = 0; i < report->run.counter_count && r == 0; i++) {
        const struct gv_counter *counter = &report->run.counters[i];
        const char *meaning = meaning_of(counter->name);
        if (counter->value != 0)
            r = add(report, "%s %s", gv_count(counter->value).text,
                    meaning ? meaning : counter->name);
    }
    return r;
}

static int add_life(struct gv_report *report)
{
    const struct gp_recover_result *recovered = &report->recovered;
    if (recovered->still_running)
        return add(report, "the program is still running: this is its state so far");
    if (recovered->lost && add(report, "%s events are missing from the damaged log",
                               gv_count((int64_t)recovered->lost).text) < 0)
        return -ENOMEM;
    if (gv_meta_integer(&report->run, "finished", 1) == 0)
        return add(report,
                   "the file is unfinished and the log it belongs to is gone: the last events "
                   "are missing");
    if (gv_meta_integer(&report->run, "clean_exit", 1) == 0)
        return add(report, "the program was killed or ended by _exit or exec: what it had done up "
                           "to then is here");
    return 0;
}

/* The database keeps its own peak; the rows must give the same. */
static int add_ledger_check(struct gv_report *report)
{
    int64_t peak_bytes = gv_meta_integer(&report->run, "peak_bytes", -1);
    if (peak_bytes < 0 || (uint64_t)peak_bytes == report->peak.bytes)
        return 0;
    return add(report, "the rows add up to %s bytes at the peak, the ledger says %s",
               gv_count((int64_t)report->peak.bytes).text, gv_count(peak_bytes).text);
}

static int add_changed_modules(struct gv_report *report)
{
    const char *path;
    int r = 0;
    for (uint32_t n = 0; r == 0 && (path = gv_sites_changed_module(report->sites, n)); n++)
        r = add(report, "%s was rebuilt since this run: its lines cannot be shown", path);
    return r;
}

/* Where a caching allocator's blocks were not seen, a tensor is looked up as the segment that it lies
 * in. */
static int add_segments(struct gv_report *report)
{
    bool on_gpu = false;
    for (uint32_t i = 0; i < report->run.device_count; i++)
        on_gpu |=
            report->run.devices[i].id != GV_DEVICE_CPU && report->run.devices[i].peak_bytes > 0;
    bool by_block = false;
    for (uint32_t i = 0; i < report->rows.allocation_index.count; i++)
        by_block |= gv_is_block(&report->rows.allocations[i]);
    if (!on_gpu || by_block || !gv_meta_text(&report->run, "pytorch"))
        return 0;
    return add(report, "PyTorch's GPU memory is known by segments of its allocator, not by tensor: "
                       "tensors of one segment count together");
}

int gv_problems_find(struct gv_report *report)
{
    int r = add_life(report);
    if (r == 0)
        r = add_segments(report);
    if (r == 0)
        r = add_counters(report);
    if (r == 0)
        r = add_ledger_check(report);
    if (r == 0)
        r = add_changed_modules(report);
    return r;
}
