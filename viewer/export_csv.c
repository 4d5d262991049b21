/* SPDX-License-Identifier: MIT */
/* Every allocation of the run, a row each, in order; RFC 4180, UTF-8, a header line. The columns
 * owner and moment_bytes are filled for what lives at the moment: they add up to the report's. */
#include <inttypes.h>
#include <string.h>

#include "viewer/export.h"
#include "viewer/export_clock.h"
#include "viewer/owners.h"

struct writer {
    struct gv_export *export;
    struct gv_samples clock;
};

static const char columns[] =
    "id,device,level,kind,role,name,size_bytes,owner,moment_bytes,address,stream,thread,step,"
    "scope,alloc_seq,alloc_ns,free_seq,free_ns,function,file,line\n";

/* A field of text: in quotes when it must be, quotes doubled. Lines and tabs stay as they are; what
 * else a terminal would obey is shown as \\xNN. */
static void put_text(FILE *out, const char *text)
{
    if (!text)
        text = "";
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if ((*c < 0x20 && !strchr("\t\r\n", *c)) || *c == 0x7f)
            fprintf(out, "\\x%02x", *c);
        else
            fputc(*c, out);
        if (*c == '"')
            fputc('"', out);
    }
    if (quoted)
        fputc('"', out);
}

static void put_number(FILE *out, struct gp_statement *row, int column)
{
    if (!gp_column_is_null(row, column))
        fprintf(out, "%" PRId64, gp_column_int64(row, column));
}

/* Columns owner and moment_bytes. */
static void put_moment(const struct writer *w, int64_t id)
{
    const struct gv_rows *rows = &w->export->rows;
    uint32_t i = gv_index_find(&rows->allocation_index, id);
    const struct gv_allocation *a = i == GV_NONE ? NULL : &rows->allocations[i];
    if (a && gv_is_device_memory(a))
        fprintf(w->export->out, "%s,%" PRIu64, gv_owner_key(gv_owner_of(&w->export->names, a, 0)),
                gv_bytes_at(a, 0));
    else
        fputs(",0", w->export->out);
}

static int put_site(const struct writer *w, uint32_t stack_id)
{
    FILE *out = w->export->out;
    uint32_t site;
    int r = gv_site_of(w->export->sites, stack_id, &site);
    if (r < 0)
        return r;
    const struct gv_place *place = gv_site_place(w->export->sites, site);
    put_text(out, place ? place->function : NULL);
    fputc(',', out);
    put_text(out, place ? (place->file ? place->file : place->module) : NULL);
    fputc(',', out);
    if (place && place->line)
        fprintf(out, "%" PRIu32, place->line);
    return 0;
}

static int put_row(struct gp_statement *row, void *user)
{
    struct writer *w = user;
    FILE *out = w->export->out;
    char scope[4096];
    for (int column = 0; column < 5; column++) { /* id to role: numbers and the views' own words */
        const char *text = gp_column_text(row, column);
        fprintf(out, "%s,", text ? text : "");
    }
    put_text(out, gv_name(&w->export->names, gv_column_u32(row, 5)));
    fprintf(out, ",%" PRIu64 ",", gv_column_bytes(row, 6));
    put_moment(w, gp_column_int64(row, 0));
    fprintf(out, ",0x%" PRIx64, (uint64_t)gp_column_int64(row, 7));
    for (int column = 8; column < 11; column++) { /* stream, thread, step */
        fputc(',', out);
        put_number(out, row, column);
    }
    gv_scope_path(&w->export->names, gv_column_u32(row, 11), scope, sizeof(scope));
    fputc(',', out);
    put_text(out, scope);
    for (int column = 12; column < 14; column++) { /* alloc, free */
        fputc(',', out);
        put_number(out, row, column);
        fputc(',', out);
        if (!gp_column_is_null(row, column))
            fprintf(out, "%" PRId64, gv_samples_ns(&w->clock, gp_column_int64(row, column)));
    }
    fputc(',', out);
    int r = put_site(w, gv_column_u32(row, 14));
    fputc('\n', out);
    return r;
}

int gv_export_csv(struct gv_export *export)
{
    struct writer w = {.export = export};
    int r = gv_samples_load(&export->query, &w.clock);
    if (r < 0)
        return r;
    fputs(columns, export->out);
    r = gv_each(&export->query,
                "SELECT v.id, v.device_id, v.level, v.kind, v.role, a.name_id, "
                "max(0, min(a.size_bytes, 1 << 48)), a.address, a.stream, a.thread_id, a.step_id, "
                "a.scope_id, a.alloc_seq, "
                "a.free_seq, a.stack_id "
                "FROM allocation a JOIN allocations v ON v.id = a.id ORDER BY a.id",
                NULL, 0, put_row, &w);
    gv_samples_free(&w.clock);
    return r;
}
