/* SPDX-License-Identifier: MIT */
/* gradprof: runs a program under the profiler, and tells what can be set. */
#include <stdio.h>
#include <string.h>

#include "libgradprof/launcher/launcher.h"

static const char usage[] =
    "usage: gradprof run [-o DATABASE] [--] COMMAND [ARGUMENT...]\n"
    "       gradprof env [--markdown]\n"
    "\n"
    "run   records COMMAND's device memory: sets LD_PRELOAD, checks that the profiler was loaded, "
    "and\n"
    "      exits as COMMAND does. -o names the recording (default run.db, see GRADPROF_DB).\n"
    "env   lists the environment variables that the profiler reads.\n"
    "\n"
    "Then: gradprof-report run.db\n";

static int usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "gradprof: %s%s%s (see gradprof --help)\n", what, argument ? ": " : "",
            argument ? argument : "");
    return GP_EXIT_USAGE;
}

static int command_run(char **arguments)
{
    const char *database = NULL;

    while (*arguments != NULL && **arguments == '-') {
        const char *option = *arguments++;
        if (strcmp(option, "--") == 0)
            break;
        if (strcmp(option, "-o") != 0)
            return usage_error("unknown option", option);
        if (*arguments == NULL)
            return usage_error("-o needs the name of a database", NULL);
        database = *arguments++;
    }
    if (*arguments == NULL)
        return usage_error("run needs a command", NULL);
    return gp_launcher_run(database, arguments);
}

static int command_env(char **arguments)
{
    if (arguments[0] != NULL && (strcmp(arguments[0], "--markdown") != 0 || arguments[1] != NULL))
        return usage_error("unknown argument", arguments[0]);
    gp_launcher_environment(arguments[0] != NULL);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return usage_error("a command is needed: run, env", NULL);
    if (strcmp(argv[1], "run") == 0)
        return command_run(argv + 2);
    if (strcmp(argv[1], "env") == 0)
        return command_env(argv + 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("gradprof " GP_VERSION);
        return 0;
    }
    return usage_error("unknown command", argv[1]);
}
