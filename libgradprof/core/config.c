/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "GRADPROF_"

const struct gp_option gp_options[] = {
#define GP_OPTION(id, name, kind, fallback, allowed, help) {name, #kind, fallback, allowed, help},
#include "libgradprof/core/config.def"
#undef GP_OPTION
};
const size_t gp_option_count = sizeof(gp_options) / sizeof(gp_options[0]);

static int parse_digits(const char *text, size_t length, size_t *ret_used, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        if (value > (UINT64_MAX - 9) / 10)
            return -ERANGE;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == 0)
        return -EINVAL;
    *ret_used = i;
    *ret_value = value;
    return 0;
}

static int size_unit(const char *text, size_t length, uint64_t *ret_factor)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"K", UINT64_C(1) << 10},
        {"KiB", UINT64_C(1) << 10},
        {"kB", 1000},
        {"KB", 1000},
        {"M", UINT64_C(1) << 20},
        {"MiB", UINT64_C(1) << 20},
        {"MB", 1000000},
        {"G", UINT64_C(1) << 30},
        {"GiB", UINT64_C(1) << 30},
        {"GB", 1000000000},
        {"T", UINT64_C(1) << 40},
        {"TiB", UINT64_C(1) << 40},
        {"TB", UINT64_C(1000000000000)},
    };

    while (length > 0 && *text == ' ')
        text++, length--;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0) {
            *ret_factor = units[i].factor;
            return 0;
        }
    return -EINVAL;
}

int gp_parse_size(const char *text, size_t length, uint64_t *ret_bytes)
{
    uint64_t whole, fraction = 0, scale = 1, factor;
    size_t used, digits;

    if (parse_digits(text, length, &used, &whole) != 0)
        return -EINVAL;
    if (used < length && text[used] == '.') { /* 1.5GiB */
        if (parse_digits(text + used + 1, length - used - 1, &digits, &fraction) != 0 || digits > 6)
            return -EINVAL;
        for (size_t i = 0; i < digits; i++)
            scale *= 10;
        used += 1 + digits;
    }
    if (size_unit(text + used, length - used, &factor) != 0)
        return -EINVAL;
    if (whole > (UINT64_MAX >> 1) / factor)
        return -EINVAL;
    *ret_bytes = whole * factor + (uint64_t)((double)fraction / (double)scale * (double)factor);
    return 0;
}

static int parse_device_limit(const char *text, size_t length, struct gp_memory_limit *limit)
{
    uint64_t device, bytes;
    size_t used;

    if (parse_digits(text, length, &used, &device) != 0 || used >= length || text[used] != '=')
        return -EINVAL;
    if (device >= GP_DEVICES_MAX || limit->bytes[device] != 0)
        return -EINVAL;
    if (gp_parse_size(text + used + 1, length - used - 1, &bytes) != 0 || bytes == 0)
        return -EINVAL;
    limit->bytes[device] = bytes;
    return 0;
}

int gp_parse_memory_limit(const char *text, struct gp_memory_limit *ret_limit)
{
    struct gp_memory_limit limit = {0};
    uint64_t bytes;

    if (*text == 0) {
        *ret_limit = limit;
        return 0;
    }
    limit.any = true;
    if (strchr(text, '=') == NULL) {
        if (gp_parse_size(text, strlen(text), &bytes) != 0 || bytes == 0)
            return -EINVAL;
        limit.all_devices = true;
        for (size_t i = 0; i < GP_DEVICES_MAX; i++)
            limit.bytes[i] = bytes;
    } else {
        for (const char *item = text, *end; item != NULL; item = *end ? end + 1 : NULL) {
            end = item + strcspn(item, ",");
            if (parse_device_limit(item, (size_t)(end - item), &limit) != 0)
                return -EINVAL;
        }
    }
    *ret_limit = limit;
    return 0;
}

/* --- one parser per kind; 0 or -EINVAL -------------------------------------------------------- */

static int parse_TEXT(const char *text, const char *allowed, char *ret_text, size_t size)
{
    if (strlen(text) >= size)
        return -EINVAL;
    memcpy(ret_text, text, strlen(text) + 1);
    return 0;
}

static int parse_FLAG(const char *text, const char *allowed, bool *ret_flag, size_t size)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return -EINVAL;
    *ret_flag = text[0] == '1';
    return 0;
}

