/* SPDX-License-Identifier: MIT */
/* The result of a check as JSON, and as SARIF 2.1.0 for code-scanning services. */
#include <stdio.h>
#include <string.h>

#include "viewer/check.h"
#include "viewer/json_build.h"

static json_t *item_json(const struct gv_check_item *item)
{
    json_t *object = json_object();
    gv_json_set(object, "rule", json_string(item->rule));
    gv_json_set(object, "outcome", json_string(gv_outcome_name(item->outcome)));
    gv_json_set(object, "text", json_string(item->text));
    if (!item->is_finding)
        return object;
    gv_json_set(object, "class", json_string(gv_class_name(item->finding.class)));
    gv_json_set(object, "root", gv_json_text(item->finding.root[0] ? item->finding.root : NULL));
    gv_json_set(object, "file", gv_json_text(item->file));
    gv_json_set(object, "line",
                gv_json_known(item->finding.place.line != 0, item->finding.place.line));
    gv_json_set(object, "fingerprint", json_string(item->finding.fingerprint));
    return object;
}

int gv_check_json(const struct gv_check *check, FILE *out)
{
    static const char *const results[] = {"pass", "fail", "", "cannot-judge"};
    char summary[1024];
    json_t *document = json_object(), *runs = json_array();
    gv_json_start();
    gv_check_summary(check, summary, sizeof(summary));
    gv_json_set(document, "schema", json_integer(GV_JSON_SCHEMA));
    gv_json_set(document, "result", json_string(results[gv_check_status(check)]));
    gv_json_set(document, "exit_status", json_integer(gv_check_status(check)));
    gv_json_set(document, "summary", json_string(summary));
    for (uint32_t i = 0; i < check->count; i++) {
        json_t *run = json_object(), *items = json_array();
        for (uint32_t k = 0; k < check->runs[i].count; k++)
            gv_json_append(items, item_json(&check->runs[i].items[k]));
        gv_json_set(run, "database", json_string(check->runs[i].path));
        gv_json_set(run, "program", json_string(check->runs[i].program));
        gv_json_set(run, "peak_bytes", gv_json_bytes(check->runs[i].peak_bytes));
        gv_json_set(run, "items", items);
        gv_json_append(runs, run);
    }
    gv_json_set(document, "runs", runs);
    return gv_json_finish(document, out);
}

static json_t *message(const char *text)
{
    json_t *object = json_object();
    gv_json_set(object, "text", json_string(text));
    return object;
}

/* A path as the path part of a URI: RFC 3986's unreserved characters and "/" stay. */
static json_t *uri(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char text[4096] = "";
    size_t used = path[0] == '/' ? (size_t)snprintf(text, sizeof(text), "file://") : 0;
    for (const char *c = path; *c && used + 4 < sizeof(text); c++) {
        bool is_plain = strchr(plain, *c);
        used += (size_t)snprintf(text + used, sizeof(text) - used, is_plain ? "%c" : "%%%02X",
                                 is_plain ? *c : (unsigned char)*c);
    }
    return json_string(text);
}

static json_t *location(const struct gv_check_item *item)
{
    json_t *object = json_object(), *physical = json_object(), *artifact = json_object();
    gv_json_set(artifact, "uri", uri(item->file));
    gv_json_set(physical, "artifactLocation", artifact);
    if (item->finding.place.line) {
        json_t *region = json_object();
        gv_json_set(region, "startLine", gv_json_bytes(item->finding.place.line));
        if (item->finding.source[0])
            gv_json_set(region, "snippet", message(item->finding.source));
        gv_json_set(physical, "region", region);
    }
    gv_json_set(object, "physicalLocation", physical);
    return object;
}

static json_t *suppressions(const struct gv_check_item *item)
{
    json_t *list = json_array(), *one = json_object();
    gv_json_set(one, "kind", json_string("external"));
    gv_json_set(one, "justification", json_string(item->text));
    gv_json_append(list, one);
    return list;
}

static json_t *result_json(const struct gv_check_item *item)
{
    char text[2048];
    json_t *result = json_object(), *locations = json_array();
    snprintf(text, sizeof(text), "%s%s%s", item->text, item->is_finding ? ". " : "",
             item->is_finding ? item->finding.advice : "");
    gv_json_set(result, "ruleId",
                json_string(item->is_finding ? gv_class_name(item->finding.class) : item->rule));
    gv_json_set(result, "level",
                json_string(item->outcome == GV_FAILED ? "error"
                            : item->outcome == GV_CANNOT_JUDGE || item->outcome == GV_WARNED
                                ? "warning"
                                : "note"));
    gv_json_set(result, "message", message(text));
    if (item->file)
        gv_json_append(locations, location(item));
    gv_json_set(result, "locations", locations);
    if (item->is_finding) {
        json_t *prints = json_object();
        gv_json_set(prints, "gradprof/v1", json_string(item->finding.fingerprint));
        gv_json_set(result, "partialFingerprints", prints);
    }
    if (item->outcome == GV_ALLOWED || item->outcome == GV_KNOWN)
        gv_json_set(result, "suppressions", suppressions(item));
    return result;
}

static json_t *rules_json(const struct gv_check_run *run)
{
    json_t *rules = json_array();
    const char *seen[64];
    size_t count = 0;
    for (uint32_t k = 0; k < run->count; k++) {
        const struct gv_check_item *item = &run->items[k];
        const char *id = item->is_finding ? gv_class_name(item->finding.class) : item->rule;
        bool known = item->outcome == GV_PASSED;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(seen[i], id) == 0;
        if (known || count == 64)
            continue;
        seen[count++] = id;
        json_t *rule = json_object();
        gv_json_set(rule, "id", json_string(id));
        gv_json_append(rules, rule);
    }
    return rules;
}

static json_t *run_json(const struct gv_check_run *run, const char *version)
{
    json_t *object = json_object(), *tool = json_object(), *driver = json_object();
    json_t *results = json_array();
    gv_json_set(driver, "name", json_string("gradprof-report"));
    gv_json_set(driver, "version", json_string(version));
    gv_json_set(driver, "rules", rules_json(run));
    gv_json_set(tool, "driver", driver);
    for (uint32_t k = 0; k < run->count; k++)
        if (run->items[k].outcome != GV_PASSED)
            gv_json_append(results, result_json(&run->items[k]));
    gv_json_set(object, "tool", tool);
    gv_json_set(object, "results", results);
    return object;
}

int gv_check_sarif(const struct gv_check *check, const char *version, FILE *out)
{
    json_t *document = json_object(), *runs = json_array();
    gv_json_start();
    gv_json_set(document, "$schema",
                json_string("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                            "sarif-schema-2.1.0.json"));
    gv_json_set(document, "version", json_string("2.1.0"));
    for (uint32_t i = 0; i < check->count; i++)
        gv_json_append(runs, run_json(&check->runs[i], version));
    gv_json_set(document, "runs", runs);
    return gv_json_finish(document, out);
}
