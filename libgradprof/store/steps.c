/* SPDX-License-Identifier: MIT */
/*
 * Peaks. All open steps contain the present, so an older open step contains whatever a newer one sees:
 * only the newest open step's peak is kept up to date, and it is folded into the next older one when
 * it closes. A program that opens steps and never closes them then costs nothing per event.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/ingest_private.h"

static void step_values(const struct gp_object *object, int64_t *ret_values)
{
    const struct gp_step *step = (const struct gp_step *)object;
    bool ended = object->end_seq != 0;
    ret_values[0] = (int64_t)object->id;
    ret_values[1] = gp_row_value(step->parent_id);
    ret_values[2] = gp_row_value(step->label_id);
    ret_values[3] = step->thread_id;
    ret_values[4] = (int64_t)object->begin_seq;
    ret_values[5] = (int64_t)step->begin_ns;
    ret_values[6] = gp_row_value(object->end_seq);
    ret_values[7] = ended ? (int64_t)step->end_ns : GP_ROW_NULL;
    ret_values[8] = (int64_t)step->begin_bytes;
    ret_values[9] = ended ? (int64_t)step->end_bytes : GP_ROW_NULL;
    ret_values[10] = (int64_t)step->peak_bytes;
    ret_values[11] = (int64_t)step->peak_seq;
    ret_values[12] = (int64_t)step->begin_nodes;
    ret_values[13] = ended ? (int64_t)step->end_nodes : GP_ROW_NULL;
}

static const struct gp_table_kind step_kind = {
    .name = "step",
    .columns = "id, parent_id, label_id, thread_id, begin_seq, begin_ns, end_seq, end_ns, "
               "begin_bytes, end_bytes, peak_bytes, peak_seq, begin_nodes, end_nodes",
    .object_bytes = sizeof(struct gp_step),
    .state_offset = offsetof(struct gp_step, state),
    .values = step_values,
};

int gp_steps_init(struct gp_steps *steps, struct gp_db *db)
{
    return gp_table_init(&steps->table, db, &step_kind);
}

void gp_steps_finish(struct gp_steps *steps)
{
    gp_table_finish(&steps->table);
    free(steps->open);
    gp_map_finish(&steps->innermost);
}

static struct gp_step *innermost(const struct gp_steps *steps, uint32_t thread_id)
{
    return gp_map_get_pointer(&steps->innermost, (uint64_t)thread_id + 1);
}

uint32_t gp_steps_current(const struct gp_steps *steps, uint32_t thread_id)
{
    if (steps->open_count == 0)
        return 0;
    const struct gp_step *step = steps->open[steps->open_count - 1];
    if (step->thread_id != thread_id) {
        const struct gp_step *own = innermost(steps, thread_id);
        step = own ? own : step;
    }
    return (uint32_t)step->object.id;
}

uint64_t gp_steps_loop_end(const struct gp_steps *steps, uint32_t thread_id)
{
    const struct gp_step *step = innermost(steps, thread_id);
    return step ? step->loop_end.seq : 0;
}

void gp_steps_live_bytes(struct gp_steps *steps, uint64_t live_bytes, uint64_t seq)
{
    if (steps->open_count == 0)
        return;
    struct gp_step *newest = steps->open[steps->open_count - 1];
    if (live_bytes > newest->peak_bytes) {
        newest->peak_bytes = live_bytes;
        newest->peak_seq = seq;
    }
}

/* The older step also saw what the newer one saw. Of equal peaks the first one counts. */
static int fold_peak(struct gp_steps *steps, struct gp_step *older, const struct gp_step *newer)
{
    if (newer->peak_bytes < older->peak_bytes ||
        (newer->peak_bytes == older->peak_bytes && newer->peak_seq >= older->peak_seq))
        return 0;
    older->peak_bytes = newer->peak_bytes;
    older->peak_seq = newer->peak_seq;
    return gp_table_touch(&steps->table, &older->object);
}

/* The row must get what the newest open step saw since its last flush. */
static int touch_newest(struct gp_steps *steps)
{
    if (steps->open_count == 0)
        return 0;
    return gp_table_touch(&steps->table, &steps->open[steps->open_count - 1]->object);
}

/* Readers see an open step's peak so far. */
int gp_steps_flush(struct gp_steps *steps)
{
    int status = touch_newest(steps);
    for (size_t i = steps->open_count; i-- > 1 && status == 0;)
        status = fold_peak(steps, steps->open[i - 1], steps->open[i]);
    return status < 0 ? status : gp_table_flush(&steps->table);
}

