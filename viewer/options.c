/* SPDX-License-Identifier: MIT */
#include "viewer/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_FORMS "peak, end, oom, exit, step:N or +SECONDS"

struct parser {
    struct gv_options options;
    char *error;
    size_t error_size;
};

static int fail(struct parser *p, const char *what, const char *value, const char *allowed)
{
    snprintf(p->error, p->error_size, "%s '%s': %s", what, value, allowed);
    return -EINVAL;
}

static int set_at(struct parser *p, const char *value)
{
    if (gv_at_parse(value, &p->options.at) < 0)
        return fail(p, "bad --at", value, "expected " AT_FORMS);
    return 0;
}

static int set_format(struct parser *p, const char *value)
{
    p->options.json = strcmp(value, "json") == 0;
    if (!p->options.json && strcmp(value, "text") != 0)
        return fail(p, "bad --format", value, "expected text or json");
    return 0;
}

static int set_color(struct parser *p, const char *value)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            p->options.color = (enum gv_color)i;
            return 0;
        }
    }
    return fail(p, "bad --color", value, "expected auto, always or never");
}

static int set_limit(struct parser *p, const char *value)
{
    p->options.limit_text = value;
    return 0;
}

/* Rows of a list, but for whatif the size of a device: so only when the command is known. */
static int finish_limit(struct parser *p)
{
    const char *value = p->options.limit_text;
    char *end;
    if (!value || strcmp(p->options.command->name, "whatif") == 0)
        return 0;
    errno = 0;
    unsigned long limit = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || limit == 0 || limit >= UINT32_MAX)
        return fail(p, "bad --limit", value, "expected a number of rows, at least 1");
    p->options.limit = (uint32_t)limit;
    return 0;
}

static const struct {
    const char *name, *command;
    bool takes_value;
} extra_options[] = {
    {"--policy", "check", true},
    {"--leaks", "check", true},
    {"--strict", "check", false},
    {"--max-growth", "check", true},
    {"--max-peak", "check", true},
    {"--max-end", "check", true},
    {"--max-unattributed", "check", true},
    {"--min-steps", "check", true},
    {"--allow", "check", true},
    {"--baseline", "check", true},
    {"--write-baseline", "check", true},
    {"--junit", "check", true},
    {"--detach", "whatif", true},
    {"--no-grad", "whatif", true},
    {"--checkpoint", "whatif", true},
    {"--sarif", "check", true},
    {"--github", "check", false},
    {"--as", "export", true},
    {"-o", "export", true},
};
#define EXTRA_OPTIONS (sizeof(extra_options) / sizeof(extra_options[0]))

static const struct {
    const char *name;
    int (*set)(struct parser *p, const char *value);
} value_options[] = {
    {"--at", set_at}, {"--format", set_format}, {"--color", set_color}, {"--limit", set_limit}};

static int parse_extra(struct parser *p, int argc, char **argv, int *i)
{
    const char *argument = argv[*i], *value = "";
    size_t length = strcspn(argument, "=");
    for (size_t k = 0; k < EXTRA_OPTIONS; k++) {
        const char *name = extra_options[k].name;
        if (strlen(name) != length || strncmp(argument, name, length) != 0)
            continue;
        if (!extra_options[k].takes_value && argument[length] == '=')
            return fail(p, "option", argument, "takes no value");
        if (extra_options[k].takes_value && argument[length] == '=')
            value = argument + length + 1;
        else if (extra_options[k].takes_value && *i + 1 >= argc)
            return fail(p, "option", argument, "needs a value");
        else if (extra_options[k].takes_value)
            value = argv[++*i];
        if (p->options.extra_count == GV_EXTRAS_MAX)
            return fail(p, "too many options at", argument, "256 at most");
        p->options.extras[p->options.extra_count++] = (struct gv_extra){name, value};
        return 0;
    }
    return fail(p, "unknown option", argument, "gradprof-report --help lists the options");
}

