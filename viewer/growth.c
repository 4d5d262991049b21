/* SPDX-License-Identifier: MIT */
#include "viewer/growth.h"

#include <stdlib.h>

#define EVENTS_MIN 3         /* two points are a line, three are a trend */
#define EVENTS_IRREGULAR 12  /* at odd times, so many are needed */
#define TAIL_FACTOR 2.5      /* silent for longer than this many usual gaps: it stopped */
#define IRREGULAR_SHARE 0.75 /* last third's rate against the first third's */
#define SPREAD_MAX 0.5       /* of gaps: standard deviation against mean; at random it is 1 */
#define SLOWING_MAX 1.8      /* mean gap of the later half against the earlier half's */

struct events { /* spans after the warm-up that have survivors */
    uint32_t count, first, last, largest_gap, smallest_gap;
    uint32_t in_third[3];
    double mean_gap, square_gap; /* mean of the gaps, and of their squares */
};

static struct events events_of(const struct gv_survivors *s)
{
    struct events e = {.smallest_gap = UINT32_MAX};
    for (uint32_t k = GV_WARM_SPANS + 1; k <= s->spans; k++) {
        if (!s->counts[k])
            continue;
        if (e.count++ == 0) {
            e.first = e.last = k;
            continue;
        }
        uint32_t gap = k - e.last;
        e.largest_gap = gap > e.largest_gap ? gap : e.largest_gap;
        e.smallest_gap = gap < e.smallest_gap ? gap : e.smallest_gap;
        e.mean_gap += gap;
        e.square_gap += (double)gap * gap;
        e.last = k;
    }
    uint32_t gaps = e.count > 1 ? e.count - 1 : 1;
    e.mean_gap /= gaps;
    e.square_gap /= gaps;
    uint32_t length = s->spans - e.first + 1;
    for (uint32_t k = e.first; e.count && k <= s->spans; k++)
        if (s->counts[k])
            e.in_third[(uint64_t)(k - e.first) * 3 / length]++;
    return e;
}

/* Mean gap of the later half of the events against the earlier half's. */
static double slowing(const struct gv_survivors *s, const struct events *e)
{
    uint32_t half = e->count / 2, number = 0, middle = e->last;
    for (uint32_t k = e->first; k <= e->last; k++)
        if (s->counts[k] && number++ == half)
            middle = k;
    double earlier = (double)(middle - e->first) / half;
    double later = (double)(e->last - middle) / (e->count - 1 - half);
    return later / earlier;
}

/* As from a loop that keeps something every so many steps, be it with other steps in between. */
static bool is_regular(const struct gv_survivors *s, const struct events *e)
{
    uint32_t length = s->spans - e->first + 1;
    if (e->largest_gap <= e->smallest_gap + 1 || e->count * 10 >= length * 9)
        return true;
    if (s->all_differ)
        return false;
    double variance = e->square_gap - e->mean_gap * e->mean_gap;
    return variance <= SPREAD_MAX * SPREAD_MAX * e->mean_gap * e->mean_gap &&
           slowing(s, e) <= SLOWING_MAX;
}

bool gv_is_window(const struct gv_survivors *s, uint32_t first)
{
    return s->recycled >= 2 && s->spans - first <= s->recycled_life + s->recycled_life / 4 + 1;
}

enum gv_trend gv_trend_of(const struct gv_survivors *s)
{
    struct events e = events_of(s);
    bool early = false;
    for (uint32_t k = 1; k <= GV_WARM_SPANS && k < s->spans; k++)
        early = early || s->counts[k];
    if (e.count >= 2 && gv_is_window(s, e.first))
        return GV_WINDOW;
    if (e.count < EVENTS_MIN)
        return early && s->spans > GV_WARM_SPANS ? GV_ONE_OFF : GV_STEADY;
    if (s->spans - e.last > TAIL_FACTOR * e.mean_gap + 1)
        return GV_FULL;
    if (is_regular(s, &e))
        return GV_GROWS;
    bool lasting = e.in_third[2] >= IRREGULAR_SHARE * e.in_third[0];
    return lasting && e.count >= EVENTS_IRREGULAR ? GV_GROWS : GV_UNSURE;
}

bool gv_is_unbroken(const struct gv_survivors *s, uint32_t *ret_first)
{
    uint32_t first = 0, count = 0;
    for (uint32_t k = 1; k < s->spans; k++) {
        if (!s->counts[k])
            continue;
        first = first ? first : k;
        count++;
    }
    *ret_first = first;
    uint32_t needed = s->spans <= 4 ? 2 : EVENTS_MIN;
    return count >= needed && count * 5 >= (s->spans - first) * 4;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The value that more than half of the sorted ones share. */
static bool majority(const uint64_t *sorted, uint32_t count, uint64_t *ret_value)
{
    uint64_t middle = sorted[count / 2];
    uint32_t same = 0;
    for (uint32_t i = 0; i < count; i++)
        same += sorted[i] == middle;
    *ret_value = middle;
    return same * 2 > count;
}

uint64_t gv_slope(const uint64_t *values, uint32_t first, uint32_t last)
{
    uint64_t sum = 0, value;
    if (last < first)
        return 0;
    uint32_t count = last - first + 1;
    uint64_t *sorted = malloc(count * sizeof(*sorted));
    for (uint32_t i = 0; i < count; i++)
        sum += values[first + i];
    value = (sum + count / 2) / count;
    if (!sorted)
        return value;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = values[first + i];
    qsort(sorted, count, sizeof(*sorted), by_value);
    uint64_t common;
    if (majority(sorted, count, &common) && common)
        value = common;
    free(sorted);
    return value;
}
