/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/parallel.h"

#include <stdbool.h>
#include <stddef.h>

/* libgomp. omp.h is in gcc's own folder only, so the four names are declared here. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_num_threads(int threads);

struct loop {
    int64_t count, grain;
    ag_range_fn *body;
    void *context;
};

void ag_parallel_set_threads(int threads)
{
    omp_set_num_threads(threads > 0 ? threads : omp_get_num_procs());
}

int ag_parallel_threads(void)
{
    return omp_get_max_threads();
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* This thread's share: whole grains, as even as they can be. */
static void run_share(void *data)
{
    const struct loop *loop = data;
    int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t grains = (loop->count + loop->grain - 1) / loop->grain;
    int64_t begin = grains * thread / threads * loop->grain;
    int64_t end = smaller(grains * (thread + 1) / threads * loop->grain, loop->count);

    if (begin < end)
        loop->body(begin, end, loop->context);
}

void ag_parallel_for(int64_t count, int64_t grain, ag_range_fn *body, void *context)
{
    struct loop loop = {.count = count, .grain = grain, .body = body, .context = context};

    if (count <= 0)
        return;
    if (count < 2 * grain)
        body(0, count, context);
    else
        GOMP_parallel(run_share, &loop, 0, 0);
}
