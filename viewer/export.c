/* SPDX-License-Identifier: MIT */
#include "viewer/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "viewer/export_file.h"

static void list_formats(char *ret_text, size_t size)
{
    size_t used = 0;
    for (const struct gv_export_format *f = gv_export_formats; f->name && used < size; f++)
        used += (size_t)snprintf(ret_text + used, size - used, "%s%s",
                                 f == gv_export_formats ? ""
                                 : f[1].name            ? ", "
                                                        : " or ",
                                 f->name);
}

static int find_format(const struct gv_options *options, const struct gv_export_format **ret_format,
                       char *error, size_t error_size)
{
    const char *name = gv_extra_value(options, "--as");
    char list[160];
    for (const struct gv_export_format *f = gv_export_formats; name && f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            *ret_format = f;
            return 0;
        }
    }
    list_formats(list, sizeof(list));
    if (name)
        snprintf(error, error_size, "bad --as '%.100s': expected %s", name, list);
    else
        snprintf(error, error_size, "export needs --as FORMAT: %s", list);
    return -EINVAL;
}

static int load(struct gv_export *export, const struct gv_export_format *format, struct gv_at at)
{
    struct gv_query *query = &export->query;
    int r = gv_names_load(query, &export->names);
    if (r == 0)
        r = gv_run_load(query, &export->run);
    if (r == 0)
        r = gv_moment_resolve(query, &export->run, at, &export->moment);
    if (r == 0)
        r = gv_sites_create(query, &export->sites);
    if (r == 0 && format->needs_rows)
        r = gv_rows_load(query, &export->moment.seq, 1, &export->rows);
    return r;
}

static void unload(struct gv_export *export)
{
    gv_sites_destroy(export->sites);
    gv_rows_free(&export->rows);
    gv_run_free(&export->run);
    gv_names_free(&export->names);
    gp_db_close(export->query.db);
}

/* The file is made last: a database that cannot be read leaves nothing behind. */
static int write_file(struct gv_export *export, const struct gv_export_format *format,
                      const char *path, char *error, size_t error_size)
{
    struct gv_file file;
    int r = gv_file_open(path, &file, error, error_size);
    if (r < 0)
        return r;
    export->out = file.out;
    r = format->write(export);
    if (r < 0)
        snprintf(error, error_size, "%s",
                 export->query.error[0] ? export->query.error : strerror(-r));
    return gv_file_close(&file, r, error, error_size);
}

int gv_export_command(const struct gv_options *options,
                      void (*progress)(void *user, uint64_t done, uint64_t total),
                      void (*end_progress)(bool shown), bool *shown, char *error, size_t error_size)
{
    struct gv_export export = {
        .query = {.path = options->path, .progress = progress, .user = shown},
        .limit = options->limit,
    };
    const struct gv_export_format *format;
    const char *path = gv_extra_value(options, "-o");
    int r = find_format(options, &format, error, error_size);
    if (r < 0)
        return r;
    path = path ? path : "-";
    if (format->binary && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
        snprintf(error, error_size, "%s is no text for a terminal: give -o FILE", format->name);
        return -EINVAL;
    }
    r = gp_store_open(options->path, &export.query.db, &export.recovered, progress, shown, error,
                      error_size);
    if (r < 0) {
        end_progress(*shown);
        return r;
    }
    r = load(&export, format, options->at);
    if (r < 0)
        snprintf(error, error_size, "%s",
                 export.query.error[0] ? export.query.error : strerror(-r));
    else
        r = write_file(&export, format, path, error, error_size);
    end_progress(*shown);
    unload(&export);
    return r;
}
