/* SPDX-License-Identifier: MIT */
/* The bytes of a run.db -> gp_store_open and every row of it; then an ingest that goes on with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/db.h"
#include "libgradprof/store/recover.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/workplace.h"
#include "tests/store/script.h"

#define RUN_ID 0x1234
#define ROWS_MAX 10000 /* a damaged page may point at itself */

static void read_table(struct gp_db *db, const char *table)
{
    struct gp_statement *statement;
    char sql[64];
    snprintf(sql, sizeof(sql), "SELECT * FROM %s LIMIT %d", table, ROWS_MAX);
    if (gp_db_prepare(db, sql, &statement) < 0)
        return;
    while (gp_step(statement) == 1) {
        gp_column_int64(statement, 0);
        gp_column_text(statement, 1);
    }
    gp_statement_destroy(statement);
}

static void read_all(struct gp_db *db)
{
    static const char *const tables[] = {
        "meta",    "string", "device", "module",      "frame",    "stack",  "scope",     "step",
        "node",    "edge",   "saved",  "handle",      "failure",  "clock",  "child",     "counter",
        "handles", "nodes",  "saves",  "allocations", "failures", "frames", "allocation"};
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        read_table(db, tables[i]);
}

static struct log_builder *script(void)
{
    static struct log_builder log;
    if (!log.image) {
        log_builder_init(&log, RUN_ID);
        script_add_run(&log, 5);
    }
    return &log;
}

static void go_on(const char *path)
{
    struct gp_ingest *ingest;
    char error[256];
    struct gp_log_header *header = log_builder_header(script());
    if (gp_ingest_open(path, header, &ingest, error, sizeof(error)) < 0)
        return;
    log_builder_replay(script(), ingest, atomic_load(&header->next));
    gp_ingest_finish(ingest, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_recover_result result;
    struct gp_db *db;
    char error[256];
    const char *path = workplace_db_path();
    workplace_write(path, size, 0, data, size);
    if (gp_store_open(path, &db, &result, NULL, NULL, error, sizeof(error)) == 0) {
        read_all(db);
        gp_db_close(db);
    }
    go_on(path);
    workplace_clear();
    return 0;
}

/* An unfinished database with half of the script in it, as one plain file. */
uint8_t *fuzz_make_seed(size_t *ret_size)
{
    struct gp_ingest *ingest;
    struct gp_db *db;
    char error[256];
    const char *path = workplace_db_path();
    if (gp_ingest_create(path, log_builder_header(script()), &ingest, error, sizeof(error)) < 0 ||
        log_builder_replay(script(), ingest, 70) < 0 || gp_ingest_commit(ingest) < 0)
        abort();
    gp_ingest_abandon(ingest);
    if (gp_db_open(path, GP_DB_READ_WRITE, &db, error, sizeof(error)) < 0 ||
        gp_db_execute(db, "PRAGMA journal_mode = DELETE") < 0)
        abort();
    gp_db_close(db);
    FILE *file = fopen(path, "rb");
    uint8_t *seed = malloc(1 << 20);
    *ret_size = fread(seed, 1, 1 << 20, file);
    fclose(file);
    workplace_clear();
    return seed;
}
