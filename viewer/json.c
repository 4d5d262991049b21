/* SPDX-License-Identifier: MIT */
/* The JSON contract: fields are only ever added within a schema number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/json_build.h"
#include "viewer/pieces.h"
#include "viewer/source.h"
#include "viewer/text_reports.h"

#define DEFAULT_LIMIT 1000 /* rows of each list */
#define STACK_PLACES 24

static json_t *owners_json(const uint64_t owner_bytes[GV_OWNER_COUNT])
{
    json_t *owners = json_array();
    for (int i = 0; i < GV_OWNER_COUNT; i++) {
        if (owner_bytes[i] == 0)
            continue;
        json_t *owner = json_object();
        gv_json_set(owner, "class", json_string(gv_owner_key((enum gv_owner)i)));
        gv_json_set(owner, "bytes", gv_json_bytes(owner_bytes[i]));
        gv_json_append(owners, owner);
    }
    return owners;
}

static json_t *account_json(const struct gv_account *account)
{
    char name[64];
    json_t *object = json_object();
    const struct gv_moment *moment = &account->moment;
    gv_json_set(object, "moment", json_string(gv_moment_name(moment, name, sizeof(name))));
    gv_json_set(object, "seq", json_integer(moment->seq));
    gv_json_set(object, "t_ns", gv_json_known(moment->t_ns >= 0, (uint64_t)moment->t_ns));
    gv_json_set(object, "step", gv_json_known(moment->step != 0, moment->step));
    gv_json_set(object, "bytes", gv_json_bytes(account->bytes));
    gv_json_set(object, "allocations", gv_json_bytes(account->allocations));
    gv_json_set(object, "attributed_percent", json_real(account->attributed_percent));
    gv_json_set(object, "unattributed_bytes",
                gv_json_bytes(account->owner_bytes[GV_OWNER_UNATTRIBUTED]));
    gv_json_set(object, "pinned_host_bytes", gv_json_bytes(account->pinned_bytes));
    gv_json_set(object, "owners", owners_json(account->owner_bytes));
    return object;
}

static json_t *reading_json(const struct gv_device_account *account,
                            const struct gv_account_row *row)
{
    json_t *object = json_object();
    gv_json_set(object, "seq", json_integer(row->seq));
    gv_json_set(object, "t_ns", gv_json_bytes(row->t_ns));
    gv_json_set(object, "used_bytes", gv_json_bytes(row->used));
    gv_json_set(object, "context_bytes", gv_json_bytes(account->context_bytes));
    gv_json_set(object, "allocation_bytes", gv_json_bytes(row->allocations));
    gv_json_set(object, "pool_slack_bytes", gv_json_bytes(row->pool_slack));
    gv_json_set(object, "graph_slack_bytes", gv_json_bytes(row->graph_slack));
    gv_json_set(object, "other_bytes", gv_json_known(account->others_known, row->others));
    gv_json_set(object, "unexplained_bytes", json_integer(row->unexplained));
    return object;
}

/* The device's own account; null: it was never read. */
static json_t *device_account_json(const struct gv_report *report, uint32_t device_id)
{
    for (uint32_t i = 0; i < report->accounts.count; i++) {
        const struct gv_device_account *account = &report->accounts.devices[i];
        if (account->device_id != device_id)
            continue;
        json_t *object = json_object();
        for (int r = 0; r < GV_READING_COUNT; r++)
            gv_json_set(object, gv_reading_key((enum gv_reading)r),
                        account->rows[r].read ? reading_json(account, &account->rows[r])
                                              : json_null());
        return object;
    }
    return json_null();
}

static json_t *devices_json(const struct gv_report *report)
{
    static const char *const runtimes[] = {"unknown", "cudart", "hostcuda", "cpu", "driver"};
    json_t *devices = json_array();
    for (uint32_t i = 0; i < report->run.device_count; i++) {
        const struct gv_device *d = &report->run.devices[i];
        json_t *device = json_object();
        gv_json_set(device, "id", gv_json_bytes(d->id));
        gv_json_set(device, "name", gv_json_text(gv_name(&report->names, d->name_id)));
        gv_json_set(device, "runtime", json_string(runtimes[d->runtime < 5 ? d->runtime : 0]));
        gv_json_set(device, "total_bytes", gv_json_known(d->total_bytes != 0, d->total_bytes));
        gv_json_set(device, "limit_bytes", gv_json_known(d->limit_bytes != 0, d->limit_bytes));
        gv_json_set(device, "context_bytes",
                    gv_json_known(d->context_bytes >= 0, (uint64_t)d->context_bytes));
        gv_json_set(device, "peak_bytes", gv_json_bytes(d->peak_bytes));
        gv_json_set(device, "account", device_account_json(report, d->id));
        gv_json_append(devices, device);
    }
    return devices;
}

