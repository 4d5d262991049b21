/* SPDX-License-Identifier: MIT */
/* The result of a check for people, for GitHub's log, and as JUnit XML. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "viewer/check.h"
#include "viewer/names.h"
#include "viewer/text.h"

static int end(FILE *out)
{
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

int gv_check_text(const struct gv_check *check, FILE *out, bool color)
{
    static const char *const marks[] = {"pass   ", "FAIL   ", "note   ",
                                        "allowed", "known  ", "UNSURE "};
    struct gv_text text = {out, color};
    char summary[1024];
    for (uint32_t i = 0; i < check->count; i++) {
        const struct gv_check_run *run = &check->runs[i];
        gv_line(&text, GV_DIM, "%s  %s", run->program, run->path);
        for (uint32_t k = 0; k < run->count; k++) {
            const struct gv_check_item *item = &run->items[k];
            gv_field(&text, marks[item->outcome], "%s", item->text);
            if (item->outcome == GV_FAILED && item->is_finding) {
                gv_field(&text, "", "%s", item->finding.advice);
                gv_field(&text, "", "fingerprint %s", item->finding.fingerprint);
            }
        }
    }
    gv_check_summary(check, summary, sizeof(summary));
    int status = gv_check_status(check);
    enum gv_style style = status == 0 ? GV_GREEN : status == 1 ? GV_RED : GV_BOLD;
    gv_line(&text, style, "%s", summary);
    return end(out);
}

/* Workflow commands: % and line ends are escaped, in properties : and , too. */
static void put_escaped(FILE *out, const char *text, bool property)
{
    for (const char *c = text; *c; c++) {
        if (*c == '%' || *c == '\r' || *c == '\n' || (property && (*c == ':' || *c == ',')))
            fprintf(out, "%%%02X", (unsigned char)*c);
        else
            fputc(*c, out);
    }
}

static void annotate(FILE *out, const struct gv_check_item *item)
{
    const char *kind = item->outcome == GV_FAILED                                       ? "error"
                       : item->outcome == GV_CANNOT_JUDGE || item->outcome == GV_WARNED ? "warning"
                                                                                        : "notice";
    fprintf(out, "::%s ", kind);
    if (item->file) {
        fputs("file=", out);
        put_escaped(out, item->file, true);
        fprintf(out, ",line=%" PRIu32 ",", item->finding.place.line);
    }
    fputs("title=", out);
    put_escaped(out, item->is_finding ? gv_class_name(item->finding.class) : item->rule, true);
    fputs("::", out);
    put_escaped(out, item->text, false);
    if (item->is_finding) {
        fputs(" ", out);
        put_escaped(out, item->finding.advice, false);
    }
    fputc('\n', out);
}

int gv_check_github(const struct gv_check *check, FILE *out)
{
    for (uint32_t i = 0; i < check->count; i++)
        for (uint32_t k = 0; k < check->runs[i].count; k++)
            if (check->runs[i].items[k].outcome != GV_PASSED)
                annotate(out, &check->runs[i].items[k]);
    return end(out);
}

/* Valid UTF-8, and of the control characters only those that XML may have. */
static void put_xml(FILE *out, const char *text)
{
    char *clean = gv_clean(text);
    for (const char *c = clean ? clean : ""; *c; c++) {
        if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '&')
            fputs("&amp;", out);
        else if (*c == '"')
            fputs("&quot;", out);
        else
            fputc((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t' ? '?' : *c, out);
    }
    free(clean);
}

static void put_case(FILE *out, const struct gv_check_item *item)
{
    fputs("    <testcase classname=\"gradprof\" name=\"", out);
    put_xml(out, item->rule);
    if (item->is_finding) {
        fputs(" ", out);
        put_xml(out, gv_class_name(item->finding.class));
        fputs(" ", out);
        put_xml(out, item->finding.root[0] ? item->finding.root : item->finding.fingerprint);
    }
    fputs("\"", out);
    if (item->file) {
        fputs(" file=\"", out);
        put_xml(out, item->file);
        fprintf(out, "\" line=\"%" PRIu32 "\"", item->finding.place.line);
    }
    if (item->outcome == GV_PASSED || item->outcome == GV_WARNED) {
        fputs("/>\n", out);
        return;
    }
    const char *kind = item->outcome == GV_FAILED         ? "failure"
                       : item->outcome == GV_CANNOT_JUDGE ? "error"
                                                          : "skipped";
    fprintf(out, ">\n      <%s message=\"", kind);
    put_xml(out, item->text);
    fputs("\">", out);
    if (item->is_finding)
        put_xml(out, item->finding.advice);
    fprintf(out, "</%s>\n    </testcase>\n", kind);
}

static uint32_t count_of(const struct gv_check_run *run, enum gv_outcome outcome)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->count; i++)
        count += run->items[i].outcome == outcome;
    return count;
}

int gv_check_junit(const struct gv_check *check, FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    for (uint32_t i = 0; i < check->count; i++) {
        const struct gv_check_run *run = &check->runs[i];
        fputs("  <testsuite name=\"", out);
        put_xml(out, run->path);
        fprintf(out,
                "\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32 "\" errors=\"%" PRIu32
                "\" skipped=\"%" PRIu32 "\">\n",
                run->count, count_of(run, GV_FAILED), count_of(run, GV_CANNOT_JUDGE),
                count_of(run, GV_ALLOWED) + count_of(run, GV_KNOWN));
        for (uint32_t k = 0; k < run->count; k++)
            put_case(out, &run->items[k]);
        fputs("  </testsuite>\n", out);
    }
    fputs("</testsuites>\n", out);
    return end(out);
}
