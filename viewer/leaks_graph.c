/* SPDX-License-Identifier: MIT */
/* Graphs of earlier steps that a variable reaches, and those that none reaches any more. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/leaks_private.h"

#define CANDIDATES_MAX 64

struct candidate {
    uint32_t cluster, old_spans, old_nodes;
};

struct kept { /* what a set of nodes holds, by span it was made in */
    uint64_t *bytes, *saved_bytes, *nodes;
    uint32_t *counts; /* for gv_trend_of */
    uint64_t old_bytes, old_nodes, visited, old_saved;
    uint64_t old_slots, slots_after_backward; /* saved slots of old nodes that are still full */
    uint32_t target;                          /* the node to show the path to */
};

/* A node of an earlier step than the moment's own. */
static bool is_old(const struct gv_scene *scene, uint32_t node)
{
    return scene->node_span[node] && scene->node_span[node] < scene->now;
}

/* Went a backward through it by the moment? What a node lets go of at its end is none. */
static bool is_visited(const struct gv_scene *scene, uint32_t node)
{
    int64_t backward = scene->rows.nodes[node].backward_seq;
    return backward > 0 && backward <= scene->rows.seq[0];
}

static int kept_init(const struct gv_scene *scene, struct kept *kept)
{
    size_t spans = (size_t)scene->spans->count + 2;
    *kept = (struct kept){.target = GV_NONE};
    kept->bytes = gv_zeroed(spans, sizeof(uint64_t));
    kept->saved_bytes = gv_zeroed(spans, sizeof(uint64_t));
    kept->nodes = gv_zeroed(spans, sizeof(uint64_t));
    kept->counts = gv_zeroed(spans, sizeof(uint32_t));
    return kept->bytes && kept->saved_bytes && kept->nodes && kept->counts ? 0 : -ENOMEM;
}

static void kept_free(struct kept *kept)
{
    free(kept->bytes);
    free(kept->saved_bytes);
    free(kept->nodes);
    free(kept->counts);
}

/* Distinct earlier spans among the queued nodes; with `without`, of nodes that do not carry that
 * stamp in `reached_before`. */
static uint32_t count_old_spans(struct gv_scene *scene, const uint32_t *reached_before,
                                uint32_t without, uint32_t *ret_nodes)
{
    uint8_t *seen = gv_zeroed((size_t)scene->spans->count + 2, 1);
    uint32_t spans = 0, nodes = 0;
    for (uint32_t i = 0; seen && i < scene->queue_length; i++) {
        uint32_t node = scene->queue[i];
        if (!is_old(scene, node) || (reached_before && reached_before[node] == without))
            continue;
        nodes++;
        spans += !seen[scene->node_span[node]];
        seen[scene->node_span[node]] = 1;
    }
    free(seen);
    *ret_nodes = nodes;
    return spans;
}

static bool has_nodes(const struct gv_scene *scene, uint32_t cluster)
{
    for (uint32_t i = 0; i < scene->rows.handle_count; i++) {
        uint32_t root = scene->roots.of_handle[i];
        if (root != GV_NONE && scene->clusters.of_root[root] == cluster &&
            scene->rows.handles[i].node != GV_NONE)
            return true;
    }
    return false;
}

/* Clusters that reach the graphs of two earlier steps or more: the best root first. */
static const struct gv_scene *sorting;

static int by_rank(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    bool carries_a = sorting->carrier_edges[a->cluster] > 0;
    bool carries_b = sorting->carrier_edges[b->cluster] > 0;
    if (carries_a != carries_b)
        return carries_a ? -1 : 1;
    if (a->old_spans != b->old_spans)
        return a->old_spans < b->old_spans ? 1 : -1;
    if (a->old_nodes != b->old_nodes)
        return a->old_nodes < b->old_nodes ? 1 : -1;
    return a->cluster < b->cluster ? -1 : a->cluster > b->cluster;
}

