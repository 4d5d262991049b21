/* SPDX-License-Identifier: MIT */
#include "viewer/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "viewer/memory.h"
#include "viewer/units.h"

#define LINE_BYTES_MAX 4096

struct source { /* of the setting that is being read, for messages */
    const char *file;
    unsigned line;
    char *error;
    size_t error_size;
};

static int refuse(const struct source *at, const char *what, const char *value,
                  const char *expected)
{
    char place[512] = "";
    if (at->file)
        snprintf(place, sizeof(place), "%.400s:%u: ", at->file, at->line);
    snprintf(at->error, at->error_size, "%s%s '%.200s'%s%s", place, what, value,
             *expected ? ": " : "", expected);
    return -EINVAL;
}

typedef int setter(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                   const struct source *at);

static int set_leaks(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                     const struct source *at)
{
    (void)key;
    policy->allow_leaks = strcmp(value, "allow") == 0;
    if (!policy->allow_leaks && strcmp(value, "fail") != 0)
        return refuse(at, "bad leaks", value, "expected fail or allow");
    return 0;
}

static int set_strict(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                      const struct source *at)
{
    (void)key;
    policy->strict = strcmp(value, "on") == 0;
    if (!policy->strict && strcmp(value, "off") != 0)
        return refuse(at, "bad strict", value, "expected on or off");
    return 0;
}

static int set_size(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                    const struct source *at)
{
    if (gv_size_parse(value, &policy->limits[key]) < 0)
        return refuse(at, "bad size", value, "expected bytes, or a number with KiB, MiB or GiB");
    return 0;
}

static int set_percent(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                       const struct source *at)
{
    char *end;
    double percent = strtod(value, &end);
    end += strspn(end, " ");
    bool digits = isdigit((unsigned char)value[0]) && value[strspn(value, "0123456789.")] != 'x';
    if (!digits || (strcmp(end, "%") != 0 && *end) || !(percent >= 0 && percent <= 100))
        return refuse(at, "bad percentage", value, "expected 0 to 100");
    policy->limits[key] = (uint64_t)(percent * 1000 + 0.5);
    return 0;
}

static int set_number(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                      const struct source *at)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || errno || number == 0 || number > 1000000000)
        return refuse(at, "bad number of steps", value, "expected 1 to 1000000000");
    policy->limits[key] = number;
    return 0;
}

static int add_allow(struct gv_policy *policy, const char *who, size_t length, const char *reason)
{
    int r = gv_reserve(&policy->allows, &policy->allow_capacity, policy->allow_count,
                       sizeof(*policy->allows));
    if (r < 0)
        return r;
    struct gv_allow allow = {strndup(who, length), reason ? strdup(reason) : NULL};
    if (!allow.who || (reason && !allow.reason)) {
        free(allow.who);
        free(allow.reason);
        return -ENOMEM;
    }
    policy->allows[policy->allow_count++] = allow;
    return 0;
}