static json_t *run_json(const struct gv_report *report)
{
    json_t *run = json_object(), *meta = json_object(), *counters = json_object();
    const struct gp_recover_result *recovered = &report->recovered;
    gv_json_set(run, "database", json_string(report->query.path));
    gv_json_set(run, "program", gv_json_text(gv_meta_text(&report->run, "argv")));
    int64_t last_ns = gv_meta_integer(&report->run, "last_ns", -1);
    gv_json_set(run, "duration_ns", gv_json_known(last_ns >= 0, (uint64_t)last_ns));
    gv_json_set(run, "steps", gv_json_bytes(report->run.step_count));
    gv_json_set(run, "completed_steps", gv_json_bytes(report->run.completed_steps));
    gv_json_set(run, "children", gv_json_bytes(report->run.child_count));
    gv_json_set(run, "still_running", json_boolean(recovered->still_running));
    gv_json_set(run, "clean_exit",
                json_boolean(gv_meta_integer(&report->run, "clean_exit", 0) != 0));
    gv_json_set(run, "imported_events", gv_json_bytes(recovered->imported_events));
    gv_json_set(run, "lost_events", gv_json_bytes(recovered->lost));
    gv_json_set(run, "devices", devices_json(report));
    for (uint32_t i = 0; i < report->run.meta_count; i++)
        gv_json_set(meta, report->run.meta[i].key, json_string(report->run.meta[i].value));
    for (uint32_t i = 0; i < report->run.counter_count; i++)
        gv_json_set(counters, report->run.counters[i].name,
                    json_integer(report->run.counters[i].value));
    gv_json_set(run, "meta", meta);
    gv_json_set(run, "counters", counters);
    return run;
}

static void set_place(json_t *object, const struct gv_place *place)
{
    gv_json_set(object, "function", gv_json_text(place ? place->function : NULL));
    gv_json_set(object, "file", gv_json_text(place ? place->file : NULL));
    gv_json_set(object, "line", gv_json_known(place && place->line, place ? place->line : 0));
}

static void set_source(json_t *object, const struct gv_report *report, const struct gv_place *place)
{
    char source[256];
    gv_source_line(place ? place->file : NULL, place ? place->line : 0, report->run_end_unix_ns,
                   source, sizeof(source));
    gv_json_set(object, "source", gv_json_text(source[0] ? source : NULL));
}

static json_t *slots_json(const struct gv_report *report, uint32_t limit)
{
    json_t *slots = json_array();
    for (uint32_t i = 0; i < report->slots.count && i < limit; i++) {
        const struct gv_tally_row *row = &report->slots.rows[i];
        json_t *slot = json_object();
        gv_json_set(slot, "op", gv_json_text(gv_name(&report->names, row->key[0])));
        gv_json_set(slot, "slot", gv_json_text(gv_name(&report->names, row->key[1])));
        gv_json_set(slot, "count", gv_json_bytes(row->count));
        gv_json_set(slot, "bytes", gv_json_bytes(row->bytes));
        gv_json_set(slot, "own_bytes", gv_json_bytes(report->slot_first_bytes[row->value]));
        gv_json_append(slots, slot);
    }
    return slots;
}