static uint32_t find_candidates(struct gv_scene *scene, struct candidate *candidates)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < scene->clusters.count && count < CANDIDATES_MAX; c++) {
        if (!has_nodes(scene, c))
            continue;
        struct candidate candidate = {.cluster = c};
        gv_scene_walk(scene, c, 0);
        candidate.old_spans = count_old_spans(scene, NULL, 0, &candidate.old_nodes);
        if (candidate.old_spans >= 2)
            candidates[count++] = candidate;
    }
    sorting = scene;
    if (count > 1)
        qsort(candidates, count, sizeof(*candidates), by_rank);
    return count;
}

static bool is_model_state(const struct gv_allocation *a)
{
    uint32_t role = gv_allocation_role(a); /* enum gradprof_role */
    return role == 1 || role == 2 || role == 3 || role == 6;
}

/* Storages that variables outside of the finding hold stay whatever is cut. */
static void mark_held_elsewhere(const struct gv_scene *scene, const uint8_t *in_finding,
                                uint8_t *held)
{
    for (uint32_t i = 0; i < scene->rows.handle_count; i++) {
        const struct gv_handle *handle = &scene->rows.handles[i];
        uint32_t root = scene->roots.of_handle[i];
        if (root == GV_NONE || handle->allocation == GV_NONE)
            continue;
        bool ours = in_finding && in_finding[scene->clusters.of_root[root]];
        held[handle->allocation] |= ours ? 2 : 1;
    }
}

static void keep_storage(struct gv_scene *scene, struct kept *kept, uint32_t allocation,
                         bool by_node)
{
    const struct gv_allocation *a = &scene->rows.allocations[allocation];
    uint32_t span = gv_span_of(scene->spans, a->begin_seq);
    if (!gv_scene_is_live(a->live) || !gv_scene_counts(scene, a) || is_model_state(a) ||
        span > scene->now)
        return;
    scene->counted[allocation] = 1;
    kept->bytes[span] += a->size_bytes;
    kept->saved_bytes[span] += by_node ? a->size_bytes : 0;
    if (span && span < scene->now) {
        kept->old_bytes += a->size_bytes;
        kept->old_saved += by_node ? a->size_bytes : 0;
    }
}

/* Sums up the nodes with `stamp`, what they save and what the finding's variables hold. */
static int sum_kept(struct gv_scene *scene, uint32_t stamp, const uint8_t *in_finding,
                    bool collection, struct kept *kept)
{
    uint8_t *held = gv_zeroed(scene->rows.allocation_index.count, 1);
    if (!held)
        return -ENOMEM;
    mark_held_elsewhere(scene, in_finding, held);
    uint64_t largest = 0;
    for (uint32_t node = 0; node < scene->rows.node_index.count; node++) {
        uint32_t span = scene->node_span[node];
        if (scene->reached[node] != stamp || span > scene->now)
            continue;
        kept->nodes[span]++;
        kept->counts[span]++;
        kept->old_nodes += is_old(scene, node);
        kept->visited += is_old(scene, node) && is_visited(scene, node);
        if (is_old(scene, node) &&
            (kept->target == GV_NONE || span < scene->node_span[kept->target]))
            kept->target = node;
    }
    for (uint32_t i = 0; i < scene->rows.saved_count; i++) {
        const struct gv_saved *saved = &scene->rows.saved[i];
        if (!gv_scene_is_live(saved->live) || scene->reached[saved->node] != stamp ||
            saved->allocation == GV_NONE)
            continue;
        uint64_t size_bytes = scene->rows.allocations[saved->allocation].size_bytes;
        kept->old_slots += is_old(scene, saved->node);
        kept->slots_after_backward += is_old(scene, saved->node) && is_visited(scene, saved->node);
        if (is_old(scene, saved->node) && size_bytes > largest &&
            scene->node_span[saved->node] <= scene->node_span[kept->target]) {
            largest = size_bytes;
            kept->target = saved->node;
        }
        if (held[saved->allocation] & 1 || held[saved->allocation] & 4)
            continue;
        held[saved->allocation] |= 4;
        keep_storage(scene, kept, saved->allocation, true);
    }
    /* one variable's own tensor goes when the next one comes: it adds nothing from step to step */
    for (uint32_t a = 0; collection && a < scene->rows.allocation_index.count; a++)
        if ((held[a] & 6) == 2 && !(held[a] & 1))
            keep_storage(scene, kept, a, false);
    free(held);
    return 0;
}

