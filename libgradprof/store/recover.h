/* SPDX-License-Identifier: MIT */
/* Bring run.db to a state that can be read: import the log a killed process left beside it. */
#ifndef GP_STORE_RECOVER_H
#define GP_STORE_RECOVER_H

#include <stddef.h>
#include <stdint.h>

struct gp_db;

struct gp_recover_result {
    int log_found;     /* a run.db-log lay beside it */
    int still_running; /* its owner is alive: read what is committed so far, import nothing */
    uint64_t imported_events; /* out of the log */
    uint64_t holes;           /* positions whose hook never returned */
    uint64_t lost;            /* positions that are no longer in the log (damage) */
    char note[256];           /* one line for the user, without newline; empty: nothing to say */
};

/* Nothing is imported, and the log stays where it is, when its owner is alive or when it belongs to
 * another run than the database; both are told in `note`.
 *
 * `progress` (may be NULL) is called now and then with events done and to do. On success the log is
 * removed unless the owner is alive or the folder cannot be written; then *ret_result tells and the
 * import goes into a temporary copy whose path is put into `ret_path` (else `path` itself). The copy
 * lies in a temporary folder of its own; both are the caller's to remove.
 *
 * -EINVAL with one line in `error`: the log is not one, or cannot be read at all; or the database is
 * not ours. -ENOSPC, -EACCES, ...: what the import met; it can be repeated. */
int gp_recover(const char *path, char *ret_path, size_t ret_path_size,
               struct gp_recover_result *ret_result,
               void (*progress)(void *user, uint64_t done, uint64_t total), void *user, char *error,
               size_t error_size);

/* gp_recover, then opens read-only and checks that it is one of ours: a database, application id,
 * schema not newer. `error`: one line that says what is wrong, where and what to do. A temporary copy
 * is gone when the database is closed. */
int gp_store_open(const char *path, struct gp_db **ret_db, struct gp_recover_result *ret_result,
                  void (*progress)(void *user, uint64_t done, uint64_t total), void *user,
                  char *error, size_t error_size);

#endif
