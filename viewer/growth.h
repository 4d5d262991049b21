/* SPDX-License-Identifier: MIT */
/*
 * Does something grow from step to step? Judged by its survivors: of what was made in each span, how
 * much still lives at the moment of judgement. A leak has survivors from all over the run, at a rate
 * that does not fall; a loop variable from the last span only; an optimiser's state from the first; a
 * full ring buffer from the last few, and older ones lived as long and went; a cache that fills up
 * from the beginning, then none.
 */
#ifndef GV_GROWTH_H
#define GV_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum gv_trend {
    GV_STEADY,  /* nothing to tell */
    GV_ONE_OFF, /* came in the first steps and stayed */
    GV_FULL,    /* grew, and stopped: a plateau */
    GV_WINDOW,  /* old ones go as new ones come: bounded */
    GV_UNSURE,  /* grows, but slower and slower or at odd times: keys of a cache, most likely */
    GV_GROWS
};

struct gv_survivors {       /* arrays by span, 0 ... spans */
    uint32_t *counts;       /* objects that live at the moment */
    uint64_t *bytes;        /* their bytes */
    uint32_t spans;         /* the moment is the end of this span */
    uint32_t recycled;      /* spans whose objects outlived a later step, and are gone */
    uint32_t recycled_life; /* the longest life among them, in spans */
    bool all_differ;        /* no two objects of different spans have the same size: perhaps keys */
};

#define GV_WARM_SPANS 2 /* lazily made state; never part of a slope */

/* Survivors from `first` on are no older than what went before them became: a window that moves. */
bool gv_is_window(const struct gv_survivors *survivors, uint32_t first);

enum gv_trend gv_trend_of(const struct gv_survivors *survivors);

/* Survivors from every span since the first that has some (four in five): as a chain of graphs is. */
bool gv_is_unbroken(const struct gv_survivors *survivors, uint32_t *ret_first);

/* What a span adds: the value that most spans after the warm-up agree on, else their mean. The
 * moment's own span is left out when others are there. */
uint64_t gv_slope(const uint64_t *values, uint32_t first, uint32_t last);

#endif