/* "YYYY-MM-DD", a day that exists. */
static bool is_date(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const char form[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (leap && month == 2);
}

static bool has_passed(const char *date)
{
    char today[16];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(today, sizeof(today), "%Y-%m-%d", &tm);
    return strncmp(date, today, 10) < 0;
}

static int set_allow(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                     const struct source *at)
{
    (void)key;
    static const char form[] = "expected FINGERPRINT or ROOT [until YYYY-MM-DD]: REASON";
    const char *colon = strstr(value, ": "), *until = strstr(value, " until ");
    if (!colon || colon == value)
        return refuse(at, "allow entry without a reason", value, form);
    const char *reason = colon + 2 + strspn(colon + 2, " ");
    if (!*reason)
        return refuse(at, "allow entry without a reason", value, form);
    size_t length = (size_t)(colon - value);
    if (until && until < colon) {
        const char *date = until + 7;
        if (colon - date != 10 || !is_date(date))
            return refuse(at, "bad date in allow entry", value, form);
        if (has_passed(date))
            return refuse(at, "expired allow entry", value, "mend the finding, or extend the date");
        length = (size_t)(until - value);
    }
    while (length > 0 && value[length - 1] == ' ')
        length--;
    if (length == 0)
        return refuse(at, "allow entry for nothing", value, form);
    return add_allow(policy, value, length, reason);
}

static bool is_fingerprint(const char *text)
{
    return strspn(text, "0123456789abcdef") == 16 &&
           (text[16] == '\0' || isspace((unsigned char)text[16]));
}

/* A fingerprint a line; what follows it is for people. */
static int set_baseline(struct gv_policy *policy, enum gv_policy_key key, const char *value,
                        const struct source *at)
{
    (void)key;
    char line[LINE_BYTES_MAX];
    FILE *file = fopen(value, "r");
    if (!file)
        return refuse(at, "cannot read the baseline", value, strerror(errno));
    struct source here = {value, 0, at->error, at->error_size};
    int r = 0;
    while (r == 0 && fgets(line, sizeof(line), file)) {
        here.line++;
        line[strcspn(line, "\r\n")] = '\0';
        const char *text = line + strspn(line, " \t");
        if (*text == '#' || *text == '\0')
            continue;
        if (!is_fingerprint(text))
            r = refuse(&here, "bad line", text, "expected a fingerprint of 16 hex digits");
        else
            r = add_allow(policy, text, 16, NULL);
    }
    fclose(file);
    return r;
}

static const struct {
    const char *name;
    setter *set;
} keys[GV_POLICY_KEYS] = {
    [GV_POLICY_LEAKS] = {"leaks", set_leaks},
    [GV_POLICY_STRICT] = {"strict", set_strict},
    [GV_POLICY_GROWTH] = {"max-growth", set_size},
    [GV_POLICY_PEAK] = {"max-peak", set_size},
    [GV_POLICY_END] = {"max-end", set_size},
    [GV_POLICY_UNATTRIBUTED] = {"max-unattributed", set_percent},
    [GV_POLICY_STEPS] = {"min-steps", set_number},
    [GV_POLICY_ALLOW] = {"allow", set_allow},
    [GV_POLICY_BASELINE] = {"baseline", set_baseline},
};

static int find_key(const char *name)
{
    for (int i = 0; i < GV_POLICY_KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return i;
    return -1;
}

bool gv_policy_is_key(const char *key)
{
    return find_key(key) >= 0;
}

int gv_policy_set(struct gv_policy *policy, const char *key, const char *value, const char *file,
                  unsigned line, char *error, size_t error_size)
{
    struct source at = {file, line, error, error_size};
    int k = find_key(key);
    if (k < 0)
        return refuse(&at, "unknown key", key,
                      "the keys are leaks, strict, max-growth, max-peak, max-end, "
                      "max-unattributed, min-steps, allow, baseline");
    unsigned bit = 1u << k;
    if (k != GV_POLICY_ALLOW) {
        if (file && policy->set_by_line & bit)
            return 0;
        if (policy->set & bit)
            return refuse(&at, "set twice:", key, "");
    }
    policy->set |= bit;
    policy->set_by_line |= file ? 0 : bit;
    int r = keys[k].set(policy, (enum gv_policy_key)k, value, &at);
    if (r == -ENOMEM)
        snprintf(error, error_size, "not enough memory");
    return r;
}

static int read_line(struct gv_policy *policy, char *text, const struct source *at)
{
    text[strcspn(text, "\r\n")] = '\0';
    text += strspn(text, " \t");
    if (*text == '#' || *text == '\0')
        return 0;
    char *equals = strchr(text, '='), *end = equals;
    if (!equals)
        return refuse(at, "not a setting", text, "expected KEY = VALUE");
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    char *value = equals + 1 + strspn(equals + 1, " \t");
    for (end = value + strlen(value); end > value && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return gv_policy_set(policy, text, value, at->file, at->line, at->error, at->error_size);
}

int gv_policy_read(struct gv_policy *policy, const char *path, char *error, size_t error_size)
{
    char line[LINE_BYTES_MAX];
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, error_size, "cannot read the policy '%.300s': %s", path, strerror(errno));
        return -EINVAL;
    }
    struct source at = {path, 0, error, error_size};
    int r = 0;
    while (r == 0 && fgets(line, sizeof(line), file)) {
        at.line++;
        if (strlen(line) == sizeof(line) - 1)
            r = refuse(&at, "line too long", "...", "4000 characters at most");
        else
            r = read_line(policy, line, &at);
    }
    if (r == 0 && ferror(file)) {
        snprintf(error, error_size, "cannot read the policy '%.300s'", path);
        r = -EINVAL;
    }
    fclose(file);
    return r;
}

int gv_policy_check(const struct gv_policy *policy, char *error, size_t error_size)
{
    unsigned both = 1u << GV_POLICY_PEAK | 1u << GV_POLICY_END;
    if (policy->allow_leaks && policy->strict)
        snprintf(error, error_size, "the policy contradicts itself: leaks = allow and strict = on");
    else if ((policy->set & both) == both &&
             policy->limits[GV_POLICY_END] > policy->limits[GV_POLICY_PEAK])
        snprintf(error, error_size,
                 "the policy contradicts itself: max-end (%s) is above max-peak (%s)",
                 gv_size(policy->limits[GV_POLICY_END]).text,
                 gv_size(policy->limits[GV_POLICY_PEAK]).text);
    else
        return 0;
    return -EINVAL;
}

const struct gv_allow *gv_policy_allows(const struct gv_policy *policy, const char *fingerprint,
                                        const char *root)
{
    for (uint32_t i = 0; i < policy->allow_count; i++)
        if (strcmp(policy->allows[i].who, fingerprint) == 0 ||
            (root[0] && strcmp(policy->allows[i].who, root) == 0))
            return &policy->allows[i];
    return NULL;
}

void gv_policy_free(struct gv_policy *policy)
{
    for (uint32_t i = 0; i < policy->allow_count; i++) {
        free(policy->allows[i].who);
        free(policy->allows[i].reason);
    }
    free(policy->allows);
    memset(policy, 0, sizeof(*policy));
}
