/* SPDX-License-Identifier: MIT */
/*
 * Where a run is recorded: the name, what happens to an older recording of that name, and who owns it.
 *
 * The owner holds a POSIX write lock on NAME-log for its life: whoever finds the file unlocked knows
 * that its process is gone. The kernel drops the lock with the process, however it ends.
 */
#ifndef GP_CORE_OUTPUT_H
#define GP_CORE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What names are made of; a test fills in its own. */
struct gp_output_identity {
    pid_t pid;
    const char *rank; /* NULL: none is set */
    const char *host;
};

/* The name by `pattern` (GRADPROF_DB; empty: the default). `own_name`: put the process id in, unless
 * the pattern does. 0, or -ENAMETOOLONG. */
int gp_output_name(const char *pattern, const struct gp_output_identity *identity, bool own_name,
                   char *ret_name, size_t size);

/* Chooses a name, moves an older recording away, creates NAME-log and locks it.
 * 0: *ret_fd is the locked file. On failure: negative errno, one line in `error`. */
int gp_output_open(const char *pattern, const struct gp_output_identity *identity, bool forked,
                   char *ret_db_path, char *ret_log_path, size_t size, int *ret_fd, char *error,
                   size_t error_size);

/* From the environment and the system; `host_buffer` holds the host's name. */
void gp_output_identify(struct gp_output_identity *ret_identity, char *host_buffer, size_t size);

#endif
