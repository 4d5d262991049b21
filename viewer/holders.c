/* SPDX-License-Identifier: MIT */
#include "viewer/holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Live saved slots by storage: those of allocation a are slots[first[a]] ... [first[a + 1] - 1], in
 * order of saving. */
struct by_storage {
    uint32_t *first, *slots;
};

static bool counts(const struct gv_rows *rows, int index, const struct gv_saved *saved)
{
    return (saved->live >> index & 1) && saved->allocation != GV_NONE &&
           (rows->allocations[saved->allocation].live >> index & 1);
}

static int sort_by_storage(const struct gv_rows *rows, int index, struct by_storage *ret)
{
    uint32_t allocations = rows->allocation_index.count;
    ret->first = gv_zeroed((size_t)allocations + 2, sizeof(*ret->first));
    ret->slots = gv_zeroed(rows->saved_count, sizeof(*ret->slots));
    if (!ret->first || !ret->slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < rows->saved_count; i++)
        if (counts(rows, index, &rows->saved[i]))
            ret->first[rows->saved[i].allocation + 2]++;
    for (uint32_t a = 1; a <= allocations; a++)
        ret->first[a + 1] += ret->first[a];
    for (uint32_t i = 0; i < rows->saved_count; i++)
        if (counts(rows, index, &rows->saved[i]))
            ret->slots[ret->first[rows->saved[i].allocation + 1]++] = i;
    return 0;
}

struct slot_sums {
    struct gv_tally *slots;
    uint64_t *first_bytes;
    uint32_t *last_storage; /* by row: the storage counted last, + 1 */
    uint32_t capacity[2];
};

static struct gv_tally_row *slot_row(struct slot_sums *sums, uint32_t op_id, uint32_t slot_id)
{
    uint32_t before = sums->slots->count;
    struct gv_tally_row *row = gv_tally_row(sums->slots, op_id, slot_id, 0);
    if (!row || sums->slots->count == before)
        return row;
    row->value = before;
    if (gv_reserve(&sums->first_bytes, &sums->capacity[0], before, sizeof(*sums->first_bytes)) <
            0 ||
        gv_reserve(&sums->last_storage, &sums->capacity[1], before, sizeof(*sums->last_storage)) <
            0)
        return NULL;
    sums->first_bytes[before] = 0;
    sums->last_storage[before] = 0;
    return row;
}

static int sum_slots(const struct gv_rows *rows, const struct by_storage *order,
                     struct slot_sums *sums)
{
    for (uint32_t a = 0; a < rows->allocation_index.count; a++) {
        uint64_t size_bytes =
            gv_is_device_memory(&rows->allocations[a]) ? rows->allocations[a].size_bytes : 0;
        for (uint32_t i = order->first[a]; i < order->first[a + 1]; i++) {
            const struct gv_saved *saved = &rows->saved[order->slots[i]];
            struct gv_tally_row *row =
                slot_row(sums, rows->nodes[saved->node].op_id, saved->slot_id);
            if (!row)
                return -ENOMEM;
            row->count++;
            if (sums->last_storage[row->value] != a + 1)
                row->bytes += size_bytes;
            sums->last_storage[row->value] = a + 1;
            if (i == order->first[a])
                sums->first_bytes[row->value] += size_bytes;
        }
    }
    return 0;
}

int gv_slots_make(const struct gv_rows *rows, int index, struct gv_tally *ret_slots,
                  uint64_t **ret_first_bytes)
{
    struct by_storage order = {0};
    struct gv_tally slots = {0};
    struct slot_sums sums = {.slots = &slots};
    int r = sort_by_storage(rows, index, &order);
    if (r == 0)
        r = sum_slots(rows, &order, &sums);
    free(order.first);
    free(order.slots);
    free(sums.last_storage);
    if (r < 0) {
        gv_tally_free(&slots);
        free(sums.first_bytes);
        return r;
    }
    gv_tally_sort(&slots);
    *ret_slots = slots;
    *ret_first_bytes = sums.first_bytes;
    return 0;
}