static json_t *graph_json(const struct gv_report *report, uint32_t limit)
{
    json_t *graph = json_object(), *ops = json_array();
    gv_json_set(graph, "nodes", gv_json_bytes(report->retention.live_nodes));
    for (uint32_t i = 0; i < report->ops.count && i < limit; i++) {
        json_t *op = json_object();
        gv_json_set(op, "op", gv_json_text(gv_name(&report->names, report->ops.rows[i].key[0])));
        gv_json_set(op, "nodes", gv_json_bytes(report->ops.rows[i].count));
        gv_json_append(ops, op);
    }
    gv_json_set(graph, "ops", ops);
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
        gv_json_append(
            nodes, gv_json_text(gv_name(&report->names, report->rows.nodes[path.nodes[i]].op_id)));
    gv_json_set(object, "nodes", nodes);
    gv_json_set(object, "length", gv_json_bytes(path.length));
    gv_json_set(object, "slot", gv_json_text(gv_name(&report->names, path.slot_id)));
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
        gv_json_set(group, "op", gv_json_text(gv_name(&report->names, row->key[1])));
        gv_json_set(group, "slot", gv_json_text(gv_name(&report->names, row->key[2])));
        gv_json_set(group, "count", gv_json_bytes(row->count));
        gv_json_set(group, "bytes", gv_json_bytes(row->bytes));
        gv_json_append(groups, group);
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
        gv_json_set(root, "name", json_string(title));
    } else {
        gv_json_set(root, "name", gv_json_text(gv_name(&report->names, r->name_id)));
    }
    set_place(root, place);
    set_source(root, report, place);
    gv_json_set(root, "handles", gv_json_bytes(r->handles));
    gv_json_set(root, "tensors", gv_json_bytes(r->tensors));
    gv_json_set(root, "retained_bytes", gv_json_bytes(r->retained_bytes));
    gv_json_set(root, "own_bytes", gv_json_bytes(r->own_bytes));
    gv_json_set(root, "detach_frees_bytes", gv_json_bytes(r->detach_bytes));
    gv_json_set(root, "graphs", gv_json_bytes(r->kept.graphs));
    gv_json_set(root, "nodes", gv_json_bytes(r->kept.nodes));
    gv_json_set(root, "first_step", gv_json_known(r->kept.first_step != 0, r->kept.first_step));
    gv_json_set(root, "last_step", gv_json_known(r->kept.last_step != 0, r->kept.last_step));
    gv_json_set(root, "keeps_old_graphs", json_boolean(gv_keeps_old_graphs(report, r)));
    if (with_groups) {
        json_t *path;
        gv_json_set(root, "saved", groups_json(report, index, &path));
        gv_json_set(root, "path", path ? path : json_null());
    }
    return root;
}

static json_t *roots_json(const struct gv_report *report, uint32_t limit)
{
    json_t *roots = json_array();
    for (uint32_t i = 0; i < report->roots.count && i < limit; i++)
        gv_json_append(roots, root_json(report, report->root_order[i], i < ROOTS_WITH_GROUPS));
    return roots;
}

static json_t *retention_json(const struct gv_report *report)
{
    const struct gv_retention *r = &report->retention;
    json_t *retention = json_object(), *sharers = json_array();
    gv_json_set(retention, "live_bytes", gv_json_bytes(r->live_bytes));
    gv_json_set(retention, "retained_bytes", gv_json_bytes(r->retained_bytes));
    gv_json_set(retention, "shared_bytes", gv_json_bytes(r->shared_bytes));
    gv_json_set(retention, "rest_bytes", gv_json_bytes(r->rest_bytes));
    gv_json_set(retention, "shared_owners", owners_json(r->shared_owner_bytes));
    gv_json_set(retention, "rest_owners", owners_json(r->rest_owner_bytes));
    gv_json_set(retention, "shared_graphs", gv_json_bytes(r->shared.graphs));
    gv_json_set(retention, "shared_nodes", gv_json_bytes(r->shared.nodes));
    gv_json_set(retention, "rest_graphs", gv_json_bytes(r->rest.graphs));
    gv_json_set(retention, "rest_nodes", gv_json_bytes(r->rest.nodes));
    for (int i = 0; i < r->shared_root_count; i++) {
        char name[GV_LABEL_MAX];
        gv_root_name(report, r->shared_roots[i], name, sizeof(name));
        gv_json_append(sharers, json_string(name));
    }
    gv_json_set(retention, "shared_by", sharers);
    return retention;
}

