/* SPDX-License-Identifier: MIT */
/*
 * The device's own account beside the ledger (table device_sample):
 *
 *   used = context + allocations + slack of pools + slack of graphs + other processes + unexplained
 *
 * "Unexplained" is what the driver takes beyond what was asked of it: it rounds to its granules, loads
 * modules, grows local memory.
 */
#ifndef GV_DEVICE_ACCOUNT_H
#define GV_DEVICE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/query.h"
#include "viewer/run.h"

enum gv_reading {
    GV_READING_FIRST,
    GV_READING_FULLEST,
    GV_READING_REFUSED,
    GV_READING_LAST,
    GV_READING_COUNT
};

struct gv_account_row { /* bytes */
    bool read;          /* there was such a reading */
    int64_t seq;
    uint64_t t_ns;
    uint64_t used, total, allocations, pool_slack, graph_slack, others;
    int64_t unexplained;
};

struct gv_device_account {
    uint32_t device_id;
    uint64_t context_bytes;
    bool others_known; /* else other processes stand within the context */
    uint64_t readings;
    struct gv_account_row rows[GV_READING_COUNT];
};

struct gv_device_accounts {
    struct gv_device_account *devices;
    uint32_t count, capacity;
};

/* Older files have no readings: no devices then. */
int gv_device_accounts_load(struct gv_query *query, const struct gv_run *run,
                            struct gv_device_accounts *ret_accounts);
void gv_device_accounts_free(struct gv_device_accounts *accounts);
const char *gv_reading_key(enum gv_reading reading); /* for JSON */

#endif
