/* SPDX-License-Identifier: MIT */
/* The list of environment variables; `--markdown` is docs/ENVIRONMENT.md. */
#include <stdio.h>
#include <string.h>

#include "libgradprof/core/config.h"
#include "libgradprof/launcher/launcher.h"

static void wrap(const char *text, const char *indent, int width)
{
    int column = 0;

    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (column > 0 && column + 1 + length > width) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column = printf("%s%.*s", indent, length, word);
        else
            column += printf(" %.*s", length, word);
        word += length;
        word += strspn(word, " ");
    }
    putchar('\n');
}

static void print_text(const struct gp_option *option)
{
    printf("%s\n    allowed: %s; default: %s\n", option->name, option->allowed,
           *option->fallback ? option->fallback : "not set");
    wrap(option->help, "    ", 80);
    putchar('\n');
}

static void print_markdown(const struct gp_option *option)
{
    printf("## %s\n\nAllowed: %s. Default: %s%s%s.\n\n", option->name, option->allowed,
           *option->fallback ? "`" : "", *option->fallback ? option->fallback : "not set",
           *option->fallback ? "`" : "");
    wrap(option->help, "", 100);
    putchar('\n');
}

void gp_launcher_environment(int markdown)
{
    if (markdown)
        puts(
            "# Environment variables of libgradprof.so\n\n"
            "Made by `gradprof env --markdown` from `libgradprof/core/config.def`: change it "
            "there.\n"
            "A value that is not understood is told in one line on stderr, and the default is "
            "used;\n"
            "so is an unknown name that begins with `GRADPROF_`. Sizes: `4096`, `512MiB`, `8GiB`,\n"
            "`1.5GB`. A variable set to nothing counts as not set.\n");
    for (size_t i = 0; i < gp_option_count; i++)
        (markdown ? print_markdown : print_text)(&gp_options[i]);
}
