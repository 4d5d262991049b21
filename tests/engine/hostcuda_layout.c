/* SPDX-License-Identifier: MIT */
/* Do the two headers agree? Exits 77 where the vendor's is not installed. */
#include <stdio.h>
#include <string.h>

#include "engine/hostcuda/hostcuda_runtime.h"
#include "tests/engine/hostcuda_layout.h"

static const struct layout_entry our_layout[] = {LAYOUT_ENTRIES, {NULL, 0}};

int main(void)
{
    int differences = 0;

    if (!vendor_layout) {
        puts("skipped: no CUDA 13 header (cuda_runtime_api.h) here");
        return 77;
    }
    for (int i = 0; our_layout[i].what; i++)
        if (our_layout[i].value != vendor_layout[i].value) {
            printf("%s: %ld, the vendor's %ld\n", our_layout[i].what, our_layout[i].value,
                   vendor_layout[i].value);
            differences++;
        }
    return differences != 0;
}
