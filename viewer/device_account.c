/* SPDX-License-Identifier: MIT */
#include "viewer/device_account.h"

#include <stdlib.h>
#include <string.h>

#include "viewer/memory.h"

#define REASON_REFUSED 3 /* enum gp_sample_reason, which run.db stores and never renumbers */

const char *gv_reading_key(enum gv_reading reading)
{
    static const char *const keys[GV_READING_COUNT] = {"first", "fullest", "refused", "last"};
    return keys[reading];
}

static uint64_t slack(struct gp_statement *row, int reserved, int used)
{
    uint64_t have = gv_column_bytes(row, reserved), need = gv_column_bytes(row, used);
    return have > need ? have - need : 0;
}

static struct gv_device_account *account_of(struct gv_device_accounts *accounts, uint32_t device_id)
{
    for (uint32_t i = 0; i < accounts->count; i++)
        if (accounts->devices[i].device_id == device_id)
            return &accounts->devices[i];
    if (gv_reserve(&accounts->devices, &accounts->capacity, accounts->count,
                   sizeof(*accounts->devices)) < 0)
        return NULL;
    struct gv_device_account *account = &accounts->devices[accounts->count++];
    *account = (struct gv_device_account){.device_id = device_id};
    return account;
}

/* seq, t_ns, device, reason, live, used, total, pool reserved, used, graph reserved, used, others */
static int sample_row(struct gp_statement *row, void *user)
{
    struct gv_device_account *account = account_of(user, gv_column_u32(row, 2));
    if (!account)
        return -1;
    struct gv_account_row read = {
        .read = true,
        .seq = gp_column_int64(row, 0),
        .t_ns = gv_column_bytes(row, 1),
        .allocations = gv_column_bytes(row, 4),
        .used = gv_column_bytes(row, 5),
        .total = gv_column_bytes(row, 6),
        .pool_slack = slack(row, 7, 8),
        .graph_slack = slack(row, 9, 10),
        .others = gv_column_bytes(row, 11),
    };
    account->others_known |= !gp_column_is_null(row, 11);
    /* Readings for growth do not ask for other processes: theirs is what it was. */
    if (gp_column_is_null(row, 11) && account->readings)
        read.others = account->rows[GV_READING_LAST].others;
    if (account->readings++ == 0)
        account->rows[GV_READING_FIRST] = read;
    if (read.used >= account->rows[GV_READING_FULLEST].used)
        account->rows[GV_READING_FULLEST] = read;
    if (gp_column_int64(row, 3) == REASON_REFUSED)
        account->rows[GV_READING_REFUSED] = read;
    account->rows[GV_READING_LAST] = read;
    return 0;
}

static uint64_t explained(const struct gv_account_row *row)
{
    return row->allocations + row->pool_slack + row->graph_slack + row->others;
}

static void explain(struct gv_device_account *account, const struct gv_run *run)
{
    const struct gv_account_row *first = &account->rows[GV_READING_FIRST];
    const struct gv_device *device = gv_device_find(run, account->device_id);
    if (device && device->context_bytes >= 0)
        account->context_bytes = (uint64_t)device->context_bytes;
    else if (first->used > explained(first))
        account->context_bytes = first->used - explained(first);
    for (int i = 0; i < GV_READING_COUNT; i++) {
        struct gv_account_row *row = &account->rows[i];
        row->unexplained = (int64_t)(row->used - explained(row) - account->context_bytes);
    }
}

int gv_device_accounts_load(struct gv_query *query, const struct gv_run *run,
                            struct gv_device_accounts *ret_accounts)
{
    struct gv_device_accounts accounts = {0};
    int64_t tables = 0;
    int r = gv_one(query,
                   "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                   "name = 'device_sample'",
                   0, &tables);
    if (r == 0 && tables)
        r = gv_each(query,
                    "SELECT seq, t_ns, device_id, reason, live_bytes, total_bytes - free_bytes, "
                    "total_bytes, pool_reserved_bytes, pool_used_bytes, graph_reserved_bytes, "
                    "graph_used_bytes, other_bytes FROM device_sample ORDER BY seq",
                    NULL, 0, sample_row, &accounts);
    if (r < 0) {
        gv_device_accounts_free(&accounts);
        return r;
    }
    for (uint32_t i = 0; i < accounts.count; i++)
        explain(&accounts.devices[i], run);
    *ret_accounts = accounts;
    return 0;
}

void gv_device_accounts_free(struct gv_device_accounts *accounts)
{
    free(accounts->devices);
    memset(accounts, 0, sizeof(*accounts));
}