static json_t *holders_json(const struct gv_report *report, uint32_t limit)
{
    json_t *holders = json_array();
    for (uint32_t i = 0; i < report->holders.count && i < limit; i++) {
        const struct gv_tally_row *row = &report->holders.rows[i];
        json_t *holder = json_object();
        gv_json_set(holder, "class", json_string(gv_owner_key((enum gv_owner)row->key[0])));
        gv_json_set(holder, "label", gv_json_text(gv_name(&report->names, row->key[1])));
        set_place(holder, gv_site_place(report->sites, row->key[2]));
        gv_json_set(holder, "count", gv_json_bytes(row->count));
        gv_json_set(holder, "bytes", gv_json_bytes(row->bytes));
        gv_json_append(holders, holder);
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
        gv_json_set(frame, "module", gv_json_text(places[i].module));
        gv_json_append(stack, frame);
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
        gv_json_set(failure, "asked_bytes", gv_json_bytes(f->asked_bytes));
        gv_json_set(failure, "api", gv_json_text(gv_name(&report->names, f->api_id)));
        gv_json_set(failure, "step", gv_json_known(f->step_id != 0, f->step_id));
        gv_json_set(failure, "error", gv_json_bytes(f->error));
        gv_json_set(failure, "device", gv_json_bytes(f->device_id));
        gv_json_set(failure, "live_bytes", gv_json_bytes(f->live_bytes));
        gv_json_set(failure, "limit_bytes", gv_json_known(f->limit_bytes != 0, f->limit_bytes));
        gv_json_set(failure, "scope", gv_json_text(scope[0] ? scope : NULL));
        gv_json_set(failure, "seq", json_integer(f->seq));
        gv_json_set(failure, "t_ns", gv_json_bytes(f->t_ns));
        set_place(failure, place);
        set_source(failure, report, place);
        gv_json_set(failure, "stack", stack_json(report, f->stack_id));
        gv_json_append(failures, failure);
    }
    return failures;
}

static json_t *steps_json(const struct gv_report *report)
{
    json_t *steps = json_array();
    for (uint32_t i = 0; i < report->run.step_count; i++) {
        const struct gv_step *s = &report->run.steps[i];
        json_t *step = json_object();
        gv_json_set(step, "id", gv_json_bytes(s->id));
        gv_json_set(step, "parent", gv_json_known(s->parent_id != 0, s->parent_id));
        gv_json_set(step, "label", gv_json_text(gv_name(&report->names, s->label_id)));
        gv_json_set(step, "completed", json_boolean(s->completed));
        gv_json_set(step, "begin_bytes", gv_json_bytes(s->begin_bytes));
        gv_json_set(step, "end_bytes", gv_json_known(s->completed, s->end_bytes));
        gv_json_set(step, "peak_bytes", gv_json_bytes(s->peak_bytes));
        gv_json_set(step, "begin_nodes", gv_json_bytes(s->begin_nodes));
        gv_json_set(step, "end_nodes", gv_json_known(s->completed, s->end_nodes));
        gv_json_set(step, "begin_ns", gv_json_bytes(s->begin_ns));
        gv_json_set(step, "end_ns", gv_json_known(s->completed, s->end_ns));
        gv_json_append(steps, step);
    }
    return steps;
}