#define PATH_HEAD 5 /* parts shown before the gap; behind it the last two */

static const char *op_name(const struct gv_scene *scene, uint32_t node)
{
    const char *op = gv_name(scene->in->names, scene->rows.nodes[node].op_id);
    return op ? op : "?";
}

/* "(9 more)" in place of the middle of a long path: `parts` in, at most GV_FINDING_PATH kept. */
static void add_part(struct gv_finding *finding, uint32_t *parts, const char *op, uint32_t repeated)
{
    const uint32_t gap = PATH_HEAD, last = PATH_HEAD + 2;
    char part[sizeof(finding->path[0])];
    if (repeated > 1)
        snprintf(part, sizeof(part), "%.44s x %" PRIu32, op, repeated);
    else
        snprintf(part, sizeof(part), "%.60s", op);
    if (++*parts <= last + 1) {
        snprintf(finding->path[finding->path_length++], sizeof(part), "%s", part);
        return;
    }
    snprintf(finding->path[gap], sizeof(part), "(%" PRIu32 " more)", *parts - PATH_HEAD - 2);
    memcpy(finding->path[gap + 1], finding->path[last], sizeof(part));
    memcpy(finding->path[last], part, sizeof(part));
}

static void fill_path(const struct gv_scene *scene, uint32_t target, struct gv_finding *finding)
{
    uint32_t length = 0, parts = 0, repeated = 0;
    uint32_t *chain = gv_zeroed(scene->queue_length, sizeof(*chain));
    if (!chain)
        return;
    for (uint32_t v = target; v != GV_NONE && length < scene->queue_length; v = scene->came_from[v])
        chain[length++] = v;
    for (uint32_t i = length; i > 0; i--) {
        const char *op = op_name(scene, chain[i - 1]);
        repeated++;
        if (i > 1 && strcmp(op, op_name(scene, chain[i - 2])) == 0)
            continue;
        add_part(finding, &parts, op, repeated);
        repeated = 0;
    }
    free(chain);
}

static bool op_begins(const struct gv_scene *scene, uint32_t node, const char *prefix)
{
    const char *op = gv_name(scene->in->names, scene->rows.nodes[node].op_id);
    return op && strncmp(op, prefix, strlen(prefix)) == 0;
}

/* The same operation in step after step: a sum, a product, a running mean. */
static bool accumulates(const struct gv_scene *scene, uint32_t head)
{
    for (int hops = 0; hops < 3; hops++) {
        uint32_t next = GV_NONE;
        for (uint32_t i = scene->inputs.first[head]; i < scene->inputs.first[head + 1]; i++) {
            uint32_t input = scene->inputs.to[i];
            if (scene->node_span[input] && scene->node_span[input] < scene->node_span[head] &&
                scene->rows.nodes[input].op_id == scene->rows.nodes[head].op_id)
                return true;
            if (scene->node_span[input] == scene->node_span[head] &&
                scene->inputs.first[input + 1] - scene->inputs.first[input] == 1)
                next = input;
        }
        if (next == GV_NONE)
            return false;
        head = next;
    }
    return false;
}

static bool says_validation(const struct gv_scene *scene, uint32_t node)
{
    char path[512];
    gv_scope_path(scene->in->names, scene->rows.nodes[node].scope_id, path, sizeof(path));
    for (char *c = path; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
    return strstr(path, "valid") || strstr(path, "eval") || strstr(path, "infer");
}

static uint64_t largest_tensor(const struct gv_scene *scene, uint32_t cluster)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < scene->rows.handle_count; i++) {
        uint32_t root = scene->roots.of_handle[i], a = scene->rows.handles[i].allocation;
        if (root != GV_NONE && scene->clusters.of_root[root] == cluster && a != GV_NONE &&
            scene->rows.allocations[a].size_bytes > largest)
            largest = scene->rows.allocations[a].size_bytes;
    }
    return largest;
}

