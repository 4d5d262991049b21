/* SPDX-License-Identifier: MIT */
/* The bytes of a policy file -> every setting of it, or one line that says what is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/workplace.h"
#include "viewer/policy.h"

static const char seed[] = "# policy\n"
                           "leaks = fail\nstrict = on\nmax-growth = 512\nmax-peak = 1.5 GiB\n"
                           "max-end = 8MB\nmax-unattributed = 0.5 %\nmin-steps = 12\n"
                           "allow = 0123456789abcdef until 2999-12-31: a reason\n"
                           "allow = y_sum: another one\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gv_policy policy = {0};
    char error[512] = "";
    workplace_write(workplace_db_path(), size, 0, data, size);
    int r = gv_policy_read(&policy, workplace_db_path(), error, sizeof(error));
    if (r == 0)
        r = gv_policy_check(&policy, error, sizeof(error));
    if ((r < 0) != (error[0] != '\0') || strchr(error, '\n'))
        abort(); /* one line exactly when it is refused */
    if (r == 0 && policy.set >> GV_POLICY_PEAK & 1 &&
        policy.limits[GV_POLICY_PEAK] > (uint64_t)1000000000 * 1000000000)
        abort();
    gv_policy_allows(&policy, "0123456789abcdef", "y_sum");
    gv_policy_free(&policy);
    workplace_clear();
    return 0;
}

uint8_t *fuzz_make_seed(size_t *ret_size)
{
    uint8_t *bytes = malloc(sizeof(seed) - 1);
    if (bytes)
        memcpy(bytes, seed, sizeof(seed) - 1);
    *ret_size = sizeof(seed) - 1;
    return bytes;
}
