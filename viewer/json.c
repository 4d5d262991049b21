/* SPDX-License-Identifier: MIT */
/* The JSON contract: fields are only ever added within a schema number. The only file that includes
 * jansson. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/pieces.h"
#include "viewer/source.h"
#include "viewer/text_reports.h"

#define JSON_SCHEMA 1
#define DEFAULT_LIMIT 1000 /* rows of each list */
#define STACK_PLACES 24

/* jansson's *_new functions accept NULL and then fail; the one check is at the end, in gv_json_print:
 * a lost member would make the document smaller, so every set goes through here. */
static bool lost;

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        lost = true;
}

static void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        lost = true;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *bytes(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *known_or_null(bool known, uint64_t value)
{
    return known ? bytes(value) : json_null();
}

static json_t *owners_json(const uint64_t owner_bytes[GV_OWNER_COUNT])
{
    json_t *owners = json_array();
    for (int i = 0; i < GV_OWNER_COUNT; i++) {
        if (owner_bytes[i] == 0)
            continue;
        json_t *owner = json_object();
        set(owner, "class", json_string(gv_owner_key((enum gv_owner)i)));
        set(owner, "bytes", bytes(owner_bytes[i]));
        append(owners, owner);
    }
    return owners;
}

static json_t *account_json(const struct gv_account *account)
{
    char name[64];
    json_t *object = json_object();
    const struct gv_moment *moment = &account->moment;
    set(object, "moment", json_string(gv_moment_name(moment, name, sizeof(name))));
    set(object, "seq", json_integer(moment->seq));
    set(object, "t_ns", known_or_null(moment->t_ns >= 0, (uint64_t)moment->t_ns));
    set(object, "step", known_or_null(moment->step != 0, moment->step));
    set(object, "bytes", bytes(account->bytes));
    set(object, "allocations", bytes(account->allocations));
    set(object, "attributed_percent", json_real(account->attributed_percent));
    set(object, "unattributed_bytes", bytes(account->owner_bytes[GV_OWNER_UNATTRIBUTED]));
    set(object, "pinned_host_bytes", bytes(account->pinned_bytes));
    set(object, "owners", owners_json(account->owner_bytes));
    return object;
}

static json_t *devices_json(const struct gv_report *report)
{
    static const char *const runtimes[] = {"unknown", "cudart", "hostcuda"};
    json_t *devices = json_array();
    for (uint32_t i = 0; i < report->run.device_count; i++) {
        const struct gv_device *d = &report->run.devices[i];
        json_t *device = json_object();
        set(device, "id", bytes(d->id));
        set(device, "name", text_or_null(gv_name(&report->names, d->name_id)));
        set(device, "runtime", json_string(runtimes[d->runtime < 3 ? d->runtime : 0]));
        set(device, "total_bytes", known_or_null(d->total_bytes != 0, d->total_bytes));
        set(device, "limit_bytes", known_or_null(d->limit_bytes != 0, d->limit_bytes));
        set(device, "context_bytes",
            known_or_null(d->context_bytes >= 0, (uint64_t)d->context_bytes));
        set(device, "peak_bytes", bytes(d->peak_bytes));
        append(devices, device);
    }
    return devices;
}

static json_t *run_json(const struct gv_report *report)
{
    json_t *run = json_object(), *meta = json_object(), *counters = json_object();
    const struct gp_recover_result *recovered = &report->recovered;
    set(run, "database", json_string(report->query.path));
    set(run, "program", text_or_null(gv_meta_text(&report->run, "argv")));
    int64_t last_ns = gv_meta_integer(&report->run, "last_ns", -1);
    set(run, "duration_ns", known_or_null(last_ns >= 0, (uint64_t)last_ns));
    set(run, "steps", bytes(report->run.step_count));
    set(run, "completed_steps", bytes(report->run.completed_steps));
    set(run, "children", bytes(report->run.child_count));
    set(run, "still_running", json_boolean(recovered->still_running));
    set(run, "clean_exit", json_boolean(gv_meta_integer(&report->run, "clean_exit", 0) != 0));
    set(run, "imported_events", bytes(recovered->imported_events));
    set(run, "lost_events", bytes(recovered->lost));
    set(run, "devices", devices_json(report));
    for (uint32_t i = 0; i < report->run.meta_count; i++)
        set(meta, report->run.meta[i].key, json_string(report->run.meta[i].value));
    for (uint32_t i = 0; i < report->run.counter_count; i++)
        set(counters, report->run.counters[i].name, json_integer(report->run.counters[i].value));
    set(run, "meta", meta);
    set(run, "counters", counters);
    return run;
}

static void set_place(json_t *object, const struct gv_place *place)
{
    set(object, "function", text_or_null(place ? place->function : NULL));
    set(object, "file", text_or_null(place ? place->file : NULL));
    set(object, "line", known_or_null(place && place->line, place ? place->line : 0));
}

static void set_source(json_t *object, const struct gv_report *report, const struct gv_place *place)
{
    char source[256];
    gv_source_line(place ? place->file : NULL, place ? place->line : 0, report->run_end_unix_ns,
                   source, sizeof(source));
    set(object, "source", text_or_null(source[0] ? source : NULL));
}

static json_t *slots_json(const struct gv_report *report, uint32_t limit)
{
    json_t *slots = json_array();
    for (uint32_t i = 0; i < report->slots.count && i < limit; i++) {
        const struct gv_tally_row *row = &report->slots.rows[i];
        json_t *slot = json_object();
        set(slot, "op", text_or_null(gv_name(&report->names, row->key[0])));
        set(slot, "slot", text_or_null(gv_name(&report->names, row->key[1])));
        set(slot, "count", bytes(row->count));
        set(slot, "bytes", bytes(row->bytes));
        set(slot, "own_bytes", bytes(report->slot_first_bytes[row->value]));
        append(slots, slot);
    }
    return slots;
}

static json_t *graph_json(const struct gv_report *report, uint32_t limit)
{
    json_t *graph = json_object(), *ops = json_array();
    set(graph, "nodes", bytes(report->retention.live_nodes));
    for (uint32_t i = 0; i < report->ops.count && i < limit; i++) {
        json_t *op = json_object();
        set(op, "op", text_or_null(gv_name(&report->names, report->ops.rows[i].key[0])));
        set(op, "nodes", bytes(report->ops.rows[i].count));
        append(ops, op);
    }
    set(graph, "ops", ops);
    return graph;
}

/* {"nodes": [ops from the root on], "length": all of them, "slot": of the last one} */
static json_t *path_json(const struct gv_report *report, uint32_t root, uint32_t group)
{
    struct gv_path path;
    json_t *object = json_object(), *nodes = json_array();
    if (gv_retention_path(&report->retention, &report->rows, root, group, &path) < 0)
        path = (struct gv_path){0};
    for (uint32_t i = 0; i < path.length && i < GV_PATH_MAX; i++)
        append(nodes,
               text_or_null(gv_name(&report->names, report->rows.nodes[path.nodes[i]].op_id)));
    set(object, "nodes", nodes);
    set(object, "length", bytes(path.length));
    set(object, "slot", text_or_null(gv_name(&report->names, path.slot_id)));
    return object;
}

#define ROOT_GROUPS 12
#define ROOTS_WITH_GROUPS 50 /* each costs a walk over the groups and a search for the path */

static json_t *groups_json(const struct gv_report *report, uint32_t root, json_t **ret_path)
{
    json_t *groups = json_array();
    int shown = 0;
    *ret_path = NULL;
    for (uint32_t i = 0; i < report->retention.groups.count && shown < ROOT_GROUPS; i++) {
        const struct gv_tally_row *row = &report->retention.groups.rows[i];
        if (row->key[0] != root)
            continue;
        json_t *group = json_object();
        set(group, "op", text_or_null(gv_name(&report->names, row->key[1])));
        set(group, "slot", text_or_null(gv_name(&report->names, row->key[2])));
        set(group, "count", bytes(row->count));
        set(group, "bytes", bytes(row->bytes));
        append(groups, group);
        if (shown++ == 0)
            *ret_path = path_json(report, root, i);
    }
    return groups;
}

static json_t *root_json(const struct gv_report *report, uint32_t index, bool with_groups)
{
    const struct gv_root *r = &report->roots.roots[index];
    const struct gv_place *place = gv_site_place(report->sites, r->site);
    char title[GV_LABEL_MAX];
    json_t *root = json_object();
    if (r->role) {
        struct gv_root one = *r;
        one.tensors = 1; /* the bare name of the role; the count is a field of its own */
        gv_root_title(&one, NULL, title, sizeof(title));
        set(root, "name", json_string(title));
    } else {
        set(root, "name", text_or_null(gv_name(&report->names, r->name_id)));
    }
    set_place(root, place);
    set_source(root, report, place);
    set(root, "handles", bytes(r->handles));
    set(root, "tensors", bytes(r->tensors));
    set(root, "retained_bytes", bytes(r->retained_bytes));
    set(root, "own_bytes", bytes(r->own_bytes));
    set(root, "detach_frees_bytes", bytes(r->detach_bytes));
    set(root, "graphs", bytes(r->kept.graphs));
    set(root, "nodes", bytes(r->kept.nodes));
    set(root, "first_step", known_or_null(r->kept.first_step != 0, r->kept.first_step));
    set(root, "last_step", known_or_null(r->kept.last_step != 0, r->kept.last_step));
    set(root, "keeps_old_graphs", json_boolean(gv_keeps_old_graphs(report, r)));
    if (with_groups) {
        json_t *path;
        set(root, "saved", groups_json(report, index, &path));
        set(root, "path", path ? path : json_null());
    }
    return root;
}

static json_t *roots_json(const struct gv_report *report, uint32_t limit)
{
    json_t *roots = json_array();
    for (uint32_t i = 0; i < report->roots.count && i < limit; i++)
        append(roots, root_json(report, report->root_order[i], i < ROOTS_WITH_GROUPS));
    return roots;
}

static json_t *retention_json(const struct gv_report *report)
{
    const struct gv_retention *r = &report->retention;
    json_t *retention = json_object(), *sharers = json_array();
    set(retention, "live_bytes", bytes(r->live_bytes));
    set(retention, "retained_bytes", bytes(r->retained_bytes));
    set(retention, "shared_bytes", bytes(r->shared_bytes));
    set(retention, "rest_bytes", bytes(r->rest_bytes));
    set(retention, "shared_owners", owners_json(r->shared_owner_bytes));
    set(retention, "rest_owners", owners_json(r->rest_owner_bytes));
    set(retention, "shared_graphs", bytes(r->shared.graphs));
    set(retention, "shared_nodes", bytes(r->shared.nodes));
    set(retention, "rest_graphs", bytes(r->rest.graphs));
    set(retention, "rest_nodes", bytes(r->rest.nodes));
    for (int i = 0; i < r->shared_root_count; i++) {
        char name[GV_LABEL_MAX];
        gv_root_name(report, r->shared_roots[i], name, sizeof(name));
        append(sharers, json_string(name));
    }
    set(retention, "shared_by", sharers);
    return retention;
}

static json_t *holders_json(const struct gv_report *report, uint32_t limit)
{
    json_t *holders = json_array();
    for (uint32_t i = 0; i < report->holders.count && i < limit; i++) {
        const struct gv_tally_row *row = &report->holders.rows[i];
        json_t *holder = json_object();
        set(holder, "class", json_string(gv_owner_key((enum gv_owner)row->key[0])));
        set(holder, "label", text_or_null(gv_name(&report->names, row->key[1])));
        set_place(holder, gv_site_place(report->sites, row->key[2]));
        set(holder, "count", bytes(row->count));
        set(holder, "bytes", bytes(row->bytes));
        append(holders, holder);
    }
    return holders;
}

static json_t *stack_json(const struct gv_report *report, uint32_t stack_id)
{
    struct gv_place places[STACK_PLACES];
    int count = 0;
    json_t *stack = json_array();
    if (gv_stack_places(report->sites, stack_id, places, STACK_PLACES, &count) < 0)
        return stack;
    for (int i = 0; i < count; i++) {
        json_t *frame = json_object();
        set_place(frame, &places[i]);
        set(frame, "module", text_or_null(places[i].module));
        append(stack, frame);
    }
    return stack;
}

static json_t *failures_json(const struct gv_report *report, uint32_t limit)
{
    json_t *failures = json_array();
    for (uint32_t i = 0; i < report->run.failure_count && i < limit; i++) {
        const struct gv_failure *f = &report->run.failures[i];
        const struct gv_place *place = gv_report_place(report, f->stack_id);
        char scope[GV_LABEL_MAX];
        json_t *failure = json_object();
        gv_scope_path(&report->names, f->scope_id, scope, sizeof(scope));
        set(failure, "asked_bytes", bytes(f->asked_bytes));
        set(failure, "api", text_or_null(gv_name(&report->names, f->api_id)));
        set(failure, "step", known_or_null(f->step_id != 0, f->step_id));
        set(failure, "error", bytes(f->error));
        set(failure, "device", bytes(f->device_id));
        set(failure, "live_bytes", bytes(f->live_bytes));
        set(failure, "limit_bytes", known_or_null(f->limit_bytes != 0, f->limit_bytes));
        set(failure, "scope", text_or_null(scope[0] ? scope : NULL));
        set(failure, "seq", json_integer(f->seq));
        set(failure, "t_ns", bytes(f->t_ns));
        set_place(failure, place);
        set_source(failure, report, place);
        set(failure, "stack", stack_json(report, f->stack_id));
        append(failures, failure);
    }
    return failures;
}

static json_t *steps_json(const struct gv_report *report)
{
    json_t *steps = json_array();
    for (uint32_t i = 0; i < report->run.step_count; i++) {
        const struct gv_step *s = &report->run.steps[i];
        json_t *step = json_object();
        set(step, "id", bytes(s->id));
        set(step, "parent", known_or_null(s->parent_id != 0, s->parent_id));
        set(step, "label", text_or_null(gv_name(&report->names, s->label_id)));
        set(step, "completed", json_boolean(s->completed));
        set(step, "begin_bytes", bytes(s->begin_bytes));
        set(step, "end_bytes", known_or_null(s->completed, s->end_bytes));
        set(step, "peak_bytes", bytes(s->peak_bytes));
        set(step, "begin_nodes", bytes(s->begin_nodes));
        set(step, "end_nodes", known_or_null(s->completed, s->end_nodes));
        set(step, "begin_ns", bytes(s->begin_ns));
        set(step, "end_ns", known_or_null(s->completed, s->end_ns));
        append(steps, step);
    }
    return steps;
}

static json_t *finding_json(const struct gv_finding *f)
{
    json_t *finding = json_object(), *path = json_array();
    if (f->root[0])
        append(path, json_string(f->root));
    for (uint32_t i = 0; i < f->path_length; i++)
        append(path, json_string(f->path[i]));
    set(finding, "class", json_string(gv_class_name(f->class)));
    set(finding, "root", text_or_null(f->root[0] ? f->root : NULL));
    set(finding, "also", text_or_null(f->also[0] ? f->also : NULL));
    set(finding, "handles", bytes(f->handles));
    set_place(finding, &f->place);
    set(finding, "source", text_or_null(f->source[0] ? f->source : NULL));
    set(finding, "bytes_per_step", bytes(f->bytes_per_step));
    set(finding, "nodes_per_step", bytes(f->nodes_per_step));
    set(finding, "held_bytes", bytes(f->held_bytes));
    set(finding, "held_nodes", bytes(f->held_nodes));
    set(finding, "since_step", known_or_null(f->since_step != 0, f->since_step));
    set(finding, "steps", bytes(f->steps));
    set(finding, "period_steps", known_or_null(f->period_steps != 0, f->period_steps));
    set(finding, "fails_in_step", known_or_null(f->fails_in_step != 0, f->fails_in_step));
    set(finding, "capacity_bytes", known_or_null(f->capacity_bytes != 0, f->capacity_bytes));
    set(finding, "path", path);
    set(finding, "cut", json_string(f->cut));
    set(finding, "frees_bytes", bytes(f->frees_bytes));
    set(finding, "advice", json_string(f->advice));
    set(finding, "evidence", json_string(gv_evidence_text(f)));
    set(finding, "certainty", json_string(gv_certainty_name(f->certainty)));
    set(finding, "gate",
        json_string(gv_finding_fails(f, false)  ? "fail"
                    : gv_finding_fails(f, true) ? "strict"
                                                : "pass"));
    set(finding, "fingerprint", json_string(f->fingerprint));
    return finding;
}

static json_t *leaks_json(const struct gv_report *report, bool notes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->leaks.count; i++)
        if (report->leaks.findings[i].expected == notes)
            append(list, finding_json(&report->leaks.findings[i]));
    return list;
}