/* --name VALUE or --name=VALUE; *i moves past a value of its own. */
static int parse_long(struct parser *p, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    size_t length = strcspn(argument, "=");
    for (size_t k = 0; k < sizeof(value_options) / sizeof(value_options[0]); k++) {
        if (strlen(value_options[k].name) != length ||
            strncmp(argument, value_options[k].name, length) != 0)
            continue;
        if (argument[length] == '=')
            return value_options[k].set(p, argument + length + 1);
        if (*i + 1 >= argc)
            return fail(p, "option", argument, "needs a value");
        return value_options[k].set(p, argv[++*i]);
    }
    return parse_extra(p, argc, argv, i);
}

/* Extras belong to the command, which may come later on the line. */
static int check_extras(struct parser *p)
{
    for (int i = 0; i < p->options.extra_count; i++) {
        bool fits = false;
        for (size_t k = 0; k < EXTRA_OPTIONS; k++)
            fits = fits || (strcmp(extra_options[k].name, p->options.extras[i].name) == 0 &&
                            strcmp(extra_options[k].command, p->options.command->name) == 0);
        if (!fits)
            return fail(p, "option", p->options.extras[i].name, "is not one of this command's");
    }
    return 0;
}

static const struct gv_command *find_command(const char *name)
{
    for (const struct gv_command *c = gv_commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

void gv_unknown_command(const char *name, char *ret_text, size_t size)
{
    char list[256] = "the commands are";
    for (const struct gv_command *c = gv_commands; c->name; c++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", c == gv_commands ? " " : ", ", c->name);
    }
    snprintf(ret_text, size, "unknown command '%s': %s", name, list);
}

/* [COMMAND] [PATH...]: a lone word that is no command is the path. */
static int take_words(struct parser *p, int count)
{
    const char **words = p->options.paths;
    if (count > 0)
        p->options.command = find_command(words[0]);
    bool lone_path = count == 1 && !p->options.command;
    if (count == 0 || lone_path)
        p->options.command = &gv_commands[0];
    if (!p->options.command) {
        gv_unknown_command(words[0], p->error, p->error_size);
        return -EINVAL;
    }
    int first = lone_path ? 0 : 1;
    if (count > first + 1 && !p->options.command->many)
        return fail(p, "one argument too many", words[first + 1],
                    "expected [COMMAND] [OPTIONS] [run.db]");
    p->options.path_given = count > first;
    p->options.path_count = count > first ? count - first : 1;
    for (int i = 0; i + first < count; i++)
        words[i] = words[i + first];
    if (!p->options.path_given)
        words[0] = "run.db";
    p->options.path = words[0];
    return 0;
}

static int parse_all(struct parser *p, int argc, char **argv)
{
    int count = 0, r = 0;
    bool options_end = false;
    for (int i = 1; i < argc && r == 0; i++) {
        const char *argument = argv[i];
        if (options_end || argument[0] != '-' || argument[1] == '\0')
            p->options.paths[count++] = argument;
        else if (strcmp(argument, "--") == 0)
            options_end = true;
        else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            p->options.help = true;
        else if (strcmp(argument, "--version") == 0)
            p->options.version = true;
        else
            r = parse_long(p, argc, argv, &i);
    }
    if (r == 0)
        r = take_words(p, count);
    if (r == 0)
        r = finish_limit(p);
    return r < 0 ? r : check_extras(p);
}

int gv_options_parse(int argc, char **argv, struct gv_options *ret_options, char *error,
                     size_t error_size)
{
    struct parser p = {.error = error, .error_size = error_size};
    p.options.paths = calloc((size_t)argc + 2, sizeof(*p.options.paths));
    if (!p.options.paths) {
        snprintf(error, error_size, "not enough memory");
        return -ENOMEM;
    }
    int r = parse_all(&p, argc, argv);
    *ret_options = p.options;
    return r;
}

void gv_options_free(struct gv_options *options)
{
    free(options->paths);
    options->paths = NULL;
}

const char *gv_extra_value(const struct gv_options *options, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < options->extra_count; i++)
        if (strcmp(options->extras[i].name, name) == 0)
            value = options->extras[i].value;
    return value;
}