static void advise(struct gv_scene *scene, uint32_t cluster, const struct kept *kept,
                   struct gv_finding *finding)
{
    const struct gv_cluster *c = &scene->clusters.clusters[cluster];
    const struct gv_root *root = &scene->roots.roots[c->first_root];
    uint32_t head = scene->queue_length ? scene->queue[0] : GV_NONE;
    struct gv_graph_traits traits = {
        .carried = scene->carrier_edges[cluster] > 0,
        .collection = c->handles >= 2 && scene->carrier_edges[cluster] == 0,
        .visited = kept->visited * 2 > kept->old_nodes,
        .told_to_keep = kept->slots_after_backward * 2 > kept->old_slots,
        .gradient = root->role == 2,
        .small = largest_tensor(scene, cluster) <= GV_SKELETON_BYTES,
    };
    if (head != GV_NONE) {
        traits.accumulates = accumulates(scene, head);
        traits.cloned = op_begins(scene, head, "Clone") ||
                        (scene->queue_length > 1 && op_begins(scene, scene->queue[1], "Clone"));
        traits.validation = says_validation(scene, head);
    }
    gv_advise_graph(finding, &traits, head == GV_NONE ? "its graph" : op_name(scene, head));
}

static void fill_figures(const struct gv_scene *scene, const struct kept *kept,
                         struct gv_finding *finding)
{
    uint32_t first = 0, steps = 0, last = scene->now > 1 ? scene->now - 1 : 1;
    for (uint32_t k = 1; k < scene->now; k++) {
        if (!kept->counts[k] && !kept->bytes[k])
            continue;
        first = first ? first : k;
        steps++;
    }
    /* the first step may have made what the others share; with enough of them it is left out */
    uint32_t from = first && last - first >= 2 ? first + 1 : first;
    finding->since_step = first ? scene->spans->step_id[first - 1] : 0;
    finding->steps = steps;
    finding->bytes_per_step = gv_slope(kept->bytes, from, last);
    finding->nodes_per_step = gv_slope(kept->nodes, from, last);
    finding->held_bytes = kept->old_bytes;
    finding->held_nodes = kept->old_nodes;
    if (finding->class == GV_CLASS_GRAPH &&
        gv_slope(kept->saved_bytes, from, last) <= GV_SKELETON_BYTES)
        finding->class = GV_CLASS_SKELETON;
}

struct verdict {
    bool report, bounded, expected;
    uint32_t period;
    bool structural, statistical;
};

/* Is it a leak, a window that moves, or a sum that a later backward uses up? */
static struct verdict judge(const struct gv_scene *scene, const struct gv_past *past,
                            const struct kept *kept, uint32_t op_id)
{
    struct gv_survivors s = {.counts = kept->counts, .bytes = kept->bytes, .spans = scene->now};
    struct verdict v = {0};
    uint32_t first;
    gv_past_fill(past, op_id, 0, &s);
    bool unbroken = gv_is_unbroken(&s, &first);
    enum gv_trend trend = gv_trend_of(&s);
    v.structural = unbroken;
    v.statistical = trend == GV_GROWS;
    if (first && gv_is_window(&s, first)) {
        v.bounded = v.report = true;
        v.expected = past->used_later > 0;
        return v;
    }
    v.report = unbroken || trend == GV_GROWS || trend == GV_FULL;
    v.bounded = v.report && trend == GV_FULL && !unbroken;
    return v;
}

/* Which other candidates hang on the same graphs? They go into the finding. */
static void add_sharers(struct gv_scene *scene, const struct candidate *candidates, uint32_t count,
                        uint32_t primary_stamp, uint8_t *in_finding, struct gv_finding *finding)
{
    uint32_t nodes = scene->rows.node_index.count;
    uint32_t *before = gv_zeroed(nodes, sizeof(*before));
    if (!before)
        return;
    memcpy(before, scene->reached, nodes * sizeof(*before));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cluster = candidates[i].cluster, outside;
        if (scene->explained[cluster])
            continue;
        gv_scene_walk(scene, cluster, 0);
        if (count_old_spans(scene, before, primary_stamp, &outside) >= 2)
            continue;
        scene->explained[cluster] = in_finding[cluster] = 1;
        struct gv_finding name = {0};
        gv_scene_name_cluster(scene, cluster, &name);
        size_t used = strlen(finding->also);
        snprintf(finding->also + used, sizeof(finding->also) - used, "%s%s", used ? ", " : "",
                 name.root);
    }
    memcpy(scene->reached, before, nodes * sizeof(*before));
    free(before);
}

