/* SPDX-License-Identifier: MIT */
/* Settings from the environment. The table of variables is config.def. */
#ifndef GP_CORE_CONFIG_H
#define GP_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_DEVICES_MAX 64         /* ordinals above are recorded, but not limited */
#define GP_STACK_DEPTH_MAX 1024u  /* frames; fits GP_EXTRA_MAX continuation records */
#define GP_CONFIG_TEXT_MAX 4096u  /* bytes of a TEXT value, as PATH_MAX */
#define GP_CONFIG_PROBLEMS_MAX 8u /* warnings kept until the first recorded event */

enum gp_unwind_choice { /* order of the words in config.def */
                        GP_UNWIND_AUTO,
                        GP_UNWIND_LIBUNWIND,
                        GP_UNWIND_LIBGCC,
                        GP_UNWIND_FP,
                        GP_UNWIND_OFF,
};

struct gp_memory_limit {
    bool any;
    uint64_t bytes[GP_DEVICES_MAX]; /* 0: not limited */
    bool all_devices;               /* one size was given, for every device */
};

struct gp_config {
    char db[GP_CONFIG_TEXT_MAX]; /* empty: not set */
    char launcher[64];
    bool quiet;
    bool disable;
    uint64_t unwind;      /* enum gp_unwind_choice */
    uint64_t stack_depth; /* frames */
    uint64_t log_limit;   /* bytes */
    struct gp_memory_limit memory_limit;
    unsigned problem_count;
    char problem[GP_CONFIG_PROBLEMS_MAX][256]; /* one line each, without newline */
};

struct gp_option {
    const char *name, *kind, *fallback, *allowed, *help;
};

extern const struct gp_option gp_options[];
extern const size_t gp_option_count;

/* Reads `environment` (as environ). What is wrong falls back to the default and is noted in
 * `problem`. Allocates nothing. */
void gp_config_read(struct gp_config *ret_config, char *const *environment);

/* "8GiB", "512MiB", "1e9", "4096" -> bytes. 0, or -EINVAL. */
int gp_parse_size(const char *text, size_t length, uint64_t *ret_bytes);
int gp_parse_memory_limit(const char *text, struct gp_memory_limit *ret_limit);

#endif
