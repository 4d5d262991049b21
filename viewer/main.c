/* SPDX-License-Identifier: MIT */
/* gradprof-report: what was holding the device memory of a recorded run. Exit status: 0, or 2 when
 * the command line or the input is no good (one line on stderr says why). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewer/check_command.h"
#include "viewer/diff.h"
#include "viewer/export.h"
#include "viewer/options.h"
#include "viewer/report.h"
#include "viewer/text.h"
#include "viewer/text_reports.h"
#include "viewer/units.h"
#include "viewer/whatif.h"

#define EXIT_BAD_INPUT 2

static int run_recover(const struct gv_options *options);
static int run_check(const struct gv_options *options);
static int run_whatif(const struct gv_options *options);
static int run_diff(const struct gv_options *options);
static int run_export(const struct gv_options *options);

const struct gv_command gv_commands[] = {
    {"summary", "what died, who holds the memory, what to do (the default)", GV_AT_DEFAULT,
     gv_text_summary, NULL, false},
    {"peak", "the account of one moment: owners and largest holders", GV_AT_PEAK, gv_text_peak,
     NULL, false},
    {"nodes", "the graph: what its nodes save, by operation and slot", GV_AT_DEFAULT, gv_text_nodes,
     NULL, false},
    {"roots", "what the program holds, and what each of it keeps alive", GV_AT_DEFAULT,
     gv_text_roots, NULL, false},
    {"leaks", "what stays from step to step, who holds it, what to change", GV_AT_DEFAULT,
     gv_text_leaks, NULL, false},
    {"timeline", "the run step by step: bytes, peaks, nodes", GV_AT_DEFAULT, gv_text_timeline, NULL,
     false},
    {"check", "hold runs to a policy, for a build: exit status 0, 1, 2 or 3", GV_AT_END, NULL,
     run_check, true},
    {"whatif", "the recorded run once more, with a cut or on a smaller device", GV_AT_END, NULL,
     run_whatif, false},
    {"diff", "two runs, before and after a change; or many ranks: which is odd?", GV_AT_END, NULL,
     run_diff, true},
    {"export", "the run in the format of another tool (--as FORMAT)", GV_AT_DEFAULT, NULL,
     run_export, false},
    {"recover", "import the log that a killed program left, and say what came", GV_AT_DEFAULT, NULL,
     run_recover, false},
    {NULL, NULL, GV_AT_DEFAULT, NULL, NULL, false},
};

static int complain(const char *message)
{
    char shown[2048];
    fprintf(stderr, "gradprof-report: %s\n",
            gv_fit(message, (int)sizeof(shown), shown, sizeof(shown)));
    return EXIT_BAD_INPUT;
}

static void print_help(void)
{
    puts("Usage: gradprof-report [COMMAND] [OPTIONS] [run.db]\n"
         "\n"
         "Says who held the device memory of a program that ran under gradprof.\n"
         "\n"
         "Commands:");
    for (const struct gv_command *c = gv_commands; c->name; c++)
        printf("  %-9s %s\n", c->name, c->summary);
    puts("\n"
         "Options:\n"
         "  --at MOMENT       peak, end, oom, exit, step:N or +SECONDS; by default the\n"
         "                    refused allocation if there was one, else the end\n"
         "                    (the peak command: the peak)\n"
         "  --format FORMAT   text, or json: the whole report as one document\n"
         "  --limit N         rows of each list\n"
         "  --color WHEN      auto, always or never\n"
         "  --help, --version\n"
         "\n"
         "Of check (keys of a policy file too; the command line goes first):\n"
         "  --policy FILE     KEY = VALUE lines\n"
         "  --leaks WHAT      fail (the default) or allow\n"
         "  --strict          growth of host memory fails too\n"
         "  --max-growth SIZE per step; --max-peak SIZE; --max-end SIZE\n"
         "  --max-unattributed PERCENT of the peak\n"
         "  --min-steps N     fewer: cannot judge\n"
         "  --allow \"WHO [until YYYY-MM-DD]: REASON\", WHO a fingerprint or variable\n"
         "  --baseline FILE, --write-baseline FILE\n"
         "  --junit FILE, --sarif FILE, --github\n"
         "\n"
         "Of whatif (each may be repeated):\n"
         "  --detach ROOT     the variable keeps its tensors, not their graphs; or an\n"
         "                    edge, \"ROOT -> OPERATION\" or \"OPERATION -> OPERATION\"\n"
         "  --no-grad SCOPE   no graph is made inside the scope\n"
         "  --checkpoint SCOPE  what it saves is recomputed for the backward\n"
         "  --limit SIZE      of the device: in which step does it run out?\n"
         "\n"
         "Of export (--at chooses the moment):\n"
         "  -o FILE           instead of standard output\n"
         "  --as FORMAT");
    gv_export_help(stdout);
    puts("\n"
         "The file defaults to run.db in the working directory. Exit status: 0, or 2 when\n"
         "the command line or the file is no good; check: 1 the policy is violated, 3\n"
         "cannot judge.");
}

static bool use_color(const struct gv_options *options)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (options->color != GV_COLOR_AUTO)
        return options->color == GV_COLOR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !(term && strcmp(term, "dumb") == 0);
}

/* A terminal sees that something is going on; a file or a pipe never sees this line. */
static void show_progress(void *user, uint64_t done, uint64_t total)
{
    bool *shown = user;
    if (!isatty(STDERR_FILENO))
        return;
    *shown = true;
    if (total)
        fprintf(stderr, "\rimporting the log: %3u %%", (unsigned)(done * 100.0 / (double)total));
    else
        fprintf(stderr, "\rreading: %s rows", gv_count((int64_t)done).text);
}