static int report_candidate(struct gv_scene *scene, const struct gv_past *past,
                            const struct candidate *candidates, uint32_t count, uint32_t index)
{
    uint32_t cluster = candidates[index].cluster;
    struct kept kept;
    struct gv_finding finding = {.class = GV_CLASS_GRAPH};
    uint8_t *in_finding = gv_zeroed(scene->clusters.count, 1);
    int r = kept_init(scene, &kept);
    if (r == 0 && !in_finding)
        r = -ENOMEM;
    if (r == 0) {
        uint32_t stamp = gv_scene_walk(scene, cluster, 0);
        scene->explained[cluster] = in_finding[cluster] = 1;
        add_sharers(scene, candidates, count, stamp, in_finding, &finding);
        for (uint32_t c = 0; c < scene->clusters.count; c++) /* sharers' nodes count too */
            if (in_finding[c] && c != cluster)
                gv_scene_walk(scene, c, stamp);
        r = sum_kept(scene, stamp, in_finding, scene->clusters.clusters[cluster].tensors > 1,
                     &kept);
        gv_scene_walk(scene, cluster, 0); /* the path is the root's own */
    }
    if (r == 0 && kept.target != GV_NONE) {
        struct verdict v = judge(scene, past, &kept, scene->rows.nodes[kept.target].op_id);
        fill_figures(scene, &kept, &finding);
        gv_scene_name_cluster(scene, cluster, &finding);
        fill_path(scene, kept.target, &finding);
        advise(scene, cluster, &kept, &finding);
        finding.frees_bytes = kept.old_saved;
        finding.structural = v.structural;
        finding.statistical = v.statistical;
        finding.certainty = v.structural && finding.steps >= 3 ? GV_CERTAIN : GV_LIKELY;
        finding.expected = v.expected;
        if (v.bounded) {
            finding.class = GV_CLASS_BOUNDED;
            finding.bytes_per_step = finding.nodes_per_step = 0;
        }
        struct gv_finding *slot = v.report ? gv_scene_finding(scene, finding.class) : NULL;
        if (slot)
            *slot = finding;
        else if (v.report)
            r = -ENOMEM;
    }
    kept_free(&kept);
    free(in_finding);
    return r;
}

/* A cycle among nodes with `stamp`, walked along the first input that stays inside. GV_NONE: none. */
static uint32_t find_cycle(struct gv_scene *scene, uint32_t stamp)
{
    uint32_t nodes = scene->rows.node_index.count;
    uint32_t *left = gv_zeroed(nodes, sizeof(*left)), *work = gv_zeroed(nodes, sizeof(*work));
    uint32_t count = 0, found = GV_NONE;
    /* take away, again and again, what holds nothing inside; what stays is on or above a cycle */
    for (uint32_t v = 0; left && work && v < nodes; v++)
        for (uint32_t i = scene->inputs.first[v]; i < scene->inputs.first[v + 1]; i++)
            if (scene->reached[v] == stamp && scene->reached[scene->inputs.to[i]] == stamp)
                left[scene->inputs.to[i]]++;
    for (uint32_t v = 0; left && work && v < nodes; v++)
        if (scene->reached[v] == stamp && left[v] == 0)
            work[count++] = v;
    for (uint32_t done = 0; done < count; done++)
        for (uint32_t i = scene->inputs.first[work[done]]; i < scene->inputs.first[work[done] + 1];
             i++) {
            uint32_t input = scene->inputs.to[i];
            if (scene->reached[input] == stamp && --left[input] == 0)
                work[count++] = input;
        }
    for (uint32_t v = 0; left && work && v < nodes && found == GV_NONE; v++)
        if (scene->reached[v] == stamp && left[v] > 0 && is_old(scene, v))
            found = v;
    free(left);
    free(work);
    return found;
}

