/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OR FAIL: a statement of several rows then needs no journal of its own to undo the first ones. A
 * failure ends the transaction anyway. */
static int prepare_insert(struct gp_db *db, enum gp_rows_verb verb, const char *table,
                          const char *columns, size_t count, size_t rows,
                          struct gp_statement **ret_statement)
{
    char sql[512 + GP_ROWS_BATCH * (2 * GP_ROW_COLUMNS_MAX + 3)];
    size_t length = (size_t)snprintf(sql, sizeof(sql), "INSERT OR %s INTO %s(%s) VALUES ",
                                     verb == GP_ROWS_REPLACE ? "REPLACE" : "FAIL", table, columns);
    for (size_t row = 0; row < rows; row++) {
        sql[length++] = row ? ',' : ' ';
        for (size_t column = 0; column < count; column++) {
            sql[length++] = column ? ',' : '(';
            sql[length++] = '?';
        }
        sql[length++] = ')';
    }
    sql[length] = '\0';
    return gp_db_prepare(db, sql, ret_statement);
}

static size_t count_columns(const char *columns)
{
    size_t count = 1;
    for (const char *c = columns; *c; c++)
        count += *c == ',';
    return count;
}

int gp_rows_init(struct gp_rows *rows, struct gp_db *db, enum gp_rows_verb verb, const char *table,
                 const char *columns)
{
    rows->columns = count_columns(columns);
    rows->buffered = 0;
    int status =
        prepare_insert(db, verb, table, columns, rows->columns, GP_ROWS_BATCH, &rows->batch);
    if (status < 0)
        return status;
    return prepare_insert(db, verb, table, columns, rows->columns, 1, &rows->single);
}

void gp_rows_finish(struct gp_rows *rows)
{
    gp_statement_destroy(rows->batch);
    gp_statement_destroy(rows->single);
    rows->batch = rows->single = NULL;
}

static int bind_values(struct gp_statement *statement, const int64_t *values, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        int parameter = (int)i + 1;
        status = values[i] == GP_ROW_NULL ? gp_bind_null(statement, parameter)
                                          : gp_bind_int64(statement, parameter, values[i]);
    }
    return status;
}

static int run(struct gp_statement *statement, const int64_t *values, size_t count)
{
    int status = bind_values(statement, values, count);
    if (status == 0)
        status = gp_step(statement);
    gp_rerun(statement);
    return status;
}

int gp_rows_put(struct gp_rows *rows, const int64_t *values)
{
    memcpy(&rows->values[rows->buffered * rows->columns], values, rows->columns * sizeof(*values));
    if (++rows->buffered < GP_ROWS_BATCH)
        return 0;
    rows->buffered = 0;
    return run(rows->batch, rows->values, GP_ROWS_BATCH * rows->columns);
}

int gp_rows_flush(struct gp_rows *rows)
{
    int status = 0;
    for (size_t i = 0; i < rows->buffered && status == 0; i++)
        status = run(rows->single, &rows->values[i * rows->columns], rows->columns);
    rows->buffered = 0;
    return status;
}

static uint8_t *state_of(const struct gp_table *table, struct gp_object *object)
{
    return (uint8_t *)object + table->kind->state_offset;
}

static int list_add(struct gp_object_list *list, struct gp_object *object)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        void *objects = realloc(list->objects, capacity * sizeof(*list->objects));
        if (!objects)
            return -ENOMEM;
        list->objects = objects;
        list->capacity = capacity;
    }
    list->objects[list->count++] = object;
    return 0;
}

int gp_table_init(struct gp_table *table, struct gp_db *db, const struct gp_table_kind *kind)
{
    table->kind = kind;
    table->slab.object_bytes = kind->object_bytes;
    int status = gp_rows_init(&table->insert, db, GP_ROWS_INSERT, kind->name, kind->columns);
    if (status < 0)
        return status;
    return gp_rows_init(&table->replace, db, GP_ROWS_REPLACE, kind->name, kind->columns);
}

void gp_table_finish(struct gp_table *table)
{
    gp_rows_finish(&table->insert);
    gp_rows_finish(&table->replace);
    free(table->fresh.objects);
    free(table->changed.objects);
    gp_slab_finish(&table->slab);
}

void *gp_table_create(struct gp_table *table, uint64_t seq)
{
    struct gp_object *object = gp_slab_take(&table->slab);
    if (!object || list_add(&table->fresh, object) < 0)
        return NULL;
    object->id = ++table->last_id;
    object->begin_seq = seq;
    *state_of(table, object) = GP_OBJECT_FRESH;
    return object;
}

void *gp_table_adopt(struct gp_table *table, uint64_t id, uint64_t begin_seq)
{
    struct gp_object *object = gp_slab_take(&table->slab);
    if (!object)
        return NULL;
    object->id = id;
    object->begin_seq = begin_seq;
    *state_of(table, object) = GP_OBJECT_STORED;
    return object;
}

int gp_table_touch(struct gp_table *table, struct gp_object *object)
{
    uint8_t *state = state_of(table, object);
    if (*state != GP_OBJECT_STORED)
        return 0;
    *state = GP_OBJECT_CHANGED;
    return list_add(&table->changed, object);
}

int gp_table_end(struct gp_table *table, struct gp_object *object, uint64_t seq)
{
    object->end_seq = seq;
    return gp_table_touch(table, object);
}

/* After its row was written: an ended object is not needed any more. */
static void settle(struct gp_table *table, struct gp_object *object)
{
    *state_of(table, object) = GP_OBJECT_STORED;
    if (object->end_seq)
        gp_slab_give(&table->slab, object);
}

static int compare_ids(const void *left, const void *right)
{
    const struct gp_object *const *a = left, *const *b = right;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static int write_list(struct gp_table *table, struct gp_object_list *list, struct gp_rows *rows)
{
    int64_t values[GP_ROW_COLUMNS_MAX];
    int status = 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        table->kind->values(list->objects[i], values);
        status = gp_rows_put(rows, values);
        settle(table, list->objects[i]);
    }
    list->count = 0;
    return status < 0 ? status : gp_rows_flush(rows);
}

int gp_table_flush(struct gp_table *table)
{
    struct gp_object_list *changed = &table->changed;
    int status = write_list(table, &table->fresh, &table->insert);
    if (status < 0)
        return status;
    if (changed->count > 1)
        qsort(changed->objects, changed->count, sizeof(*changed->objects), compare_ids);
    return write_list(table, changed, &table->replace);
}
