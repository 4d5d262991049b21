/* SPDX-License-Identifier: MIT */
#include "viewer/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/json_build.h"
#include "viewer/pieces.h"
#include "viewer/source.h"
#include "viewer/units.h"

#define ROWS_SHOWN 12
#define ODD_SHARE 10 /* a peak this many percent off the median is odd */

struct change { /* what two runs call the same: owner class, label, function, file; never a line */
    char name[256];
    uint64_t before_bytes, after_bytes;
};

struct diff {
    struct gv_report *reports;
    int count; /* reports that are made */
    struct change *changes;
    uint32_t change_count, change_capacity;
};

static int add_bytes(struct diff *diff, const char *name, bool after, uint64_t bytes)
{
    uint32_t i = 0;
    while (i < diff->change_count && strcmp(diff->changes[i].name, name) != 0)
        i++;
    if (i == diff->change_count) {
        int r = gv_reserve(&diff->changes, &diff->change_capacity, i, sizeof(*diff->changes));
        if (r < 0)
            return r;
        diff->changes[i] = (struct change){.before_bytes = 0};
        snprintf(diff->changes[i].name, sizeof(diff->changes[i].name), "%s", name);
        diff->change_count++;
    }
    if (after)
        diff->changes[i].after_bytes += bytes;
    else
        diff->changes[i].before_bytes += bytes;
    return 0;
}

static int add_holders(struct diff *diff, const struct gv_report *report, bool after)
{
    for (uint32_t i = 0; i < report->holders.count; i++) {
        const struct gv_tally_row *row = &report->holders.rows[i];
        const struct gv_place *place = gv_site_place(report->sites, row->key[2]);
        const char *label = gv_name(&report->names, row->key[1]);
        char name[256];
        snprintf(name, sizeof(name), "%s %.80s %.60s %.60s",
                 gv_owner_key((enum gv_owner)row->key[0]), label ? label : "-",
                 place && place->file ? gv_source_base(place->file) : "-",
                 place && place->function ? place->function : "-");
        int r = add_bytes(diff, name, after, row->bytes);
        if (r < 0)
            return r;
    }
    return 0;
}

static uint64_t distance(const struct change *c)
{
    return c->after_bytes > c->before_bytes ? c->after_bytes - c->before_bytes
                                            : c->before_bytes - c->after_bytes;
}

static int by_distance(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (distance(a) != distance(b))
        return distance(a) < distance(b) ? 1 : -1;
    return strcmp(a->name, b->name);
}

static const char *word_of(const struct change *c)
{
    if (c->before_bytes == 0)
        return "new";
    if (c->after_bytes == 0)
        return "gone";
    return c->after_bytes > c->before_bytes ? "grown" : "shrunk";
}

static bool has_finding(const struct gv_report *report, const char *fingerprint)
{
    for (uint32_t i = 0; i < report->leaks.count; i++)
        if (!report->leaks.findings[i].expected &&
            strcmp(report->leaks.findings[i].fingerprint, fingerprint) == 0)
            return true;
    return false;
}

/* Findings of `of` that `other` has not (or, `both`, has), one line each. */
static void findings_text(struct gv_text *text, const struct gv_report *of,
                          const struct gv_report *other, bool both, const char *word)
{
    for (uint32_t i = 0; i < of->leaks.count; i++) {
        const struct gv_finding *f = &of->leaks.findings[i];
        char place[GV_LABEL_MAX];
        if (f->expected || has_finding(other, f->fingerprint) != both)
            continue;
        gv_place_short(&f->place, place, sizeof(place));
        gv_line(text, strcmp(word, "new") == 0 ? GV_RED : GV_PLAIN, "  %-7s %s %s %s +%s per step",
                word, gv_class_name(f->class), f->root[0] ? f->root : "(no variable)", place,
                gv_size(f->bytes_per_step).text);
    }
}

static void row(struct gv_text *text, const char *label, uint64_t before, uint64_t after)
{
    int64_t change = (int64_t)after - (int64_t)before;
    gv_line(text, GV_PLAIN, "  %-16s %18s %18s %19s", label, gv_count((int64_t)before).text,
            gv_count((int64_t)after).text, gv_count(change).text);
}