static void cycle_path(const struct gv_scene *scene, uint32_t node, uint32_t stamp,
                       struct gv_finding *finding)
{
    uint32_t start = node;
    while (finding->path_length < GV_FINDING_PATH) {
        const char *op = gv_name(scene->in->names, scene->rows.nodes[node].op_id);
        snprintf(finding->path[finding->path_length++], sizeof(finding->path[0]), "%.60s",
                 op ? op : "?");
        uint32_t next = GV_NONE;
        for (uint32_t i = scene->inputs.first[node]; i < scene->inputs.first[node + 1]; i++)
            if (scene->reached[scene->inputs.to[i]] == stamp)
                next = scene->inputs.to[i];
        if (next == GV_NONE || (node == start && finding->path_length > 1))
            break;
        node = next;
    }
}

static void describe_unheld(struct gv_scene *scene, uint32_t stamp, const struct kept *kept,
                            struct gv_finding *finding)
{
    uint32_t cycle = find_cycle(scene, stamp), at = cycle == GV_NONE ? kept->target : cycle, site;
    fill_figures(scene, kept, finding);
    if (cycle != GV_NONE) {
        finding->class = GV_CLASS_CYCLE_NATIVE;
        cycle_path(scene, cycle, stamp, finding);
    } else {
        const char *op = gv_name(scene->in->names, scene->rows.nodes[at].op_id);
        snprintf(finding->path[finding->path_length++], sizeof(finding->path[0]), "%.60s",
                 op ? op : "?");
    }
    if (gv_site_of(scene->in->sites, scene->rows.nodes[at].stack_id, &site) == 0 && site)
        finding->place = *gv_site_place(scene->in->sites, site);
    gv_scene_source(scene, finding);
    finding->frees_bytes = kept->old_saved;
    if (cycle != GV_NONE) {
        snprintf(finding->cut, sizeof(finding->cut), "any edge of the cycle %s -> %s",
                 finding->path[0], finding->path[finding->path_length > 1 ? 1 : 0]);
        snprintf(finding->advice, sizeof(finding->advice),
                 "No variable holds these nodes; they hold each other, and no garbage collector "
                 "sees them. Set .grad = None, edit parameters under no_grad(), or remove the hook "
                 "that closes the cycle.");
    } else {
        snprintf(finding->cut, sizeof(finding->cut), "what keeps %s outside the recorded variables",
                 finding->path[0]);
        snprintf(finding->advice, sizeof(finding->advice),
                 "No recorded variable reaches these nodes: look for an object that keeps them in "
                 "native code, a cache, or a closure, and drop or detach it.");
    }
}

/* Live nodes of earlier steps that no variable reaches. */
static int report_unheld(struct gv_scene *scene, const struct gv_past *past)
{
    struct kept kept;
    uint32_t stamp = 0, unheld = UINT32_MAX;
    for (uint32_t c = 0; c < scene->clusters.count; c++)
        stamp = gv_scene_walk(scene, c, stamp);
    for (uint32_t v = 0; v < scene->rows.node_index.count; v++)
        if (gv_scene_is_live(scene->rows.nodes[v].live) &&
            (stamp == 0 || scene->reached[v] != stamp))
            scene->reached[v] = unheld;
    int r = kept_init(scene, &kept);
    if (r == 0)
        r = sum_kept(scene, unheld, NULL, false, &kept);
    if (r == 0 && kept.target != GV_NONE) {
        struct verdict v = judge(scene, past, &kept, scene->rows.nodes[kept.target].op_id);
        struct gv_finding *finding =
            v.report && !v.bounded ? gv_scene_finding(scene, GV_CLASS_GRAPH) : NULL;
        if (finding) {
            describe_unheld(scene, unheld, &kept, finding);
            finding->structural = v.structural;
            finding->statistical = v.statistical;
            finding->certainty = finding->class == GV_CLASS_CYCLE_NATIVE ? GV_CERTAIN : GV_LIKELY;
        }
    }
    kept_free(&kept);
    return r;
}

int gv_leaks_graphs(struct gv_scene *scene, const struct gv_past *past)
{
    struct candidate candidates[CANDIDATES_MAX];
    int r = gv_past_carriers(scene);
    uint32_t count = r == 0 ? find_candidates(scene, candidates) : 0;
    for (uint32_t i = 0; r == 0 && i < count; i++)
        if (!scene->explained[candidates[i].cluster])
            r = report_candidate(scene, past, candidates, count, i);
    return r == 0 ? report_unheld(scene, past) : r;
}
