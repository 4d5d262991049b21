/* SPDX-License-Identifier: MIT */
#include "viewer/check_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "viewer/check.h"

static int read_policy(const struct gv_options *options, struct gv_policy *policy, char *error,
                       size_t error_size)
{
    int r = 0;
    for (int i = 0; i < options->extra_count && r == 0; i++) {
        const char *key = options->extras[i].name + 2;
        const char *value = options->extras[i].value;
        if (gv_policy_is_key(key))
            r = gv_policy_set(policy, key, strcmp(key, "strict") == 0 ? "on" : value, NULL, 0,
                              error, error_size);
    }
    for (int i = 0; i < options->extra_count && r == 0; i++)
        if (strcmp(options->extras[i].name, "--policy") == 0)
            r = gv_policy_read(policy, options->extras[i].value, error, error_size);
    return r < 0 ? r : gv_policy_check(policy, error, error_size);
}

static int write_junit(const struct gv_check *check, const char *version, FILE *out)
{
    (void)version;
    return gv_check_junit(check, out);
}

static int write_baseline(const struct gv_check *check, const char *version, FILE *out)
{
    (void)version;
    fputs("# gradprof baseline: findings that were there before. Fingerprint, class, variable.\n",
          out);
    for (uint32_t i = 0; i < check->count; i++) {
        for (uint32_t k = 0; k < check->runs[i].count; k++) {
            const struct gv_check_item *item = &check->runs[i].items[k];
            if (item->is_finding && item->outcome != GV_WARNED && item->outcome != GV_ALLOWED)
                fprintf(out, "%s %s %s\n", item->finding.fingerprint,
                        gv_class_name(item->finding.class), item->finding.root);
        }
    }
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static int write_file(const struct gv_options *options, const char *option,
                      const struct gv_check *check, const char *version,
                      int (*write)(const struct gv_check *check, const char *version, FILE *out),
                      char *error, size_t error_size)
{
    const char *path = gv_extra_value(options, option);
    if (!path)
        return 0;
    FILE *out = fopen(path, "w");
    int r = out ? write(check, version, out) : -errno;
    if (out && fclose(out) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        snprintf(error, error_size, "cannot write '%.300s': %s", path, strerror(-r));
    return r;
}

static int check_path(const char *path, const struct gv_policy *policy,
                      void (*progress)(void *user, uint64_t done, uint64_t total), bool *shown,
                      struct gv_check *check, char *error, size_t error_size)
{
    struct gv_report report;
    int r = gv_report_make(path, (struct gv_at){.kind = GV_AT_END}, progress, shown, &report, error,
                           error_size);
    if (r < 0)
        return r;
    r = gv_check_add(check, policy, &report);
    gv_report_free(&report);
    if (r < 0)
        snprintf(error, error_size, "not enough memory");
    return r;
}

static int print(const struct gv_options *options, const struct gv_check *check, bool color,
                 const char *version, char *error, size_t error_size)
{
    int r = write_file(options, "--junit", check, version, write_junit, error, error_size);
    if (r == 0)
        r = write_file(options, "--sarif", check, version, gv_check_sarif, error, error_size);
    if (r == 0)
        r = write_file(options, "--write-baseline", check, version, write_baseline, error,
                       error_size);
    if (r < 0)
        return r;
    if (gv_extra_value(options, "--github"))
        r = gv_check_github(check, stdout);
    if (r == 0)
        r = options->json ? gv_check_json(check, stdout) : gv_check_text(check, stdout, color);
    if (r < 0 || fflush(stdout) != 0)
        snprintf(error, error_size, "cannot write the report");
    return r;
}

int gv_check_command(const struct gv_options *options, bool color,
                     void (*progress)(void *user, uint64_t done, uint64_t total),
                     void (*end_progress)(bool shown), bool *shown, const char *version,
                     char *error, size_t error_size)
{
    struct gv_policy policy = {0};
    struct gv_check check = {0};
    int r = read_policy(options, &policy, error, error_size);
    for (int i = 0; i < options->path_count && r == 0; i++)
        r = check_path(options->paths[i], &policy, progress, shown, &check, error, error_size);
    end_progress(*shown);
    if (r == 0)
        r = print(options, &check, color, version, error, error_size);
    int status = r < 0 ? GV_EXIT_USAGE : gv_check_status(&check);
    if (r == 0 && status == GV_EXIT_FAIL && gv_extra_value(options, "--write-baseline"))
        status = GV_EXIT_PASS;
    gv_policy_free(&policy);
    gv_check_free(&check);
    return status;
}
