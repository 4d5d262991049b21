/* SPDX-License-Identifier: MIT */
/*
 * What the log says about itself may be damaged, so the walk goes by the segment table: each entry
 * that can be true is tried, in order of its number, and counts once it holds an event. Positions
 * between two events are holes (a hook that never returned: the word is missing) or lost (their
 * segment is not in the file any more). header.next only bounds what may be missing after the last
 * event. The walk is finite whatever the file holds: at most GP_SEGMENT_TABLE segments.
 */
#include "libgradprof/store/import.h"

#include <errno.h>
#include <stdlib.h>

#define COMMIT_EVENTS 262144 /* a transaction of at most some 16 MB of rows */

struct walk {
    const struct gp_import *import;
    struct gp_log_event event;
    uint64_t numbers[GP_SEGMENT_TABLE]; /* candidates, ascending */
    size_t count;
    uint64_t position; /* everything before was looked at */
    uint64_t lost;     /* since the last event */
    uint64_t uncommitted;
    uint64_t first, total; /* for progress */
};

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void find_segments(struct walk *walk)
{
    const struct gp_log_view *view = walk->import->view;
    for (uint64_t i = 0; i < GP_SEGMENT_TABLE; i++) {
        struct gp_segment_entry *entry = &view->header->segment[i];
        uint64_t number = atomic_load(&entry->number_plus_1) - 1;
        bool possible = number < UINT64_MAX / GP_SEGMENT_RECORDS / 2 &&
                        number % GP_SEGMENT_TABLE == i &&
                        atomic_load(&entry->slot) < view->slot_count;
        if (possible && (number + 1) * GP_SEGMENT_RECORDS > walk->position)
            walk->numbers[walk->count++] = number;
    }
    qsort(walk->numbers, walk->count, sizeof(*walk->numbers), compare_numbers);
}

/* header.next, if it can be true: no farther than a full table beyond what is known. */
static uint64_t plausible_next(const struct gp_log_view *view, uint64_t known)
{
    uint64_t next = atomic_load(&view->header->next);
    uint64_t limit = known + (uint64_t)GP_SEGMENT_TABLE * GP_SEGMENT_RECORDS;
    return next >= known && next <= limit ? next : known;
}

/* Accounts for the positions between the last event and `next_seq`. */
static int pass_over(struct walk *walk, uint64_t next_seq, uint64_t lost)
{
    struct gp_ingest *ingest = walk->import->ingest;
    uint64_t from = gp_ingest_next_seq(ingest);
    if (next_seq <= from)
        return 0;
    lost = lost < next_seq - from ? lost : next_seq - from;
    walk->import->result->lost += lost;
    walk->import->result->holes += next_seq - from - lost;
    return gp_ingest_skip_lost(ingest, next_seq, lost);
}

static int commit(struct walk *walk)
{
    const struct gp_import *import = walk->import;
    walk->uncommitted = 0;
    int status = gp_ingest_commit(import->ingest);
    if (status == 0 && import->progress)
        import->progress(import->user, walk->position - walk->first, walk->total);
    return status;
}

static int import_event(struct walk *walk)
{
    const struct gp_import *import = walk->import;
    const struct gp_log_event *event = &walk->event;
    int status = pass_over(walk, event->seq, walk->lost);
    walk->lost = 0;
    if (status == 0)
        status = gp_ingest_event(import->ingest, event->seq, &event->record, event->payload,
                                 event->payload_bytes);
    walk->position = event->seq + 1 + event->record.extra;
    import->result->imported_events += status == 0;
    if (status == 0 && ++walk->uncommitted >= COMMIT_EVENTS)
        status = commit(walk);
    return status;
}

static int walk_segment(struct walk *walk, uint64_t number)
{
    uint64_t position_before = walk->position, lost_before = walk->lost;
    uint64_t base = number * GP_SEGMENT_RECORDS, end = base + GP_SEGMENT_RECORDS;
    bool found = false;
    int status = 0;
    if (base > walk->position) {
        walk->lost += base - walk->position;
        walk->position = base;
    }
    while (walk->position < end && status == 0) {
        enum gp_log_next next = gp_log_read(walk->import->view, walk->position, &walk->event);
        if (next == GP_LOG_EVENT) {
            found = true;
            status = import_event(walk);
            continue;
        }
        walk->lost += next == GP_LOG_LOST;
        walk->position++;
    }
    if (!found) { /* nothing proves that this entry was ever true */
        walk->position = position_before;
        walk->lost = lost_before;
    }
    return status;
}

static bool has_slot(const struct gp_log_view *view, uint64_t number)
{
    struct gp_segment_entry *entry = &view->header->segment[number % GP_SEGMENT_TABLE];
    return atomic_load(&entry->number_plus_1) == number + 1 &&
           atomic_load(&entry->slot) < view->slot_count;
}

/* Positions that were taken after the last event. A segment without a slot is the same throughout. */
static int walk_tail(struct walk *walk)
{
    const struct gp_log_view *view = walk->import->view;
    uint64_t known = gp_ingest_next_seq(walk->import->ingest), lost = 0, step;
    uint64_t next = plausible_next(view, known);
    for (uint64_t position = known; position < next; position += step) {
        uint64_t rest = GP_SEGMENT_RECORDS - position % GP_SEGMENT_RECORDS;
        step = has_slot(view, position / GP_SEGMENT_RECORDS) ? 1 : rest;
        step = step < next - position ? step : next - position;
        if (gp_log_read(view, position, &walk->event) == GP_LOG_LOST)
            lost += step;
    }
    return pass_over(walk, next, lost);
}

int gp_import_log(const struct gp_import *import)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    walk->import = import;
    walk->first = walk->position = gp_ingest_next_seq(import->ingest);
    walk->total = plausible_next(import->view, walk->first) - walk->first;
    find_segments(walk);
    int status = 0;
    for (size_t i = 0; i < walk->count && status == 0; i++)
        status = walk_segment(walk, walk->numbers[i]);
    if (status == 0)
        status = walk_tail(walk);
    if (status == 0)
        status = commit(walk);
    free(walk);
    return status;
}
