/* SPDX-License-Identifier: MIT */
/* "outermost;...;innermost;[owner class] bytes", a line for each call stack and class. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "viewer/export_stacks.h"
#include "viewer/export_text.h"

/* The format has no escapes: what separates frames and lines must not occur in them. */
static void put_frame(FILE *out, const char *label)
{
    for (const unsigned char *c = (const unsigned char *)label; *c; c++) {
        if (*c == ';')
            fputc(',', out);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\x%02x", *c);
        else
            fputc(*c, out);
    }
}

static int put_stack(struct gv_export *export, const struct gv_tally_row *row)
{
    struct gv_place places[GV_EXPORT_FRAMES];
    int count;
    int r = gv_export_frames(export, row->key[0], places, &count);
    for (int i = count - 1; i >= 0 && r == 0; i--) {
        char *label = gv_place_label(&places[i]);
        if (!label)
            return -ENOMEM;
        put_frame(export->out, label);
        fputc(';', export->out);
        free(label);
    }
    if (r == 0)
        fprintf(export->out, "[%s] %" PRIu64 "\n", gv_owner_key((enum gv_owner)row->key[1]),
                row->bytes);
    return r;
}

int gv_export_folded(struct gv_export *export)
{
    struct gv_tally stacks;
    int r = gv_export_stacks(export, &stacks);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < stacks.count && r == 0; i++)
        if (stacks.rows[i].bytes)
            r = put_stack(export, &stacks.rows[i]);
    gv_tally_free(&stacks);
    return r;
}