int gv_ops_make(const struct gv_rows *rows, int index, struct gv_tally *ret_ops)
{
    struct gv_tally ops = {0};
    for (uint32_t i = 0; i < rows->node_index.count; i++) {
        if (!(rows->nodes[i].live >> index & 1))
            continue;
        if (gv_tally_add(&ops, rows->nodes[i].op_id, 0, 0, 0) < 0) {
            gv_tally_free(&ops);
            return -ENOMEM;
        }
    }
    gv_tally_sort(&ops);
    *ret_ops = ops;
    return 0;
}

/* By storage: name id of the op whose node saves it (its first slot), 0: none. */
static uint32_t *saving_ops(const struct gv_rows *rows, int index)
{
    uint32_t *ops = gv_zeroed(rows->allocation_index.count, sizeof(*ops));
    for (uint32_t i = ops ? rows->saved_count : 0; i > 0; i--) {
        const struct gv_saved *saved = &rows->saved[i - 1];
        if (counts(rows, index, saved))
            ops[saved->allocation] = rows->nodes[saved->node].op_id;
    }
    return ops;
}

/* By storage: name id of the first named handle on it, 0: none. */
static uint32_t *holding_names(const struct gv_rows *rows, int index)
{
    uint32_t *names = gv_zeroed(rows->allocation_index.count, sizeof(*names));
    for (uint32_t i = names ? rows->handle_count : 0; i > 0; i--) {
        const struct gv_handle *handle = &rows->handles[i - 1];
        if ((handle->live >> index & 1) && handle->allocation != GV_NONE && handle->name_id)
            names[handle->allocation] = handle->name_id;
    }
    return names;
}

static uint32_t label_of(const struct gv_names *names, const struct gv_allocation *a,
                         enum gv_owner owner, uint32_t saving_op, uint32_t holding_name)
{
    switch (owner) {
    case GV_OWNER_SAVED:
        return saving_op;
    case GV_OWNER_HANDLE:
    case GV_OWNER_INPUT:
        return holding_name ? holding_name : a->name_id;
    case GV_OWNER_TEMPORARY:
        return gv_scope_name(names, a->scope_id, GV_SCOPE_OP);
    case GV_OWNER_PARAMETER:
    case GV_OWNER_GRADIENT:
    case GV_OWNER_OPTIMIZER_STATE:
    case GV_OWNER_BUFFER:
        return 0; /* one row for all: their names are many and say little here */
    case GV_OWNER_WORKSPACE:
        return a->name_id ? a->name_id : gv_library_of(&names->libraries, a->stack_id);
    default:
        return a->name_id;
    }
}

int gv_holders_make(struct gv_query *query, const struct gv_rows *rows,
                    const struct gv_names *names, int index, struct gv_sites *sites,
                    struct gv_tally *ret_holders)
{
    struct gv_tally holders = {0};
    uint32_t *ops = saving_ops(rows, index), *held = holding_names(rows, index);
    int r = ops && held ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < rows->allocation_index.count && r == 0; i++) {
        const struct gv_allocation *a = &rows->allocations[i];
        if (!(a->live >> index & 1) || !gv_is_device_memory(a))
            continue;
        uint32_t site;
        enum gv_owner owner = gv_owner_of(names, a, index);
        r = gv_site_of(sites, a->stack_id, &site);
        if (r == 0)
            r = gv_tally_add(&holders, owner, label_of(names, a, owner, ops[i], held[i]), site,
                             gv_bytes_at(a, index));
    }
    free(ops);
    free(held);
    if (r < 0) {
        gv_tally_free(&holders);
        return query->error[0] ? r : gv_fail(query, r, "%s: not enough memory", query->path);
    }
    gv_tally_sort(&holders);
    *ret_holders = holders;
    return 0;
}