int gp_steps_adopt(struct gp_steps *steps, struct gp_step *step)
{
    if (steps->open_count == steps->open_capacity) {
        size_t capacity = steps->open_capacity ? steps->open_capacity * 2 : 16;
        void *open = realloc(steps->open, capacity * sizeof(*steps->open));
        if (!open)
            return -ENOMEM;
        steps->open = open;
        steps->open_capacity = capacity;
    }
    step->below = innermost(steps, step->thread_id);
    steps->open[steps->open_count++] = step;
    return gp_map_put_pointer(&steps->innermost, (uint64_t)step->thread_id + 1, step);
}

static int on_begin(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_steps *steps = &ingest->steps;
    const struct gp_record *record = event->record;
    const struct gp_step *parent = innermost(steps, record->thread_id);
    int status = touch_newest(steps);
    struct gp_step *step = status < 0 ? NULL : gp_table_create(&steps->table, event->seq);
    if (!step)
        return status < 0 ? status : -ENOMEM;
    step->parent_id = parent ? parent->object.id : 0;
    step->label_id = record->name_id;
    step->thread_id = record->thread_id;
    step->begin_ns = event->t_ns;
    step->begin_bytes = step->peak_bytes = ingest->ledger.live_bytes;
    step->peak_seq = event->seq;
    step->begin_nodes = ingest->graph.by_key.count;
    return gp_steps_adopt(steps, step);
}

/* Takes the innermost open step of the thread out of both lists and settles its peak. */
static int remove_open(struct gp_steps *steps, struct gp_step *step)
{
    size_t at = steps->open_count - 1;
    while (steps->open[at] != step)
        at--;
    int status = at > 0 ? fold_peak(steps, steps->open[at - 1], step) : 0;
    for (size_t i = at + 1; i < steps->open_count && status == 0; i++)
        status = fold_peak(steps, step, steps->open[i]);
    steps->open_count--;
    memmove(&steps->open[at], &steps->open[at + 1],
            (steps->open_count - at) * sizeof(*steps->open));
    uint64_t key = (uint64_t)step->thread_id + 1;
    if (status == 0 && step->below)
        return gp_map_put_pointer(&steps->innermost, key, step->below);
    gp_map_remove(&steps->innermost, key);
    return status;
}

/* Moment `end` follows the last completed outermost step before the tear-down. */
static void note_completed(struct gp_ingest *ingest, const struct gp_step *step,
                           const struct gp_step_close *close)
{
    struct gp_state *state = &ingest->state;
    state->completed_steps++;
    if (step->parent_id || state->exit_begin_seq)
        return;
    state->last_step_end_seq = step->object.end_seq;
    state->retained_graph_steps = close->retained_steps;
}

static struct gp_step_close close_now(struct gp_ingest *ingest, const struct gp_step *step,
                                      const struct gp_event *event)
{
    return (struct gp_step_close){.seq = ingest->state.last_seq,
                                  .ns = event->t_ns,
                                  .bytes = ingest->ledger.live_bytes,
                                  .nodes = ingest->graph.by_key.count,
                                  .retained_steps =
                                      step->parent_id ? 0 : gp_graph_retained_steps(ingest)};
}

/* The newest end counts: the same step may run a helper's helper. */
static int on_loop_end(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_step *step = innermost(&ingest->steps, event->record->thread_id);
    if (step)
        step->loop_end = close_now(ingest, step, event);
    return 0;
}

static int on_end(struct gp_ingest *ingest, const struct gp_event *event)
{
    struct gp_steps *steps = &ingest->steps;
    struct gp_step *step = innermost(steps, event->record->thread_id);
    if (!step) {
        gp_tally(ingest, GP_TALLY_unbalanced_steps);
        return 0;
    }
    int status = remove_open(steps, step);
    bool with_loop = event->record->detail == 1 && step->loop_end.seq != 0;
    struct gp_step_close close = with_loop ? step->loop_end : close_now(ingest, step, event);
    step->end_ns = close.ns;
    step->end_bytes = close.bytes;
    step->end_nodes = close.nodes;
    if (status == 0)
        status = gp_table_end(&steps->table, &step->object, close.seq);
    note_completed(ingest, step, &close);
    return status;
}

int gp_steps_event(struct gp_ingest *ingest, const struct gp_event *event)
{
    const struct gp_state *state = &ingest->state;
    int status = 0;
    if (state->events > 0)
        status = gp_clock_sample(&ingest->clock, state->last_seq, state->last_ns, true);
    if (status == 0)
        status = gp_clock_sample(&ingest->clock, event->seq, event->t_ns, true);
    if (status < 0)
        return status;
    switch (event->record->type) {
    case GP_EV_STEP_BEGIN:
        return on_begin(ingest, event);
    case GP_EV_LOOP_END:
        return on_loop_end(ingest, event);
    default:
        return on_end(ingest, event);
    }
}
