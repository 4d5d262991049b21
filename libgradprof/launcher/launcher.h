/* SPDX-License-Identifier: MIT */
#ifndef GP_LAUNCHER_H
#define GP_LAUNCHER_H

#include <stddef.h>

#define GP_EXIT_USAGE 2            /* bad arguments, or the library cannot be preloaded */
#define GP_EXIT_NOT_EXECUTABLE 126 /* as a shell says it */
#define GP_EXIT_NOT_FOUND 127

/* Runs the command; returns its exit status, or dies of the signal that it died of. `database`: NULL
 * leaves GRADPROF_DB as it is. */
int gp_launcher_run(const char *database, char **command);

void gp_launcher_environment(int markdown);

/* The file that execvp would run. 0, or negative errno. */
int gp_program_find(const char *name, char *ret_path, size_t size);

/* Why LD_PRELOAD cannot work on it, or NULL if nothing speaks against it. */
const char *gp_program_obstacle(const char *path);

#endif
