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
    char *end;
    errno = 0;
    unsigned long limit = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || limit == 0 || limit >= UINT32_MAX)
        return fail(p, "bad --limit", value, "expected a number of rows, at least 1");
    p->options.limit = (uint32_t)limit;
    return 0;
}

static const struct {
    const char *name;
    int (*set)(struct parser *p, const char *value);
} value_options[] = {
    {"--at", set_at}, {"--format", set_format}, {"--color", set_color}, {"--limit", set_limit}};

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
    return fail(p, "unknown option", argument, "gradprof-report --help lists the options");
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

/* [COMMAND] [PATH]: a lone word that is no command is the path. */
static int take_words(struct parser *p, const char *const *words, int count)
{
    if (count > 0)
        p->options.command = find_command(words[0]);
    bool lone_path = count == 1 && !p->options.command;
    if (count == 0 || lone_path)
        p->options.command = &gv_commands[0];
    if (!p->options.command) {
        gv_unknown_command(words[0], p->error, p->error_size);
        return -EINVAL;
    }
    if (lone_path || count == 2) {
        p->options.path = words[count - 1];
        p->options.path_given = true;
    }
    return 0;
}

static int parse_all(struct parser *p, int argc, char **argv)
{
    const char *words[2];
    int count = 0, r = 0;
    bool options_end = false;
    for (int i = 1; i < argc && r == 0; i++) {
        const char *argument = argv[i];
        if (options_end || argument[0] != '-' || argument[1] == '\0') {
            if (count == 2)
                return fail(p, "one argument too many", argument,
                            "expected [COMMAND] [OPTIONS] [run.db]");
            words[count++] = argument;
        } else if (strcmp(argument, "--") == 0) {
            options_end = true;
        } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            p->options.help = true;
        } else if (strcmp(argument, "--version") == 0) {
            p->options.version = true;
        } else {
            r = parse_long(p, argc, argv, &i);
        }
    }
    return r < 0 ? r : take_words(p, words, count);
}

int gv_options_parse(int argc, char **argv, struct gv_options *ret_options, char *error,
                     size_t error_size)
{
    struct parser p = {.options = {.path = "run.db"}, .error = error, .error_size = error_size};
    int r = parse_all(&p, argc, argv);
    if (r == 0)
        *ret_options = p.options;
    return r;
}
