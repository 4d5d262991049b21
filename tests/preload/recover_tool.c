/* SPDX-License-Identifier: MIT */
/* recover_tool RUN.DB: finishes the import as gradprof-report does; prints events, holes, lost. */
#include <stdio.h>

#include "libgradprof/store/recover.h"

int main(int argc, char **argv)
{
    struct gp_recover_result result;
    char path[4096], error[512] = "";

    if (argc != 2)
        return 2;
    if (gp_recover(argv[1], path, sizeof(path), &result, NULL, NULL, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    printf("%d %d %llu %llu %llu\n", result.log_found, result.still_running,
           (unsigned long long)result.imported_events, (unsigned long long)result.holes,
           (unsigned long long)result.lost);
    return 0;
}
