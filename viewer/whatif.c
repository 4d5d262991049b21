/* SPDX-License-Identifier: MIT */
#include "viewer/whatif.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/recover.h"
#include "viewer/replay.h"
#include "viewer/units.h"

struct job {
    struct gv_query query;
    struct gv_names names;
    struct gv_run run;
    struct gv_replay replay;
    struct gv_whatif whatif;
    const struct gv_step **steps; /* completed, by their close */
    uint32_t step_count;
};

static int apply(struct job *job, const struct gv_extra *change)
{
    static const struct {
        const char *name;
        uint32_t (*function)(struct gv_replay *replay, const struct gv_names *names,
                             const char *what);
        const char *nothing;
    } changes[] = {
        {"--detach", gv_replay_detach, "no variable or edge of that name holds a graph"},
        {"--no-grad", gv_replay_no_grad, "no node was made in a scope of that name"},
        {"--checkpoint", gv_replay_checkpoint, "no node was made in a scope of that name"},
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (strcmp(changes[i].name, change->name) != 0)
            continue;
        if (changes[i].function(&job->replay, &job->names, change->value) == 0)
            return gv_fail(&job->query, -EINVAL, "%s '%.200s': %s", change->name, change->value,
                           changes[i].nothing);
    }
    return 0;
}

static int by_end(const void *left, const void *right)
{
    const struct gv_step *a = *(const struct gv_step *const *)left;
    const struct gv_step *b = *(const struct gv_step *const *)right;
    if (a->end_seq != b->end_seq)
        return a->end_seq < b->end_seq ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int sort_steps(struct job *job)
{
    job->steps = calloc((size_t)job->run.step_count + 1, sizeof(struct gv_step *));
    job->whatif.steps = calloc((size_t)job->run.step_count + 1, sizeof(*job->whatif.steps));
    if (!job->steps || !job->whatif.steps)
        return -ENOMEM;
    for (uint32_t i = 0; i < job->run.step_count; i++)
        if (job->run.steps[i].completed)
            job->steps[job->step_count++] = &job->run.steps[i];
    if (job->step_count > 1)
        qsort(job->steps, job->step_count, sizeof(struct gv_step *), by_end);
    for (uint32_t i = 0; i < job->step_count; i++)
        job->whatif.steps[i].id = job->steps[i]->id;
    job->whatif.step_count = job->step_count;
    return 0;
}

static void close_steps(const struct job *job, uint32_t *next, int64_t before_seq, uint64_t live,
                        uint64_t *step_peak, bool changed)
{
    for (; *next < job->step_count && job->steps[*next]->end_seq < before_seq; ++*next) {
        struct gv_whatif_step *step = &job->whatif.steps[*next];
        if (changed) {
            step->after_bytes = live;
            step->after_peak_bytes = *step_peak;
        } else {
            step->before_bytes = live;
        }
        *step_peak = live;
    }
}

/* The request that the recorded run was refused: does it fit now? It is the last thing recorded. */
static void try_refused(const struct job *job, uint64_t live, struct gv_outlook *outlook)
{
    if (job->run.failure_count == 0 || outlook->fails || job->whatif.limit_bytes == 0)
        return;
    const struct gv_failure *failure = &job->run.failures[job->run.failure_count - 1];
    if (live + failure->asked_bytes <= job->whatif.limit_bytes)
        return;
    outlook->fails = true;
    outlook->fails_in_step = failure->step_id;
}

static int play(struct job *job, bool changed, struct gv_outlook *ret_outlook)
{
    struct gv_replay_change *changes;
    struct gv_outlook outlook = {0};
    uint32_t count, next = 0;
    uint64_t live = 0, step_peak = 0, limit = job->whatif.limit_bytes, at_refusal = 0;
    int64_t refusal =
        job->run.failure_count ? job->run.failures[job->run.failure_count - 1].seq : INT64_MAX;
    int r = gv_replay_timeline(&job->replay, changed, &changes, &count);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < count; i++) {
        close_steps(job, &next, changes[i].seq, live, &step_peak, changed);
        live += (uint64_t)changes[i].bytes;
        if (changes[i].seq <= refusal)
            at_refusal = live;
        if (limit && live > limit && changes[i].bytes > 0 && !outlook.fails) {
            const struct gv_step *step = gv_step_at(&job->run, changes[i].seq);
            outlook.fails = true;
            outlook.fails_in_step = step ? step->id : 0;
        }
        outlook.peak_bytes = live > outlook.peak_bytes ? live : outlook.peak_bytes;
        step_peak = live > step_peak ? live : step_peak;
    }
    close_steps(job, &next, INT64_MAX, live, &step_peak, changed);
    if (job->step_count) {
        const struct gv_whatif_step *last = &job->whatif.steps[job->step_count - 1];
        outlook.end_bytes = changed ? last->after_bytes : last->before_bytes;
    }
    try_refused(job, at_refusal, &outlook);
    free(changes);
    *ret_outlook = outlook;
    return 0;
}

