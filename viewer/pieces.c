/* SPDX-License-Identifier: MIT */
#include "viewer/pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "viewer/source.h"
#include "viewer/units.h"

static void step_text(const struct gv_moment *moment, const char *before, char *ret_text,
                      size_t size)
{
    ret_text[0] = '\0';
    if (moment->step)
        snprintf(ret_text, size, "%s step %" PRIu32, before, moment->step);
}

void gv_moment_text(const struct gv_report *report, const struct gv_moment *moment, char *ret_text,
                    size_t size)
{
    char step[64];
    switch (moment->kind) {
    case GV_AT_PEAK:
        step_text(moment, ", in", step, sizeof(step));
        snprintf(ret_text, size, "at the peak%s", step);
        break;
    case GV_AT_OOM:
        step_text(moment, ", in", step, sizeof(step));
        snprintf(ret_text, size, "when memory ran out%s", step);
        break;
    case GV_AT_EXIT:
        snprintf(ret_text, size, "at exit");
        break;
    case GV_AT_STEP:
        snprintf(ret_text, size, "at the end of step %" PRIu32, moment->step);
        break;
    case GV_AT_TIME:
        step_text(moment, ", in", step, sizeof(step));
        snprintf(ret_text, size, "%.3f s after the start%s", (double)moment->t_ns / 1e9, step);
        break;
    default:
        step_text(moment, ", after", step, sizeof(step));
        snprintf(ret_text, size, "at the end%s", step);
        break;
    }
}

void gv_place_text(const struct gv_place *place, char *ret_text, size_t size)
{
    if (place && place->file)
        snprintf(ret_text, size, "%s:%" PRIu32 "%s%s%s", gv_source_short(place->file), place->line,
                 place->function ? " (" : "", place->function ? place->function : "",
                 place->function ? ")" : "");
    else if (place && place->function)
        snprintf(ret_text, size, "%s (no line known)", place->function);
    else if (place && place->module)
        snprintf(ret_text, size, "%s+0x%" PRIx64, gv_source_base(place->module), place->offset);
    else
        snprintf(ret_text, size, "??");
}

void gv_place_short(const struct gv_place *place, char *ret_text, size_t size)
{
    if (place && place->file)
        snprintf(ret_text, size, "%s:%" PRIu32, gv_source_base(place->file), place->line);
    else if (place && place->function)
        snprintf(ret_text, size, "%s", place->function);
    else if (place && place->module)
        snprintf(ret_text, size, "%s+0x%" PRIx64, gv_source_base(place->module), place->offset);
    else
        snprintf(ret_text, size, "??");
}

void gv_place_field(struct gv_text *text, const struct gv_report *report, const char *label,
                    const struct gv_place *place)
{
    char where[GV_LABEL_MAX], source[256];
    gv_place_text(place, where, sizeof(where));
    gv_field(text, label, "%s", where);
    gv_source_line(place ? place->file : NULL, place ? place->line : 0, report->run_end_unix_ns,
                   source, sizeof(source));
    if (source[0])
        gv_field(text, "", "%s", source);
}

void gv_root_name(const struct gv_report *report, uint32_t root, char *ret_title, size_t size)
{
    const struct gv_root *r = &report->roots.roots[root];
    gv_root_title(r, gv_name(&report->names, r->name_id), ret_title, size);
}

void gv_slot_text(const struct gv_report *report, uint32_t op_id, uint32_t slot_id, char *ret_text,
                  size_t size)
{
    const char *op = gv_name(&report->names, op_id), *slot = gv_name(&report->names, slot_id);
    if (!op_id)
        snprintf(ret_text, size, "its own tensors");
    else
        snprintf(ret_text, size, "%s.%s", op ? op : "?", slot ? slot : "?");
}

static size_t append(char *text, size_t size, size_t used, const char *part)
{
    int length = snprintf(text + used, size - used, "%s", part);
    return used + (size_t)length < size ? used + (size_t)length : size - 1;
}

#define PATH_SHOWN 1 /* nodes named before the last one */

void gv_path_text(const struct gv_report *report, uint32_t root, uint32_t group, char *ret_text,
                  size_t size)
{
    struct gv_path path;
    char part[GV_LABEL_MAX];
    ret_text[0] = '\0';
    if (gv_retention_path(&report->retention, &report->rows, root, group, &path) < 0 ||
        path.length == 0)
        return;
    gv_root_name(report, root, part, sizeof(part));
    size_t used = append(ret_text, size, 0, part);
    for (uint32_t i = 0; i + 1 < path.length && i < PATH_SHOWN; i++) {
        const char *op = gv_name(&report->names, report->rows.nodes[path.nodes[i]].op_id);
        used = append(ret_text, size, used, " > ");
        used = append(ret_text, size, used, op ? op : "?");
    }
    if (path.length > PATH_SHOWN + 1) {
        snprintf(part, sizeof(part), " > (%" PRIu32 " more)", path.length - PATH_SHOWN - 1);
        used = append(ret_text, size, used, part);
    }
    used = append(ret_text, size, used, " > ");
    gv_slot_text(report, report->rows.nodes[path.last_node].op_id, path.slot_id, part,
                 sizeof(part));
    append(ret_text, size, used, part);
}

