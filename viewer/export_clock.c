/* SPDX-License-Identifier: MIT */
#include "viewer/export_clock.h"

#include <stdlib.h>

#include "viewer/memory.h"

static int sample_row(struct gp_statement *row, void *user)
{
    struct gv_samples *s = user;
    int r = gv_reserve(&s->samples, &s->capacity, s->count, sizeof(*s->samples));
    if (r == 0)
        s->samples[s->count++] =
            (struct gv_sample){gp_column_int64(row, 0), gp_column_int64(row, 1)};
    return r;
}

int gv_samples_load(struct gv_query *query, struct gv_samples *ret_samples)
{
    struct gv_samples samples = {0};
    int r =
        gv_each(query, "SELECT seq, t_ns FROM clock ORDER BY seq", NULL, 0, sample_row, &samples);
    if (r < 0)
        gv_samples_free(&samples);
    else
        *ret_samples = samples;
    return r;
}

void gv_samples_free(struct gv_samples *samples)
{
    free(samples->samples);
    *samples = (struct gv_samples){0};
}

/* How many samples lie at or before `seq`. */
static uint32_t samples_until(const struct gv_samples *s, int64_t seq)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->samples[middle].seq <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t gv_samples_ns(const struct gv_samples *samples, int64_t seq)
{
    uint32_t after = samples_until(samples, seq);
    if (samples->count == 0)
        return 0;
    if (after == 0 || after == samples->count)
        return samples->samples[after ? after - 1 : 0].t_ns;
    const struct gv_sample *a = &samples->samples[after - 1], *b = &samples->samples[after];
    double share = (double)(seq - a->seq) / (double)(b->seq - a->seq);
    return a->t_ns + (int64_t)(share * (double)(b->t_ns - a->t_ns));
}
