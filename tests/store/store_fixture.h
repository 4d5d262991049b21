/* SPDX-License-Identifier: MIT */
/* A temporary folder per test, and questions to a database. Failures end the test by cmocka. */
#ifndef TESTS_STORE_STORE_FIXTURE_H
#define TESTS_STORE_STORE_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/store/db.h"
#include "tests/store/log_builder.h"

struct store_fixture {
    char folder[128];
    char db_path[160];
    char log_path[160];
    struct log_builder log;
};

/* cmocka's setup and teardown: *state = struct store_fixture. The folder goes with everything in it. */
int store_setup(void **state);
int store_teardown(void **state);

/* All events of the fixture's log into a new database, finished. */
void store_ingest_all(struct store_fixture *fixture);

struct gp_db *store_open_plain(const char *path); /* read-only, without recovery */
int64_t store_int(struct gp_db *db,
                  const char *sql);                  /* first column of the first row; NULL is -1 */
char *store_text(struct gp_db *db, const char *sql); /* to be freed; NULL is "NULL" */
int store_file_exists(const char *path);
/* Everything in the database as text, one row a line; to be freed. */
char *store_dump(const char *path);

#define assert_query(db, sql, expected) assert_int_equal(store_int(db, sql), expected)

#endif
