/* SPDX-License-Identifier: MIT */
/* Finer rows below the owner classes: which slots save how much, who holds what, allocated where. */
#ifndef GV_HOLDERS_H
#define GV_HOLDERS_H

#include "viewer/names.h"
#include "viewer/owners.h"
#include "viewer/rows.h"
#include "viewer/sites.h"
#include "viewer/tally.h"

/* (op, slot) of every live saved slot -> count = slots; bytes = storages in them, each counted once
 * in its row. value = index into ret_first_bytes: of those, what no earlier saved slot of another
 * row holds, so that this column adds up to everything saved. Sorted by bytes. */
int gv_slots_make(const struct gv_rows *rows, int index, struct gv_tally *ret_slots,
                  uint64_t **ret_first_bytes);

/* (op) -> count = live nodes */
int gv_ops_make(const struct gv_rows *rows, int index, struct gv_tally *ret_ops);

/* (owner class, label, site) -> live device allocations; label: name id of the op that saves it or
 * runs, or of the storage's own name; site: where it was allocated. */
int gv_holders_make(struct gv_query *query, const struct gv_rows *rows,
                    const struct gv_names *names, int index, struct gv_sites *sites,
                    struct gv_tally *ret_holders);

#endif