static void print_pair(struct diff *diff, struct gv_text *text, uint32_t limit)
{
    const struct gv_report *a = &diff->reports[0], *b = &diff->reports[1];
    gv_line(text, GV_BOLD, "  %-16s %18s %18s %19s", "BYTES", "before", "after", "difference");
    row(text, "peak", a->peak.bytes, b->peak.bytes);
    row(text, "end", a->end.bytes, b->end.bytes);
    row(text, "findings", a->leaks.count - a->leaks.notes, b->leaks.count - b->leaks.notes);
    findings_text(text, b, a, false, "new");
    findings_text(text, a, b, false, "gone");
    findings_text(text, b, a, true, "still");
    gv_line(text, GV_PLAIN, "%s", "");
    gv_line(text, GV_BOLD, "LIVE AT THE END, BY OWNER, LABEL, FILE AND FUNCTION");
    for (uint32_t i = 0, shown = 0; i < diff->change_count && shown < limit; i++) {
        const struct change *c = &diff->changes[i];
        char name[256];
        if (distance(c) == 0)
            break;
        shown++;
        gv_line(text, GV_PLAIN, "  %-7s %s %11s", word_of(c),
                gv_pad(c->name, 54, name, sizeof(name)), gv_size(distance(c)).text);
    }
    if (diff->change_count == 0 || distance(&diff->changes[0]) == 0)
        gv_line(text, GV_PLAIN, "  no difference");
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t median_peak(const struct diff *diff)
{
    uint64_t *peaks = calloc((size_t)diff->count, sizeof(*peaks)), median = 0;
    for (int i = 0; peaks && i < diff->count; i++)
        peaks[i] = diff->reports[i].peak.bytes;
    if (peaks) {
        qsort(peaks, (size_t)diff->count, sizeof(*peaks), by_number);
        median = peaks[diff->count / 2];
    }
    free(peaks);
    return median;
}

/* A finding that fewer than half of the runs have, or a peak off the others'. */
static const char *oddity(const struct diff *diff, int index, uint64_t median)
{
    const struct gv_report *report = &diff->reports[index];
    for (uint32_t i = 0; i < report->leaks.count; i++) {
        int with = 0;
        if (report->leaks.findings[i].expected)
            continue;
        for (int k = 0; k < diff->count; k++)
            with += has_finding(&diff->reports[k], report->leaks.findings[i].fingerprint);
        if (with * 2 <= diff->count)
            return "ODD: finding";
    }
    uint64_t peak = report->peak.bytes, off = peak > median ? peak - median : median - peak;
    return off * 100 > median * ODD_SHARE ? "ODD: peak" : "";
}

static void print_many(const struct diff *diff, struct gv_text *text)
{
    uint64_t median = median_peak(diff);
    gv_line(text, GV_BOLD, "  %-28s %10s %10s %9s", "RUN", "peak", "end", "findings");
    for (int i = 0; i < diff->count; i++) {
        const struct gv_report *r = &diff->reports[i];
        const char *odd = oddity(diff, i, median);
        char path[256];
        gv_fit_left(r->query.path, 28, path, sizeof(path));
        gv_line(text, *odd ? GV_RED : GV_PLAIN, "  %-28s %10s %10s %9" PRIu32 "  %s", path,
                gv_size(r->peak.bytes).text, gv_size(r->end.bytes).text,
                r->leaks.count - r->leaks.notes, odd);
        for (uint32_t k = 0; *odd && k < r->leaks.count; k++) {
            const struct gv_finding *f = &r->leaks.findings[k];
            if (!f->expected)
                gv_line(text, GV_PLAIN, "    %s %s +%s per step", gv_class_name(f->class),
                        f->root[0] ? f->root : "(no variable)", gv_size(f->bytes_per_step).text);
        }
    }
}

static json_t *fingerprints(const struct gv_report *of, const struct gv_report *other, bool both)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < of->leaks.count; i++) {
        const struct gv_finding *f = &of->leaks.findings[i];
        if (!f->expected && has_finding(other, f->fingerprint) == both)
            gv_json_append(list, json_string(f->fingerprint));
    }
    return list;
}

