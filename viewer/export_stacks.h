/* SPDX-License-Identifier: MIT */
/* Live device bytes of the moment by call stack and owner class: what folded, speedscope and pprof
 * draw. The sums are the report's. */
#ifndef GV_EXPORT_STACKS_H
#define GV_EXPORT_STACKS_H

#include "viewer/export.h"
#include "viewer/owners.h"
#include "viewer/tally.h"

#define GV_EXPORT_FRAMES 512 /* of a stack, innermost ones; deeper stacks are cut */

/* (stack_id, owner class) -> allocations, bytes; most bytes first. 0 or -ENOMEM. */
int gv_export_stacks(const struct gv_export *export, struct gv_tally *ret_stacks);

/* The places of a stack, innermost first; one "(no call stack)" when there is none. */
int gv_export_frames(const struct gv_export *export, uint32_t stack_id,
                     struct gv_place ret_places[GV_EXPORT_FRAMES], int *ret_count);

/* "./sample_accumulate: live device bytes at the end"; to free. */
char *gv_export_title(const struct gv_export *export, const char *what);

#endif
