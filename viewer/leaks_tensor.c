/* SPDX-License-Identifier: MIT */
/* Tensors that variables keep without a graph, and allocations that nothing seems to hold: judged by
 * growth alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/leaks_private.h"

struct group {         /* survivors of one cluster or call site */
    uint32_t id, a, b; /* a, b: its key in the past */
    uint32_t objects;
    struct gv_tally sizes; /* (size, size >> 32) -> value: the span of the first */
    struct gv_survivors survivors;
};

struct groups {
    struct group *groups;
    uint32_t count, capacity;
    struct gv_tally by_id; /* (id) -> group + 1 */
};

static void groups_free(struct groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        free(groups->groups[i].survivors.counts);
        free(groups->groups[i].survivors.bytes);
        gv_tally_free(&groups->groups[i].sizes);
    }
    free(groups->groups);
    gv_tally_free(&groups->by_id);
}

static struct group *group_of(struct gv_scene *scene, struct groups *groups, uint32_t id,
                              uint32_t a, uint32_t b)
{
    struct gv_tally_row *row = gv_tally_row(&groups->by_id, id, 0, 0);
    if (!row)
        return NULL;
    if (row->value == 0) {
        if (gv_reserve(&groups->groups, &groups->capacity, groups->count, sizeof(*groups->groups)) <
            0)
            return NULL;
        size_t spans = (size_t)scene->now + 2;
        struct group group = {
            .id = id, .a = a, .b = b, .survivors = {.spans = scene->now, .all_differ = true}};
        group.survivors.counts = gv_zeroed(spans, sizeof(uint32_t));
        group.survivors.bytes = gv_zeroed(spans, sizeof(uint64_t));
        groups->groups[groups->count++] = group;
        row->value = groups->count;
        if (!group.survivors.counts || !group.survivors.bytes)
            return NULL;
    }
    return &groups->groups[row->value - 1];
}

static void count(struct gv_scene *scene, struct group *group, uint32_t allocation)
{
    const struct gv_allocation *a = &scene->rows.allocations[allocation];
    uint32_t span = gv_span_of(scene->spans, a->begin_seq);
    scene->counted[allocation] = 1;
    if (span > scene->now)
        return;
    struct gv_tally_row *row =
        gv_tally_row(&group->sizes, (uint32_t)a->size_bytes, (uint32_t)(a->size_bytes >> 32), 0);
    if (row && row->count++ > 0 && row->value != span)
        group->survivors.all_differ = false;
    else if (row)
        row->value = span;
    group->objects++;
    group->survivors.counts[span]++;
    group->survivors.bytes[span] += a->size_bytes;
}

/* Without any group that changes, the past cannot make one of it. */
static bool any_changes(const struct groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        enum gv_trend trend = gv_trend_of(&groups->groups[i].survivors);
        if (trend != GV_STEADY && trend != GV_ONE_OFF)
            return true;
    }
    return false;
}

static enum gv_class class_of(enum gv_trend trend, enum gv_class growing)
{
    switch (trend) {
    case GV_ONE_OFF:
        return GV_CLASS_ONE_OFF;
    case GV_FULL:
    case GV_WINDOW:
        return GV_CLASS_BOUNDED;
    case GV_UNSURE:
        return GV_CLASS_KEYED;
    default:
        return growing;
    }
}

/* Figures of the finding from the survivors; growth that is no finding becomes a note. */
static void fill(const struct gv_scene *scene, const struct gv_survivors *s, enum gv_trend trend,
                 struct gv_finding *finding)
{
    uint32_t first = 0, steps = 0, last = scene->now > 1 ? scene->now - 1 : 1;
    for (uint32_t k = 1; k < scene->now; k++) {
        if (!s->counts[k])
            continue;
        first = first ? first : k;
        steps++;
        finding->held_bytes += s->bytes[k];
    }
    uint32_t from = first > GV_WARM_SPANS ? first : GV_WARM_SPANS + 1;
    finding->since_step = first ? scene->spans->step_id[first - 1] : 0;
    finding->steps = steps;
    finding->bytes_per_step = trend == GV_ONE_OFF || trend == GV_FULL || trend == GV_WINDOW
                                  ? 0
                                  : gv_slope(s->bytes, from, last > from ? last : from);
    finding->frees_bytes = finding->held_bytes;
    finding->statistical = true;
    finding->certainty = trend != GV_GROWS ? GV_GUESS : steps >= 5 ? GV_CERTAIN : GV_LIKELY;
    finding->expected = trend != GV_GROWS;
}