static int print_json(const struct diff *diff)
{
    json_t *document = json_object(), *runs = json_array(), *changes = json_array();
    uint64_t median = median_peak(diff);
    gv_json_start();
    gv_json_set(document, "schema", json_integer(GV_JSON_SCHEMA));
    for (int i = 0; i < diff->count; i++) {
        json_t *run = json_object();
        const struct gv_report *r = &diff->reports[i];
        gv_json_set(run, "database", json_string(r->query.path));
        gv_json_set(run, "peak_bytes", gv_json_bytes(r->peak.bytes));
        gv_json_set(run, "end_bytes", gv_json_bytes(r->end.bytes));
        gv_json_set(run, "findings", gv_json_bytes(r->leaks.count - r->leaks.notes));
        gv_json_set(run, "odd", json_boolean(diff->count > 2 && *oddity(diff, i, median)));
        gv_json_append(runs, run);
    }
    gv_json_set(document, "runs", runs);
    if (diff->count == 2) {
        const struct gv_report *a = &diff->reports[0], *b = &diff->reports[1];
        gv_json_set(document, "new", fingerprints(b, a, false));
        gv_json_set(document, "gone", fingerprints(a, b, false));
        gv_json_set(document, "still", fingerprints(b, a, true));
        for (uint32_t i = 0; i < diff->change_count && distance(&diff->changes[i]); i++) {
            json_t *change = json_object();
            gv_json_set(change, "change", json_string(word_of(&diff->changes[i])));
            gv_json_set(change, "what", json_string(diff->changes[i].name));
            gv_json_set(change, "before_bytes", gv_json_bytes(diff->changes[i].before_bytes));
            gv_json_set(change, "after_bytes", gv_json_bytes(diff->changes[i].after_bytes));
            gv_json_append(changes, change);
        }
        gv_json_set(document, "changes", changes);
    }
    return gv_json_finish(document, stdout);
}

static int print(struct diff *diff, const struct gv_options *options, bool color)
{
    struct gv_text text = {stdout, color};
    int r = 0;
    if (diff->count == 2) {
        r = add_holders(diff, &diff->reports[0], false);
        if (r == 0)
            r = add_holders(diff, &diff->reports[1], true);
        if (r == 0 && diff->change_count > 1)
            qsort(diff->changes, diff->change_count, sizeof(*diff->changes), by_distance);
    }
    if (r < 0)
        return r;
    if (options->json)
        return print_json(diff);
    if (diff->count == 2)
        print_pair(diff, &text, options->limit ? options->limit : ROWS_SHOWN);
    else
        print_many(diff, &text);
    return fflush(stdout) != 0 || ferror(stdout) ? -EIO : 0;
}

int gv_diff_command(const struct gv_options *options, bool color,
                    void (*progress)(void *user, uint64_t done, uint64_t total),
                    void (*end_progress)(bool shown), bool *shown, char *error, size_t error_size)
{
    struct diff diff = {0};
    if (options->path_count < 2) {
        snprintf(error, error_size,
                 "diff needs two databases, or more: before and after, or ranks");
        return -EINVAL;
    }
    diff.reports = calloc((size_t)options->path_count, sizeof(*diff.reports));
    int r = diff.reports ? 0 : -ENOMEM;
    for (int i = 0; i < options->path_count && r == 0; i++) {
        r = gv_report_make(options->paths[i], (struct gv_at){.kind = GV_AT_END}, progress, shown,
                           &diff.reports[i], error, error_size);
        diff.count += r == 0;
    }
    end_progress(*shown);
    if (r == 0)
        r = print(&diff, options, color);
    if (r < 0 && !error[0])
        snprintf(error, error_size, "%s", strerror(-r));
    for (int i = 0; i < diff.count; i++)
        gv_report_free(&diff.reports[i]);
    free(diff.reports);
    free(diff.changes);
    return r;
}
