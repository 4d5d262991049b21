/* SPDX-License-Identifier: MIT */
#include "viewer/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/problems.h"

enum { CHOSEN, PEAK, END, MOMENTS };

static int load_moments(struct gv_report *report, struct gv_at at)
{
    struct gv_moment moments[MOMENTS];
    const struct gv_at wanted[MOMENTS] = {at, {.kind = GV_AT_PEAK}, {.kind = GV_AT_END}};
    int64_t seqs[MOMENTS];
    for (int m = 0; m < MOMENTS; m++) {
        int r = gv_moment_resolve(&report->query, &report->run, wanted[m], &moments[m]);
        if (r < 0)
            return r;
        seqs[m] = moments[m].seq;
    }
    int r = gv_rows_load(&report->query, seqs, MOMENTS, &report->rows);
    if (r < 0)
        return r;
    report->chosen = gv_account_make(&report->rows, &report->names, &moments[CHOSEN], CHOSEN);
    report->peak = gv_account_make(&report->rows, &report->names, &moments[PEAK], PEAK);
    report->end = gv_account_make(&report->rows, &report->names, &moments[END], END);
    return 0;
}

static const struct gv_root *sorted_roots; /* qsort has no user argument */

static int by_retained(const void *left, const void *right)
{
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct gv_root *a = &sorted_roots[i], *b = &sorted_roots[j];
    if (a->retained_bytes != b->retained_bytes)
        return a->retained_bytes < b->retained_bytes ? 1 : -1;
    if (a->own_bytes != b->own_bytes)
        return a->own_bytes < b->own_bytes ? 1 : -1;
    return i < j ? -1 : i > j;
}

static int order_roots(struct gv_report *report)
{
    report->root_order = gv_zeroed(report->roots.count, sizeof(*report->root_order));
    if (!report->root_order)
        return -ENOMEM;
    for (uint32_t i = 0; i < report->roots.count; i++)
        report->root_order[i] = i;
    sorted_roots = report->roots.roots;
    if (report->roots.count > 1)
        qsort(report->root_order, report->roots.count, sizeof(*report->root_order), by_retained);
    return 0;
}

static int analyse(struct gv_report *report)
{
    struct gv_query *query = &report->query;
    int r = gv_sites_create(query, &report->sites);
    if (r == 0)
        r = gv_roots_make(query, &report->rows, CHOSEN, report->sites, &report->roots);
    if (r == 0)
        r = gv_retention_make(query, &report->rows, &report->names, CHOSEN, &report->roots,
                              &report->retention);
    if (r == 0)
        r = order_roots(report);
    if (r == 0)
        r = gv_slots_make(&report->rows, CHOSEN, &report->slots, &report->slot_first_bytes);
    if (r == 0)
        r = gv_ops_make(&report->rows, CHOSEN, &report->ops);
    if (r == 0)
        r = gv_holders_make(query, &report->rows, &report->names, CHOSEN, report->sites,
                            &report->holders);
    const struct gv_leaks_input leaks = {query,         &report->names,          &report->run,
                                         report->sites, report->run_end_unix_ns, &report->rows};
    if (r == 0)
        r = gv_leaks_make(&leaks, &report->leaks);
    return r;
}

static int fill(struct gv_report *report, struct gv_at at)
{
    int r = gv_names_load(&report->query, &report->names);
    if (r == 0)
        r = gv_run_load(&report->query, &report->run);
    if (r == 0)
        r = gv_device_accounts_load(&report->query, &report->run, &report->accounts);
    int64_t start_ns = gv_meta_integer(&report->run, "start_unix_ns", 0);
    int64_t last_ns = gv_meta_integer(&report->run, "last_ns", 0);
    report->run_end_unix_ns = start_ns > 0 ? (uint64_t)(start_ns + last_ns) : 0;
    if (r == 0)
        r = load_moments(report, at);
    if (r == 0)
        r = analyse(report);
    if (r == 0)
        r = gv_problems_find(report);
    return r;
}

int gv_report_make(const char *path, struct gv_at at,
                   void (*progress)(void *user, uint64_t done, uint64_t total), void *user,
                   struct gv_report *ret_report, char *error, size_t error_size)
{
    struct gv_report *report = ret_report; /* filled in place: its sites point to its query */
    *report = (struct gv_report){.query = {.path = path, .progress = progress, .user = user}};
    int r = gp_store_open(path, &report->query.db, &report->recovered, progress, user, error,
                          error_size);
    if (r < 0)
        return r;
    r = fill(report, at);
    if (r < 0) {
        snprintf(error, error_size, "%s",
                 report->query.error[0] ? report->query.error : strerror(-r));
        gv_report_free(report);
    }
    return r;
}

void gv_report_free(struct gv_report *report)
{
    gv_sites_destroy(report->sites);
    gv_names_free(&report->names);
    gv_run_free(&report->run);
    gv_device_accounts_free(&report->accounts);
    gv_rows_free(&report->rows);
    gv_roots_free(&report->roots);
    gv_retention_free(&report->retention);
    gv_leaks_free(&report->leaks);
    gv_tally_free(&report->slots);
    gv_tally_free(&report->ops);
    gv_tally_free(&report->holders);
    free(report->slot_first_bytes);
    free(report->root_order);
    free(report->problems);
    gp_db_close(report->query.db);
    memset(report, 0, sizeof(*report));
}

const char *gv_report_program(const struct gv_report *report)
{
    const char *argv = gv_meta_text(&report->run, "argv");
    if (!argv || !*argv)
        return "program not known";
    const char *name = argv;
    for (const char *c = argv; *c && *c != ' '; c++)
        if (*c == '/')
            name = c + 1;
    return name;
}

const struct gv_failure *gv_report_failure(const struct gv_report *report)
{
    return report->run.failure_count ? &report->run.failures[report->run.failure_count - 1] : NULL;
}

const struct gv_place *gv_report_place(const struct gv_report *report, uint32_t stack_id)
{
    uint32_t site;
    if (gv_site_of(report->sites, stack_id, &site) < 0)
        return NULL;
    return gv_site_place(report->sites, site);
}

bool gv_are_old(const struct gv_report *report, const struct gv_graphs *graphs)
{
    uint32_t current = report->chosen.moment.step;
    return graphs->first_step > 0 &&
           (graphs->graphs >= 2 || (current && graphs->first_step < current));
}

bool gv_keeps_old_graphs(const struct gv_report *report, const struct gv_root *root)
{
    return gv_are_old(report, &root->kept);
}

const struct gv_root *gv_report_culprit(const struct gv_report *report)
{
    for (uint32_t i = 0; i < report->roots.count; i++) {
        const struct gv_root *root = &report->roots.roots[report->root_order[i]];
        bool is_state = root->role == GV_ROLE_PARAMETER || root->role == GV_ROLE_OPTIMIZER_STATE;
        if (!is_state && gv_keeps_old_graphs(report, root))
            return root;
    }
    return NULL;
}

const char *gv_report_level(const struct gv_report *report)
{
    const char *level = gv_meta_text(&report->run, "level");
    if (level && *level)
        return level;
    if (report->rows.node_index.count || report->rows.handle_count || report->run.step_count)
        return "annotations";
    return report->rows.allocation_index.count ? "allocations" : "none";
}