void gv_graphs_text(const struct gv_graphs *graphs, char *ret_text, size_t size)
{
    if (!graphs->first_step)
        snprintf(ret_text, size, "a graph");
    else if (graphs->graphs == 1)
        snprintf(ret_text, size, "the graph of step %" PRIu32, graphs->first_step);
    else
        snprintf(ret_text, size, "%" PRIu32 " graphs, of steps %" PRIu32 " to %" PRIu32,
                 graphs->graphs, graphs->first_step, graphs->last_step);
}

/* Also gives the path to the largest group's largest storage. */
static void groups_block(struct gv_text *text, const struct gv_report *report, uint32_t root,
                         uint32_t limit, char *path, size_t path_size)
{
    const struct gv_tally *groups = &report->retention.groups;
    uint32_t shown = 0;
    uint64_t left_bytes = 0, left = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct gv_tally_row *row = &groups->rows[i];
        char slot[GV_LABEL_MAX];
        if (row->key[0] != root)
            continue;
        if (shown == limit) {
            left_bytes += row->bytes;
            left += row->count;
            continue;
        }
        gv_slot_text(report, row->key[1], row->key[2], slot, sizeof(slot));
        gv_line(text, GV_PLAIN, "    %10s  %4" PRIu64 " x %s", gv_size(row->bytes).text, row->count,
                slot);
        if (shown++ == 0)
            gv_path_text(report, root, i, path, path_size);
    }
    if (left)
        gv_line(text, GV_PLAIN, "    %10s  %4" PRIu64 " more storages", gv_size(left_bytes).text,
                left);
}

void gv_root_block(struct gv_text *text, const struct gv_report *report, uint32_t root,
                   uint32_t limit)
{
    const struct gv_root *r = &report->roots.roots[root];
    char graphs[128], path[2048] = "";
    if (!r->role)
        gv_place_field(text, report, "line", gv_site_place(report->sites, r->site));
    gv_field(text, "keeps", "%s (%s bytes) that nothing else holds",
             gv_size(r->retained_bytes).text, gv_count((int64_t)r->retained_bytes).text);
    if (r->kept.nodes) {
        gv_graphs_text(&r->kept, graphs, sizeof(graphs));
        gv_field(text, "", "%s: %s nodes and what they saved", graphs,
                 gv_count(r->kept.nodes).text);
    }
    groups_block(text, report, root, limit, path, sizeof(path));
    if (path[0])
        gv_field(text, "path", "%s", path);
    if (!gv_keeps_old_graphs(report, r))
        return;
    if (r->detach_bytes)
        gv_field(text, "cure", "detach() what is stored there: frees %s (%s bytes)",
                 gv_size(r->detach_bytes).text, gv_count((int64_t)r->detach_bytes).text);
    else
        gv_field(text, "cure",
                 "detach() what is stored there: the old nodes hold no device memory "
                 "now, but they cost host memory, more with every step");
}

static void root_row(struct gv_text *text, const char *name, const char *where,
                     uint64_t retained_bytes, const char *own)
{
    char who[256], place[256];
    gv_pad(name, 26, who, sizeof(who));
    gv_pad(where, 26, place, sizeof(place));
    gv_line(text, GV_PLAIN, "  %s %s %10s %11s", who, place, gv_size(retained_bytes).text, own);
}

void gv_sharers_text(const struct gv_report *report, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < report->retention.shared_root_count; i++) {
        char name[GV_LABEL_MAX];
        gv_root_name(report, report->retention.shared_roots[i], name, sizeof(name));
        used = append(ret_text, size, used, i ? ", " : "");
        used = append(ret_text, size, used, name);
    }
}

/* A root that holds no memory at all (a plain number) would only be noise. */
static bool is_empty(const struct gv_root *root)
{
    return root->retained_bytes == 0 && root->own_bytes == 0 && root->kept.nodes == 0;
}

void gv_roots_table(struct gv_text *text, const struct gv_report *report, uint32_t limit)
{
    uint64_t left_bytes = 0;
    uint32_t left = 0, shown = 0;
    char name[GV_LABEL_MAX], where[GV_LABEL_MAX];
    gv_line(text, GV_DIM, "  %-26s %-26s %10s %11s", "", "", "keeps", "own tensors");
    for (uint32_t i = 0; i < report->roots.count; i++) {
        uint32_t index = report->root_order[i];
        const struct gv_root *root = &report->roots.roots[index];
        if (is_empty(root))
            continue;
        if (shown == limit) {
            left++;
            left_bytes += root->retained_bytes;
            continue;
        }
        shown++;
        gv_root_name(report, index, name, sizeof(name));
        where[0] = '\0';
        if (!root->role)
            gv_place_short(gv_site_place(report->sites, root->site), where, sizeof(where));
        root_row(text, name, where, root->retained_bytes, gv_size(root->own_bytes).text);
    }
    if (left) {
        snprintf(name, sizeof(name), "%" PRIu32 " more", left);
        root_row(text, name, "", left_bytes, "");
    }
    char who[256], sharers[GV_LABEL_MAX - 32];
    gv_sharers_text(report, sharers, sizeof(sharers));
    snprintf(name, sizeof(name), "shared by several%s%s", sharers[0] ? ": " : "", sharers);
    gv_line(text, GV_PLAIN, "  %s %10s", gv_pad(name, 53, who, sizeof(who)),
            gv_size(report->retention.shared_bytes).text);
    root_row(text, "held by no variable", "", report->retention.rest_bytes, "");
    root_row(text, "all device memory", "", report->retention.live_bytes, "");
}