static json_t *judged_json(const struct gv_report *report)
{
    json_t *judged = json_object();
    uint32_t findings = report->leaks.count - report->leaks.notes;
    set(judged, "steps", bytes(report->leaks.steps));
    set(judged, "enough_steps", json_boolean(report->leaks.can_judge));
    set(judged, "verdict",
        findings                  ? json_string("FINDINGS")
        : report->leaks.can_judge ? json_string("CLEAN")
                                  : json_string("CANNOT-JUDGE"));
    return judged;
}

static json_t *problems_json(const struct gv_report *report)
{
    json_t *problems = json_array();
    for (uint32_t i = 0; i < report->problem_count; i++)
        append(problems, json_string(report->problems[i].text));
    return problems;
}

static json_t *attribution_json(const struct gv_report *report)
{
    const struct gv_account *account = &report->chosen;
    json_t *attribution = json_object();
    set(attribution, "percent", json_real(account->attributed_percent));
    set(attribution, "unattributed_bytes", bytes(account->owner_bytes[GV_OWNER_UNATTRIBUTED]));
    set(attribution, "level", json_string(gv_report_level(report)));
    return attribution;
}

int gv_json_print(const struct gv_report *report, FILE *out, uint32_t limit)
{
    json_t *document = json_object();
    uint32_t rows = limit ? limit : DEFAULT_LIMIT;
    lost = false;
    set(document, "schema", json_integer(JSON_SCHEMA));
    set(document, "run", run_json(report));
    set(document, "attribution", attribution_json(report));
    set(document, "moment", account_json(&report->chosen));
    set(document, "peak", account_json(&report->peak));
    set(document, "end", account_json(&report->end));
    set(document, "retention", retention_json(report));
    set(document, "graph", graph_json(report, rows));
    set(document, "nodes", slots_json(report, rows));
    set(document, "roots", roots_json(report, rows));
    set(document, "roots_total", bytes(report->roots.count));
    set(document, "holders", holders_json(report, rows));
    set(document, "failures", failures_json(report, rows));
    set(document, "steps", steps_json(report));
    set(document, "judged", judged_json(report));
    set(document, "findings", leaks_json(report, false));
    set(document, "notes", leaks_json(report, true));
    set(document, "problems", problems_json(report));
    int r = lost ? -ENOMEM : 0;
    if (r == 0 && json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) < 0)
        r = -EIO;
    json_decref(document);
    if (r == 0)
        fputc('\n', out);
    return r;
}