static int set_limit(struct job *job, const struct gv_options *options)
{
    const char *text = options->limit_text;
    if (text && (gv_size_parse(text, &job->whatif.limit_bytes) < 0 || !job->whatif.limit_bytes))
        return gv_fail(&job->query, -EINVAL,
                       "bad --limit '%.200s': expected the size of a device, such as 8GiB", text);
    for (uint32_t i = 0; !text && i < job->run.device_count; i++) {
        uint64_t capacity = gv_device_capacity(&job->run.devices[i]);
        if (capacity && (!job->whatif.limit_bytes || capacity < job->whatif.limit_bytes))
            job->whatif.limit_bytes = capacity;
    }
    return 0;
}

static int run_job(struct job *job, const struct gv_options *options)
{
    int r = gv_names_load(&job->query, &job->names);
    if (r == 0)
        r = gv_run_load(&job->query, &job->run);
    if (r == 0)
        r = set_limit(job, options);
    if (r == 0)
        r = gv_replay_load(&job->query, &job->replay);
    if (r == 0)
        r = sort_steps(job);
    for (int i = 0; i < options->extra_count && r == 0; i++)
        r = apply(job, &options->extras[i]);
    if (r == 0)
        r = gv_replay_run(&job->replay, &job->run);
    if (r == 0)
        r = play(job, false, &job->whatif.before);
    if (r == 0)
        r = play(job, true, &job->whatif.after);
    job->whatif.cut_short = job->run.failure_count > 0;
    return r;
}

int gv_whatif_command(const struct gv_options *options, bool color,
                      void (*progress)(void *user, uint64_t done, uint64_t total),
                      void (*end_progress)(bool shown), bool *shown, char *error, size_t error_size)
{
    struct gp_recover_result recovered = {0};
    struct job job = {.query = {.path = options->path, .progress = progress, .user = shown},
                      .whatif = {.options = options}};
    if (options->extra_count == 0 && !options->limit_text) {
        snprintf(error, error_size,
                 "whatif needs a change: --detach, --no-grad, --checkpoint or --limit");
        return -EINVAL;
    }
    int r =
        gp_store_open(options->path, &job.query.db, &recovered, progress, shown, error, error_size);
    if (r < 0) {
        end_progress(*shown);
        return r;
    }
    r = run_job(&job, options);
    end_progress(*shown);
    if (r == 0)
        r = options->json ? gv_whatif_json(&job.whatif, stdout)
                          : gv_whatif_text(&job.whatif, stdout, color);
    if (r < 0)
        snprintf(error, error_size, "%s", job.query.error[0] ? job.query.error : strerror(-r));
    gv_replay_free(&job.replay);
    gv_names_free(&job.names);
    gv_run_free(&job.run);
    free(job.steps);
    free(job.whatif.steps);
    gp_db_close(job.query.db);
    return r;
}