static void end_progress(bool shown)
{
    if (shown)
        fprintf(stderr, "\r%*s\r", GV_WIDTH - 1, "");
}

/* A lone word that is neither a command nor a file, nor the name of a log: a mistyped command. */
static bool is_mistyped_command(const struct gv_options *options)
{
    char log[4096];
    const char *path = options->path;
    snprintf(log, sizeof(log), "%s-log", path);
    return options->path_given && strspn(path, "abcdefghijklmnopqrstuvwxyz") == strlen(path) &&
           access(path, F_OK) < 0 && access(log, F_OK) < 0;
}

/* One line when a log was imported on the way. */
static void tell_import(const struct gp_recover_result *recovered)
{
    if (recovered->log_found && !recovered->still_running)
        fprintf(stderr,
                "gradprof-report: the program did not finish its file; imported %s events from the "
                "log it left\n",
                gv_count((int64_t)recovered->imported_events).text);
}

/* Nothing was imported: is there a good file at all? */
static int check_file(const char *path)
{
    struct gp_recover_result result;
    struct gp_db *db;
    char error[GV_ERROR_MAX] = "";
    if (gp_store_open(path, &db, &result, NULL, NULL, error, sizeof(error)) < 0)
        return complain(error);
    gp_db_close(db);
    printf("%s: complete, there is nothing to recover\n", path);
    return 0;
}

static int run_recover(const struct gv_options *options)
{
    struct gp_recover_result result = {0};
    char path[4096], error[GV_ERROR_MAX] = "";
    bool shown = false;
    int r = gp_recover(options->path, path, sizeof(path), &result, show_progress, &shown, error,
                       sizeof(error));
    end_progress(shown);
    if (r < 0)
        return complain(error);
    if (!result.log_found)
        return check_file(options->path);
    if (result.still_running)
        printf("%s: its program is still running, nothing was changed\n", options->path);
    else
        printf("%s: imported %s events; %s were cut off by the end of the program, %s are lost\n",
               path, gv_count((int64_t)result.imported_events).text,
               gv_count((int64_t)result.holes).text, gv_count((int64_t)result.lost).text);
    return 0;
}

static int run_check(const struct gv_options *options)
{
    char error[GV_ERROR_MAX] = "";
    bool shown = false;
    int status = gv_check_command(options, use_color(options), show_progress, end_progress, &shown,
                                  GV_VERSION, error, sizeof(error));
    return error[0] ? complain(error) : status;
}

static int run_whatif(const struct gv_options *options)
{
    char error[GV_ERROR_MAX] = "";
    bool shown = false;
    int r = gv_whatif_command(options, use_color(options), show_progress, end_progress, &shown,
                              error, sizeof(error));
    return r < 0 ? complain(error) : 0;
}

static int run_diff(const struct gv_options *options)
{
    char error[GV_ERROR_MAX] = "";
    bool shown = false;
    int r = gv_diff_command(options, use_color(options), show_progress, end_progress, &shown, error,
                            sizeof(error));
    return r < 0 ? complain(error) : 0;
}

static int run_export(const struct gv_options *options)
{
    char error[GV_ERROR_MAX] = "";
    bool shown = false;
    int r = gv_export_command(options, show_progress, end_progress, &shown, error, sizeof(error));
    return r < 0 ? complain(error) : 0;
}

static int print_report(const struct gv_options *options, const struct gv_report *report)
{
    struct gv_text text = {stdout, use_color(options)};
    if (options->json) {
        int r = gv_json_print(report, stdout, options->limit);
        if (r < 0)
            return complain(strerror(-r));
    } else {
        options->command->print(report, &text, options->limit);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("cannot write the report");
    return 0;
}

static int run_report(const struct gv_options *options)
{
    struct gv_report report;
    char error[GV_ERROR_MAX] = "";
    struct gv_at at = options->at;
    bool shown = false;
    if (at.kind == GV_AT_DEFAULT && !options->json)
        at.kind = options->command->at;
    int r = gv_report_make(options->path, at, show_progress, &shown, &report, error, sizeof(error));
    end_progress(shown);
    if (r < 0)
        return complain(error);
    tell_import(&report.recovered);
    int status = print_report(options, &report);
    gv_report_free(&report);
    return status;
}

static int run(const struct gv_options *options)
{
    char error[GV_ERROR_MAX];
    if (options->help) {
        print_help();
        return 0;
    }
    if (options->version) {
        puts("gradprof-report " GV_VERSION);
        return 0;
    }
    if (is_mistyped_command(options)) {
        gv_unknown_command(options->path, error, sizeof(error));
        return complain(error);
    }
    return options->command->run ? options->command->run(options) : run_report(options);
}

int main(int argc, char **argv)
{
    struct gv_options options;
    char error[GV_ERROR_MAX];
    int r = gv_options_parse(argc, argv, &options, error, sizeof(error));
    int status = r < 0 ? complain(error) : run(&options);
    gv_options_free(&options);
    return status;
}
