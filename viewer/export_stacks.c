/* SPDX-License-Identifier: MIT */
#include "viewer/export_stacks.h"

#include <stdlib.h>

int gv_export_stacks(const struct gv_export *export, struct gv_tally *ret_stacks)
{
    const struct gv_rows *rows = &export->rows;
    struct gv_tally stacks = {0};
    for (uint32_t i = 0; i < rows->allocation_index.count; i++) {
        const struct gv_allocation *a = &rows->allocations[i];
        if (!gv_is_device_memory(a))
            continue;
        enum gv_owner owner = gv_owner_of(&export->names, a, 0);
        int r = gv_tally_add(&stacks, a->stack_id, owner, 0, gv_bytes_at(a, 0));
        if (r < 0) {
            gv_tally_free(&stacks);
            return r;
        }
    }
    gv_tally_sort(&stacks);
    *ret_stacks = stacks;
    return 0;
}

int gv_export_frames(const struct gv_export *export, uint32_t stack_id,
                     struct gv_place ret_places[GV_EXPORT_FRAMES], int *ret_count)
{
    int r = gv_stack_places(export->sites, stack_id, ret_places, GV_EXPORT_FRAMES, ret_count);
    if (r == 0 && *ret_count == 0) {
        ret_places[0] = (struct gv_place){.function = "(no call stack)"};
        *ret_count = 1;
    }
    return r;
}

char *gv_export_title(const struct gv_export *export, const char *what)
{
    char moment[64], *title = NULL;
    const char *program = gv_meta_text(&export->run, "argv");
    if (asprintf(&title, "%s: %s at %s", program ? program : "?", what,
                 gv_moment_name(&export->moment, moment, sizeof(moment))) < 0)
        return NULL;
    return title;
}
