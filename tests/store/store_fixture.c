/* SPDX-License-Identifier: MIT */
#include "tests/store/store_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int store_setup(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof(*fixture));
    const char *parent = getenv("TMPDIR");
    snprintf(fixture->folder, sizeof(fixture->folder), "%.80s/gp-store-XXXXXX",
             parent ? parent : "/tmp");
    if (!mkdtemp(fixture->folder))
        return -1;
    snprintf(fixture->db_path, sizeof(fixture->db_path), "%s/run.db", fixture->folder);
    snprintf(fixture->log_path, sizeof(fixture->log_path), "%s/run.db-log", fixture->folder);
    log_builder_init(&fixture->log, 0x1234);
    *state = fixture;
    return 0;
}

static void remove_folder(const char *folder)
{
    char path[512];
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (unlink(path) < 0)
            rmdir(path);
    }
    if (stream)
        closedir(stream);
    rmdir(folder);
}

int store_teardown(void **state)
{
    struct store_fixture *fixture = *state;
    log_builder_finish(&fixture->log);
    remove_folder(fixture->folder);
    free(fixture);
    return 0;
}

void store_ingest_all(struct store_fixture *fixture)
{
    char error[256] = "";
    struct gp_ingest *ingest;
    struct gp_log_header *header = log_builder_header(&fixture->log);
    if (gp_ingest_create(fixture->db_path, header, &ingest, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    if (log_builder_replay(&fixture->log, ingest, atomic_load(&header->next)) < 0)
        fail_msg("%s", gp_ingest_error(ingest));
    assert_int_equal(gp_ingest_finish(ingest, 0), 0);
}

struct gp_db *store_open_plain(const char *path)
{
    char error[256];
    struct gp_db *db;
    if (gp_db_open(path, GP_DB_READ_ONLY, &db, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    return db;
}

static struct gp_statement *first_row(struct gp_db *db, const char *sql)
{
    struct gp_statement *statement;
    if (gp_db_prepare(db, sql, &statement) < 0)
        fail_msg("%s: %s", sql, gp_db_error(db));
    if (gp_step(statement) != 1)
        fail_msg("%s: no row", sql);
    return statement;
}

int64_t store_int(struct gp_db *db, const char *sql)
{
    struct gp_statement *statement = first_row(db, sql);
    int64_t value = gp_column_is_null(statement, 0) ? -1 : gp_column_int64(statement, 0);
    gp_statement_destroy(statement);
    return value;
}

char *store_text(struct gp_db *db, const char *sql)
{
    struct gp_statement *statement = first_row(db, sql);
    const char *text = gp_column_text(statement, 0);
    char *copy = strdup(text ? text : "NULL");
    gp_statement_destroy(statement);
    return copy;
}

int store_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void dump_query(struct gp_db *db, const char *sql, FILE *stream)
{
    struct gp_statement *statement;
    if (gp_db_prepare(db, sql, &statement) < 0)
        fail_msg("%s: %s", sql, gp_db_error(db));
    while (gp_step(statement) == 1)
        fprintf(stream, "%s\n", gp_column_text(statement, 0));
    gp_statement_destroy(statement);
}

/* SELECT table || quote(column 1) || ',' || quote(column 2) ... in a fixed order. */
static void dump_table(struct gp_db *db, const char *table, FILE *stream)
{
    char sql[256];
    snprintf(
        sql, sizeof(sql),
        "SELECT 'SELECT ''%s:'' || ' || group_concat('quote(' || name || ')', ' || '','' || ') "
        "|| ' AS r FROM %s ORDER BY r' FROM pragma_table_info('%s')",
        table, table, table);
    char *query = store_text(db, sql);
    dump_query(db, query, stream);
    free(query);
}

char *store_dump(const char *path)
{
    static const char *const tables[] = {
        "meta", "string", "device", "module", "frame",   "stack",   "scope", "step", "allocation",
        "node", "edge",   "saved",  "handle", "failure", "counter", "clock", "child"};
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    struct gp_db *db = store_open_plain(path);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        dump_table(db, tables[i], stream);
    gp_db_close(db);
    fclose(stream);
    return text;
}
