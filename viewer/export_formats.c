/* SPDX-License-Identifier: MIT */
#include "viewer/export.h"

const struct gv_export_format gv_export_formats[] = {
    {"speedscope", "live bytes by call stack, for speedscope", false, true, gv_export_speedscope},
    {"folded", "the same as folded stacks, for flame graph scripts", false, true, gv_export_folded},
    {"pprof", "the same for pprof (protobuf, gzip)", true, true, gv_export_pprof},
    {"csv", "every allocation of the run, a row each", false, true, gv_export_csv},
    {NULL, NULL, false, false, NULL},
};

void gv_export_help(FILE *out)
{
    for (const struct gv_export_format *f = gv_export_formats; f->name; f++)
        fprintf(out, "    %-11s %s\n", f->name, f->what);
}