static int parse_SIZE(const char *text, const char *allowed, uint64_t *ret_bytes, size_t size)
{
    uint64_t bytes;

    /* the only size is the log's: at least a few segments, at most what its table addresses */
    if (gp_parse_size(text, strlen(text), &bytes) != 0 || bytes < UINT64_C(16) << 20 ||
        bytes > UINT64_C(4) << 30)
        return -EINVAL;
    *ret_bytes = bytes;
    return 0;
}

static int parse_COUNT(const char *text, const char *allowed, uint64_t *ret_count, size_t size)
{
    uint64_t count, low, high;
    size_t used;

    if (parse_digits(allowed, strlen(allowed), &used, &low) != 0)
        return -EINVAL;
    allowed += used + strlen(" to ");
    if (parse_digits(allowed, strlen(allowed), &used, &high) != 0)
        return -EINVAL;
    if (parse_digits(text, strlen(text), &used, &count) != 0 || text[used] != 0 || count < low ||
        count > high)
        return -EINVAL;
    *ret_count = count;
    return 0;
}

static int parse_CHOICE(const char *text, const char *allowed, uint64_t *ret_index, size_t size)
{
    uint64_t index = 0;

    for (const char *word = allowed; *word; index++) {
        size_t length = strcspn(word, ",");
        if (strlen(text) == length && memcmp(word, text, length) == 0) {
            *ret_index = index;
            return 0;
        }
        word += length;
        word += strspn(word, ", ");
    }
    return -EINVAL;
}

static int parse_LIMIT(const char *text, const char *allowed, struct gp_memory_limit *ret_limit,
                       size_t size)
{
    return gp_parse_memory_limit(text, ret_limit);
}

/* --- the environment --------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note_problem(struct gp_config *config,
                                                               const char *format, ...)
{
    va_list arguments;

    if (config->problem_count == GP_CONFIG_PROBLEMS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(config->problem[config->problem_count++], sizeof(config->problem[0]), format,
              arguments);
    va_end(arguments);
}

/* Levenshtein distance, for the closest name; names are short. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64], columns = (unsigned)strlen(b);

    if (columns >= 63 || strlen(a) >= 63)
        return UINT_MAX;
    for (unsigned j = 0; j <= columns; j++)
        row[j] = j;
    for (unsigned i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = i + 1;
        for (unsigned j = 0; j < columns; j++) {
            unsigned best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (best > row[j] + 1)
                best = row[j] + 1;
            if (best > diagonal + 1)
                best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[columns];
}

static void note_unknown(struct gp_config *config, const char *name)
{
    const char *closest = gp_options[0].name;

    for (size_t i = 1; i < gp_option_count; i++)
        if (distance(name, gp_options[i].name) < distance(name, closest))
            closest = gp_options[i].name;
    note_problem(config, "%.80s is no variable of gradprof; did you mean %s?", name, closest);
}

static int apply(struct gp_config *config, const char *name, const char *value)
{
#define GP_OPTION(id, option_name, kind, fallback, allowed, help)                                  \
    if (strcmp(name, option_name) == 0)                                                            \
        return parse_##kind(value, allowed, (void *)&config->id, sizeof(config->id));
#include "libgradprof/core/config.def"
#undef GP_OPTION
    return -ENOENT;
}

static void apply_defaults(struct gp_config *config)
{
    for (size_t i = 0; i < gp_option_count; i++)
        apply(config, gp_options[i].name, gp_options[i].fallback);
}

static void read_variable(struct gp_config *config, const char *variable)
{
    const char *equals = strchr(variable, '=');
    char name[128];

    if (equals == NULL || (size_t)(equals - variable) >= sizeof(name))
        return;
    memcpy(name, variable, (size_t)(equals - variable));
    name[equals - variable] = 0;
    if (equals[1] == 0) /* set to nothing counts as not set */
        return;
    switch (apply(config, name, equals + 1)) {
    case 0:
        return;
    case -ENOENT:
        note_unknown(config, name);
        return;
    default:
        for (size_t i = 0; i < gp_option_count; i++)
            if (strcmp(gp_options[i].name, name) == 0)
                note_problem(config, "%s=%.60s is not understood (allowed: %s); %s%s", name,
                             equals + 1, gp_options[i].allowed,
                             gp_options[i].fallback[0] ? "using " : "ignored",
                             gp_options[i].fallback);
    }
}

void gp_config_read(struct gp_config *ret_config, char *const *environment)
{
    memset(ret_config, 0, sizeof(*ret_config));
    apply_defaults(ret_config);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, PREFIX, strlen(PREFIX)) == 0)
            read_variable(ret_config, *environment);
}
