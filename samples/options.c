/* SPDX-License-Identifier: MIT */
/* The samples' command line: one table, each row an option with its check. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/common.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A batch of a million images would need hundreds of terabytes; more is a slip of the finger. */
#define MAX_BATCH 1000000
#define MAX_ITERATIONS 1000000000
#define MAX_THREADS 1024

/* All sizes up to the device's, e.g. 8 EiB - 1 */
#define MAX_MEMORY_BYTES ((uint64_t)INT64_MAX)

static bool parse_whole(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    unsigned long long value;
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end != '\0' || value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

static bool parse_count(const char *text, uint64_t max, int64_t *ret_value)
{
    uint64_t value;

    if (!parse_whole(text, 1, max, &value))
        return false;
    *ret_value = (int64_t)value;
    return true;
}

static bool parse_batch(const char *text, struct sample_options *options)
{
    return parse_count(text, MAX_BATCH, &options->batch);
}

static bool parse_iterations(const char *text, struct sample_options *options)
{
    return parse_count(text, MAX_ITERATIONS, &options->iterations);
}

static bool parse_detach(const char *text, struct sample_options *options)
{
    options->detach = !strcmp(text, "on");
    return options->detach || !strcmp(text, "off");
}

static bool unit_bytes(const char *unit, uint64_t *ret_bytes)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"KiB", 1ull << 10},
        {"MiB", 1ull << 20},
        {"GiB", 1ull << 30},
        {"TiB", 1ull << 40},
        {"kB", 1000},
        {"MB", 1000 * 1000},
        {"GB", 1000 * 1000 * 1000},
        {"TB", 1000ull * 1000 * 1000 * 1000},
    };

    for (size_t i = 0; i < COUNT(units); i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        *ret_bytes = units[i].bytes;
        return true;
    }
    return false;
}

static bool parse_memory(const char *text, struct sample_options *options)
{
    unsigned long long number;
    uint64_t unit, bytes;
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || number == 0 || !unit_bytes(end, &unit) ||
        __builtin_mul_overflow((uint64_t)number, unit, &bytes) || bytes > MAX_MEMORY_BYTES)
        return false;
    options->ag.memory_bytes = bytes;
    return true;
}

static bool parse_device(const char *text, struct sample_options *options)
{
    static const char *const names[] = {"auto", "cuda", "host", "reference"};
    size_t length = strcspn(text, ":");
    uint64_t ordinal;

    if (text[length] == ':' && !parse_whole(text + length + 1, 0, 1023, &ordinal))
        return false;
    options->ag.device = text;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strlen(names[i]) == length && !strncmp(text, names[i], length))
            return true;
    return false;
}

static bool parse_compute(const char *text, struct sample_options *options)
{
    options->ag.compute = text;
    return !strcmp(text, "real") || !strcmp(text, "skip");
}

static bool parse_allocator(const char *text, struct sample_options *options)
{
    options->ag.allocator = text;
    return !strcmp(text, "async") || !strcmp(text, "malloc");
}

static bool parse_threads(const char *text, struct sample_options *options)
{
    uint64_t threads;

    if (!parse_whole(text, 1, MAX_THREADS, &threads))
        return false;
    options->ag.threads = (int)threads;
    return true;
}

static bool parse_seed(const char *text, struct sample_options *options)
{
    return parse_whole(text, 0, UINT64_MAX, &options->ag.seed);
}

static bool parse_load(const char *text, struct sample_options *options)
{
    options->load_weights = text;
    return text[0] != '\0';
}

static bool parse_save(const char *text, struct sample_options *options)
{
    options->save_weights = text;
    return text[0] != '\0';
}

