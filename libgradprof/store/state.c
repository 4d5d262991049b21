/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "libgradprof/store/ingest_private.h"
#include "libgradprof/store/meta.h"

static const char *const counter_names[] = {
#define X(name) #name,
    GP_TALLIES(X)
#undef X
};

static const struct {
    const char *name;
    size_t offset;
} state_fields[] = {
#define X(field) {#field, offsetof(struct gp_state, field)},
    GP_STATE(X)
#undef X
};

/* Written by gp_ingest_create and gp_ingest_finish. */
static const char *const fixed_keys[] = {"schema", "run_id", "finished", "clean_exit"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static uint64_t *field_of(struct gp_state *state, size_t i)
{
    return (uint64_t *)((char *)state + state_fields[i].offset);
}

static bool same(const char *name, const char *key, size_t length)
{
    return strlen(name) == length && memcmp(name, key, length) == 0;
}

bool gp_state_owns(const char *key, size_t length)
{
    for (size_t i = 0; i < COUNT(fixed_keys); i++) {
        if (same(fixed_keys[i], key, length))
            return true;
    }
    for (size_t i = 0; i < COUNT(state_fields); i++) {
        if (same(state_fields[i].name, key, length))
            return true;
    }
    return false;
}

/* --- all of it --------------------------------------------------------------------------------- */

/* `end` without a completed step is the last ledger event; see docs/FORMAT.md. */
static void derive_moments(struct gp_state *state)
{
    state->end_seq = state->last_step_end_seq ? state->last_step_end_seq : state->last_ledger_seq;
    state->exit_seq = state->last_seq;
}

int gp_state_save(struct gp_ingest *ingest)
{
    derive_moments(&ingest->state);
    int status = 0;
    for (size_t i = 0; i < COUNT(state_fields) && status == 0; i++) {
        uint64_t value = *field_of(&ingest->state, i);
        if (value)
            status = gp_meta_put_int64(ingest->db, state_fields[i].name, (int64_t)value);
    }
    for (size_t i = 0; i < GP_TALLY_COUNT && status == 0; i++) {
        if (ingest->tallies.values[i])
            status = gp_counter_put(ingest->db, counter_names[i], ingest->tallies.values[i]);
    }
    return status;
}

int gp_state_load(struct gp_ingest *ingest)
{
    int status = 0;
    for (size_t i = 0; i < COUNT(state_fields) && status == 0; i++)
        status = gp_meta_get(ingest->db, state_fields[i].name, field_of(&ingest->state, i));
    for (size_t i = 0; i < GP_TALLY_COUNT && status == 0; i++)
        status = gp_counter_get(ingest->db, counter_names[i], &ingest->tallies.values[i]);
    return status;
}