static json_t *finding_json(const struct gv_finding *f)
{
    json_t *finding = json_object(), *path = json_array();
    if (f->root[0])
        gv_json_append(path, json_string(f->root));
    for (uint32_t i = 0; i < f->path_length; i++)
        gv_json_append(path, json_string(f->path[i]));
    gv_json_set(finding, "class", json_string(gv_class_name(f->class)));
    gv_json_set(finding, "root", gv_json_text(f->root[0] ? f->root : NULL));
    gv_json_set(finding, "also", gv_json_text(f->also[0] ? f->also : NULL));
    gv_json_set(finding, "handles", gv_json_bytes(f->handles));
    set_place(finding, &f->place);
    gv_json_set(finding, "source", gv_json_text(f->source[0] ? f->source : NULL));
    gv_json_set(finding, "bytes_per_step", gv_json_bytes(f->bytes_per_step));
    gv_json_set(finding, "nodes_per_step", gv_json_bytes(f->nodes_per_step));
    gv_json_set(finding, "held_bytes", gv_json_bytes(f->held_bytes));
    gv_json_set(finding, "held_nodes", gv_json_bytes(f->held_nodes));
    gv_json_set(finding, "since_step", gv_json_known(f->since_step != 0, f->since_step));
    gv_json_set(finding, "steps", gv_json_bytes(f->steps));
    gv_json_set(finding, "period_steps", gv_json_known(f->period_steps != 0, f->period_steps));
    gv_json_set(finding, "fails_in_step", gv_json_known(f->fails_in_step != 0, f->fails_in_step));
    gv_json_set(finding, "capacity_bytes",
                gv_json_known(f->capacity_bytes != 0, f->capacity_bytes));
    gv_json_set(finding, "path", path);
    gv_json_set(finding, "cut", json_string(f->cut));
    gv_json_set(finding, "frees_bytes", gv_json_bytes(f->frees_bytes));
    gv_json_set(finding, "advice", json_string(f->advice));
    gv_json_set(finding, "evidence", json_string(gv_evidence_text(f)));
    gv_json_set(finding, "certainty", json_string(gv_certainty_name(f->certainty)));
    gv_json_set(finding, "gate",
                json_string(gv_finding_fails(f, false)  ? "fail"
                            : gv_finding_fails(f, true) ? "strict"
                                                        : "pass"));
    gv_json_set(finding, "fingerprint", json_string(f->fingerprint));
    return finding;
}

static json_t *leaks_json(const struct gv_report *report, bool notes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < report->leaks.count; i++)
        if (report->leaks.findings[i].expected == notes)
            gv_json_append(list, finding_json(&report->leaks.findings[i]));
    return list;
}

static json_t *judged_json(const struct gv_report *report)
{
    json_t *judged = json_object();
    uint32_t findings = report->leaks.count - report->leaks.notes;
    gv_json_set(judged, "steps", gv_json_bytes(report->leaks.steps));
    gv_json_set(judged, "enough_steps", json_boolean(report->leaks.can_judge));
    gv_json_set(judged, "verdict",
                findings                  ? json_string("FINDINGS")
                : report->leaks.can_judge ? json_string("CLEAN")
                                          : json_string("CANNOT-JUDGE"));
    return judged;
}

static json_t *problems_json(const struct gv_report *report)
{
    json_t *problems = json_array();
    for (uint32_t i = 0; i < report->problem_count; i++)
        gv_json_append(problems, json_string(report->problems[i].text));
    return problems;
}

static json_t *attribution_json(const struct gv_report *report)
{
    const struct gv_account *account = &report->chosen;
    json_t *attribution = json_object();
    gv_json_set(attribution, "percent", json_real(account->attributed_percent));
    gv_json_set(attribution, "unattributed_bytes",
                gv_json_bytes(account->owner_bytes[GV_OWNER_UNATTRIBUTED]));
    gv_json_set(attribution, "level", json_string(gv_report_level(report)));
    return attribution;
}

int gv_json_print(const struct gv_report *report, FILE *out, uint32_t limit)
{
    json_t *document = json_object();
    uint32_t rows = limit ? limit : DEFAULT_LIMIT;
    gv_json_start();
    gv_json_set(document, "schema", json_integer(GV_JSON_SCHEMA));
    gv_json_set(document, "run", run_json(report));
    gv_json_set(document, "attribution", attribution_json(report));
    gv_json_set(document, "moment", account_json(&report->chosen));
    gv_json_set(document, "peak", account_json(&report->peak));
    gv_json_set(document, "end", account_json(&report->end));
    gv_json_set(document, "retention", retention_json(report));
    gv_json_set(document, "graph", graph_json(report, rows));
    gv_json_set(document, "nodes", slots_json(report, rows));
    gv_json_set(document, "roots", roots_json(report, rows));
    gv_json_set(document, "roots_total", gv_json_bytes(report->roots.count));
    gv_json_set(document, "holders", holders_json(report, rows));
    gv_json_set(document, "failures", failures_json(report, rows));
    gv_json_set(document, "steps", steps_json(report));
    gv_json_set(document, "judged", judged_json(report));
    gv_json_set(document, "findings", leaks_json(report, false));
    gv_json_set(document, "notes", leaks_json(report, true));
    gv_json_set(document, "problems", problems_json(report));
    return gv_json_finish(document, out);
}