static const struct sample_option common_options[] = {
    {"--batch", "N", "a whole number from 1 to 1,000,000", "images in a batch", parse_batch},
    {"--iterations", "N", "a whole number from 1 to 1,000,000,000", "passes of the loop",
     parse_iterations},
    {"--memory", "SIZE", "a size such as 8GiB, 512MiB, 8GB or 1000000 (bytes)",
     "live within so much device memory", parse_memory},
    {"--device", "NAME", "auto, cuda, host, reference, each also with :N",
     "where to compute (auto: a GPU, else the host)", parse_device},
    {"--compute", "real|skip", "real, skip",
     "skip: shapes, allocations and graph only, no arithmetic", parse_compute},
    {"--allocator", "async|malloc", "async, malloc", "cudaMallocAsync or cudaMalloc",
     parse_allocator},
    {"--threads", "N", "a whole number from 1 to 1024", "threads of a host device (all cores)",
     parse_threads},
    {"--seed", "N", "a whole number from 0 to 18446744073709551615", "of weights, input, dropout",
     parse_seed},
    {.name = NULL},
};

static const struct sample_option alexnet_options[] = {
    {"--detach", "on|off", "on, off", "drop the graph of each output", parse_detach},
    {"--load-weights", "FILE", "a file name", "use the weights in FILE", parse_load},
    {"--save-weights", "FILE", "a file name", "write the weights to FILE", parse_save},
    {.name = NULL},
};

static const struct sample_option *own_options(const struct sample_options *options)
{
    return options->own ? options->own : alexnet_options;
}

static void print_options(const struct sample_option *option)
{
    for (; option->name; option++) {
        int width = printf("  %s%s%s", option->name, option->argument ? "=" : "",
                           option->argument ? option->argument : "");

        printf("%*s%s\n", width < 30 ? 30 - width : 1, "", option->help);
    }
}

static void print_help(const struct sample_options *options, const char *purpose)
{
    printf("Usage: %s [OPTION]...\n%s\n\n", options->program, purpose);
    print_options(own_options(options));
    print_options(common_options);
    printf("  %-28s%s\n\n", "--help", "show this");
    printf("Defaults here: --batch=%" PRId64 " --iterations=%" PRId64, options->batch,
           options->iterations);
    if (!options->own)
        printf(" --detach=%s", options->detach ? "on" : "off");
    printf(" --memory=");
    if (options->ag.memory_bytes)
        printf("%zuGiB", options->ag.memory_bytes >> 30);
    else
        printf("(what the device has)");
    printf(" --seed=%" PRIu64 "\n", options->ag.seed);
    printf("Exit status: 0 done, 1 failed, 2 wrong option, 3 out of device memory.\n");
}

/* The row of a table that `argument` names, up to a "=" in it. */
static const struct sample_option *find_option(const struct sample_option *option,
                                               const char *argument)
{
    size_t length = strcspn(argument, "=");

    for (; option->name; option++)
        if (strlen(option->name) == length && !strncmp(argument, option->name, length))
            return option;
    return NULL;
}

/* Handle argv[*at] and, where it takes the next word as its value, that one too. */
static void parse_one(char **argv, int *at, struct sample_options *options)
{
    const char *argument = argv[*at], *equals = strchr(argument, '=');
    const struct sample_option *option = find_option(own_options(options), argument);
    const char *text;

    if (!option)
        option = find_option(common_options, argument);
    if (option && !option->argument && !equals) {
        option->parse(NULL, options);
        return;
    }
    text = equals ? equals + 1 : argv[*at + 1]; /* argv[argc] is NULL */
    if (!option)
        fprintf(stderr, "%s: unknown option \"%.60s\"; --help lists what there is\n",
                options->program, argument);
    else if (!option->argument)
        fprintf(stderr, "%s: %s takes no value\n", options->program, option->name);
    else if (!text)
        fprintf(stderr, "%s: %s needs a value; allowed: %s\n", options->program, option->name,
                option->allowed);
    else if (!option->parse(text, options))
        fprintf(stderr, "%s: %s cannot be \"%.60s\"; allowed: %s\n", options->program, option->name,
                text, option->allowed);
    else {
        *at += equals ? 0 : 1;
        return;
    }
    exit(SAMPLE_USAGE);
}

void sample_parse(int argc, char **argv, const char *purpose, struct sample_options *options)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    options->program = slash ? slash + 1 : argc > 0 ? argv[0] : "sample";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            print_help(options, purpose);
            exit(SAMPLE_OK);
        }
    }
    for (int i = 1; i < argc; i++)
        parse_one(argv, &i, options);
}
