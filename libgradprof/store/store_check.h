/* SPDX-License-Identifier: MIT */
/* Is this file one of our databases? */
#ifndef GP_STORE_STORE_CHECK_H
#define GP_STORE_STORE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct gp_db;

/* What can be told from the file without SQLite: there, a regular file, readable, a database.
 * 0 or a negative errno with one line in `error`. */
int gp_store_check_file(const char *path, char *error, size_t error_size);

/* An open database: 0 ours; otherwise a negative errno with one line in `error`. `*ret_empty`: there
 * is nothing in it at all, as when a run was killed before its first transaction (-EINVAL too). */
int gp_store_check(struct gp_db *db, const char *path, bool *ret_empty, char *error,
                   size_t error_size);

bool gp_store_is_wal(const char *path); /* its last writer left it in write-ahead mode */

#endif