static int collect_held(struct gv_scene *scene, struct groups *groups)
{
    for (uint32_t i = 0; i < scene->rows.handle_count; i++) {
        uint32_t root = scene->roots.of_handle[i], a = scene->rows.handles[i].allocation;
        if (root == GV_NONE || a == GV_NONE || scene->counted[a])
            continue;
        uint32_t c = scene->clusters.of_root[root];
        if (scene->explained[c] || !gv_scene_counts(scene, &scene->rows.allocations[a]))
            continue;
        const struct gv_cluster *cluster = &scene->clusters.clusters[c];
        struct group *group = group_of(scene, groups, c, cluster->pattern, cluster->site);
        if (!group)
            return -ENOMEM;
        count(scene, group, a);
    }
    return 0;
}

int gv_leaks_tensors(struct gv_scene *scene)
{
    struct groups groups = {0};
    struct gv_past past = {0};
    int r = collect_held(scene, &groups);
    if (r == 0 && any_changes(&groups))
        r = gv_past_handles(scene, &past);
    for (uint32_t i = 0; r == 0 && i < groups.count; i++) {
        struct group *group = &groups.groups[i];
        gv_past_fill(&past, group->a, group->b, &group->survivors);
        enum gv_trend trend = gv_trend_of(&group->survivors);
        if (trend == GV_STEADY)
            continue;
        struct gv_finding *finding = gv_scene_finding(scene, class_of(trend, GV_CLASS_TENSOR));
        if (!finding) {
            r = -ENOMEM;
            break;
        }
        gv_scene_name_cluster(scene, group->id, finding);
        fill(scene, &group->survivors, trend, finding);
        gv_advise_tensor(finding);
    }
    gv_past_free(&past);
    groups_free(&groups);
    return r;
}

/* No handle, no node: grouped by the line that allocated. */
static int collect_unheld(struct gv_scene *scene, struct groups *groups)
{
    bool blocks = false;
    for (uint32_t i = 0; i < scene->rows.allocation_index.count; i++)
        blocks = blocks || gv_is_block(&scene->rows.allocations[i]);
    for (uint32_t i = 0; i < scene->rows.allocation_index.count; i++) {
        const struct gv_allocation *a = &scene->rows.allocations[i];
        bool pinned = gv_is_pinned_memory(a), device = gv_scene_counts(scene, a);
        uint32_t site;
        if (!gv_scene_is_live(a->live) || scene->counted[i] || a->held || a->saved ||
            (!pinned && !device) || (blocks && device && !gv_is_block(a)))
            continue; /* with a pool above, its blocks tell, not the segments */
        int r = gv_site_of(scene->in->sites, a->stack_id, &site);
        if (r < 0)
            return r;
        struct group *group = group_of(scene, groups, site * 2 + pinned, site, 0);
        if (!group)
            return -ENOMEM;
        count(scene, group, i);
    }
    return 0;
}

int gv_leaks_lost(struct gv_scene *scene)
{
    struct groups groups = {0};
    struct gv_past past = {0};
    int r = collect_unheld(scene, &groups);
    if (r == 0 && any_changes(&groups))
        r = gv_past_allocations(scene, &past);
    for (uint32_t i = 0; r == 0 && i < groups.count; i++) {
        struct group *group = &groups.groups[i];
        gv_past_fill(&past, group->a, group->b, &group->survivors);
        enum gv_trend trend = gv_trend_of(&group->survivors);
        if (trend == GV_STEADY)
            continue;
        bool pinned = group->id & 1;
        struct gv_finding *finding =
            gv_scene_finding(scene, class_of(trend, pinned ? GV_CLASS_HOST : GV_CLASS_LOST));
        if (!finding) {
            r = -ENOMEM;
            break;
        }
        const struct gv_place *place = gv_site_place(scene->in->sites, group->id / 2);
        if (place)
            finding->place = *place;
        gv_scene_source(scene, finding);
        finding->handles = group->objects;
        fill(scene, &group->survivors, trend, finding);
        if (finding->certainty == GV_CERTAIN)
            finding->certainty = GV_LIKELY; /* a holder may exist that nobody annotated */
        if (trend == GV_GROWS)
            gv_advise_lost(finding);
        else
            gv_advise_tensor(finding);
    }
    gv_past_free(&past);
    groups_free(&groups);
    return r;
}
