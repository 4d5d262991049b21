/* SPDX-License-Identifier: MIT */
/*
 * The parts of ingest. Each part owns its tables of run.db, the live objects behind them, and its
 * events; ingest.c dispatches, owns the transaction and the position in the log.
 *
 *   definitions.c  string, module, frame, stack, scope
 *   ledger.c       allocation, device, failure
 *   graph.c        node, edge, saved
 *   handles.c      handle
 *   steps.c        step
 *   clock.c        clock
 *   state.c        meta, counter: what an interrupted import needs in order to go on
 *   resume.c       rebuilds all of it from the rows
 *
 * Functions return 0 or a negative errno. What is wrong with an event is counted, never an error:
 * errors are out of memory and what SQLite reports.
 */
#ifndef GP_STORE_INGEST_PRIVATE_H
#define GP_STORE_INGEST_PRIVATE_H

#include <stdbool.h>

#include "libgradprof/store/db.h"
#include "libgradprof/store/ingest.h"
#include "libgradprof/store/map.h"
#include "libgradprof/store/ranges.h"
#include "libgradprof/store/rows.h"

/* Larger sizes cannot be addressed: such a record is damaged. */
#define GP_SIZE_MAX_BYTES (UINT64_C(1) << 48)
/* Ids below belong to the profiler (define_id); ids that ingest gives out itself start here. */
#define GP_OWN_ID_BASE (UINT64_C(1) << 31)
#define GP_DEVICES_MAX 255
#define GP_DEVICE_NONE 255u /* in allocation.traits */

struct gp_event {
    uint64_t seq;
    uint64_t t_ns; /* since the run's start, never before an earlier event's */
    const struct gp_record *record;
    const unsigned char *payload;
    size_t payload_bytes; /* >= record->length for definitions: checked before dispatch */
};

/* --- tallies and state ------------------------------------------------------------------------ */

/* Rows of `counter` that ingest itself counts. */
#define GP_TALLIES(X)                                                                              \
    X(unknown_frees)      /* frees of an address that was not live */                              \
    X(invalid_frees)      /* ... that the runtime refused as well */                               \
    X(failed_frees)       /* frees that returned any other error */                                \
    X(missed_frees)       /* an allocation at an address that was still live */                    \
    X(no_device)          /* device allocations without a device */                                \
    X(unknown_addresses)  /* saved, held or given a role, but in no live allocation */             \
    X(unknown_nodes)      /* a node key that was not live */                                       \
    X(unknown_handles)    /* a handle key that was not live */                                     \
    X(unknown_slots)      /* release of a slot that held nothing */                                \
    X(missed_node_ends)   /* a node created at a key that was still live */                        \
    X(missed_handle_ends) /* a handle created at a key that was still live */                      \
    X(missed_releases)    /* a save into a slot that still held something */                       \
    X(unbalanced_steps)   /* the end of a step that was not open */                                \
    X(malformed_events)   /* records that make no sense: damage */                                 \
    X(unknown_events)     /* types of a newer profiler */                                          \
    X(holes)              /* positions whose hook never returned */                                \
    X(lost_events)        /* positions that were no longer in the log */

enum gp_tally {
#define X(name) GP_TALLY_##name,
    GP_TALLIES(X)
#undef X
        GP_TALLY_COUNT
};

/* Numbers that are written to meta at each commit and read back by an import that goes on. Moments
 * are absent from meta while they are 0: nothing worth a moment lies at position 0, which holds the
 * run's first definition. */
#define GP_STATE(X)                                                                                \
    X(ingested_seq)         /* first position that is not in the database */                       \
    X(last_seq)             /* the last event */                                                   \
    X(last_ns)              /* ... and its time */                                                 \
    X(events)               /* events ingested */                                                  \
    X(peak_bytes)           /* most device bytes, over all devices */                              \
    X(peak_seq)             /* ... first reached here */                                           \
    X(end_seq)              /* moment `end` */                                                     \
    X(exit_seq)             /* moment `exit` */                                                    \
    X(oom_seq)              /* moment `oom`: the last failure */                                   \
    X(oom_first_seq)        /* the first failure */                                                \
    X(exit_begin_seq)       /* exit handlers started */                                            \
    X(exit_event_seq)       /* the clean exit's last event */                                      \
    X(last_ledger_seq)      /* last allocation, free or failure before that */                     \
    X(last_step_end_seq)    /* close of the last completed top-level step before that */           \
    X(completed_steps)      /* steps closed by their own end */                                    \
    X(failures)             /* rows of failure */                                                  \
    X(retained_graph_steps) /* see struct gp_ingest_summary */

struct gp_state {
#define X(name) uint64_t name;
    GP_STATE(X)
#undef X
};

struct gp_tallies {
    uint64_t values[GP_TALLY_COUNT];
};

/* --- objects ----------------------------------------------------------------------------------- */

struct gp_allocation {
    struct gp_object object;
    uint64_t address, size_bytes, stream;
    uint64_t parent_id; /* of a block: the allocation it is carved from */
    uint32_t traits, thread_id, stack_id, scope_id, step_id, name_id;
    uint8_t state;
};

struct gp_saved {
    struct gp_object object;
    uint64_t node_id, allocation_id, source_node_id;
    struct gp_saved *next; /* of the same node */
    uint32_t slot_id;
    uint8_t state;
};

struct gp_node {
    struct gp_object object;
    uint64_t key, backward_seq;
    struct gp_saved *saved; /* open slots, newest first */
    uint32_t op_id, thread_id, stack_id, scope_id, step_id;
    uint8_t state;
};

struct gp_handle {
    struct gp_object object;
    uint64_t key, object_id, allocation_id, node_id;
    uint32_t name_id, stack_id, scope_id, step_id;
    uint8_t state;
};

struct gp_step_close { /* what is known of a step when it closes */
    uint64_t seq, ns, bytes, nodes, retained_steps;
};

struct gp_step {
    struct gp_object object; /* end_seq is set when it is completed */
    uint64_t parent_id;
    uint64_t begin_ns, end_ns, begin_bytes, end_bytes, begin_nodes, end_nodes;
    uint64_t peak_bytes, peak_seq; /* since it was the newest open step; see steps.c */
    struct gp_step *below;         /* the next open step of the same thread */
    struct gp_step_close loop_end; /* seq 0: its loop has not ended */
    uint32_t label_id, thread_id;
    uint8_t state;
};

struct gp_mapping {
    struct gp_object object;
    uint64_t allocation_id, key; /* of the physical allocation */
    uint64_t address, size_bytes;
    uint8_t state;
};

/* --- parts ------------------------------------------------------------------------------------- */

struct gp_module {
    uint64_t id, base, end;
};

struct gp_definitions {
    struct gp_map frames;      /* address -> frame id, for the modules now loaded */
    struct gp_map stacks;      /* parent stack << 32 | frame -> stack id */
    struct gp_module *modules; /* in order of loading */
    size_t module_count, module_capacity;
    uint64_t last_frame_id, last_own_stack_id;
    struct gp_statement *insert_string, *insert_module, *insert_frame, *insert_stack, *insert_scope,
        *insert_source, *update_string;
};

struct gp_device {
    uint64_t live_bytes, peak_bytes, peak_seq;
    bool known;   /* has a row */
    bool changed; /* since the last flush */
};

struct gp_ledger {
    struct gp_table allocations;
    struct gp_map by_address;
    struct gp_map blocks;    /* address -> live block; not in by_address, nor in ranges */
    struct gp_ranges ranges; /* made when an address first misses by_address */
    bool ranges_made;
    uint64_t live_bytes; /* of all devices */
    struct gp_device devices[GP_DEVICES_MAX];
    struct gp_statement *insert_device, *update_device, *insert_failure;
};

struct gp_mappings {
    struct gp_table table;
    struct gp_map by_address;
    struct gp_ranges ranges;
};

struct gp_samples {
    struct gp_statement *insert, *set_context;
};

struct gp_graph {
    struct gp_table nodes, saved;
    struct gp_rows edges;
    struct gp_map by_key;
    struct gp_map nodes_of_step; /* step id + 1 -> live nodes */
};

struct gp_handles {
    struct gp_table handles;
    struct gp_map by_key;
};

struct gp_steps {
    struct gp_table table;
    struct gp_step **open; /* in order of opening, over all threads */
    size_t open_count, open_capacity;
    struct gp_map innermost; /* thread id + 1 -> its innermost open step */
};

struct gp_clock {
    struct gp_rows rows;
    bool started;
    uint64_t last_seq, last_ns; /* the last row */
};

struct gp_ingest {
    struct gp_db *db;
    bool in_transaction, changed;
    int status; /* sticky: after an error nothing more is written */
    char error[512];
    uint64_t start_ns;
    struct gp_state state;
    struct gp_tallies tallies;
    struct gp_definitions definitions;
    struct gp_ledger ledger;
    struct gp_mappings mappings;
    struct gp_samples samples;
    struct gp_graph graph;
    struct gp_handles handles;
    struct gp_steps steps;
    struct gp_clock clock;
};

static inline void gp_tally(struct gp_ingest *ingest, enum gp_tally which)
{
    ingest->tallies.values[which]++;
}

/* definitions.c */
int gp_definitions_init(struct gp_definitions *definitions, struct gp_db *db);
void gp_definitions_finish(struct gp_definitions *definitions);
int gp_definitions_event(struct gp_ingest *ingest, const struct gp_event *event);
int gp_definitions_add_module(struct gp_definitions *definitions, struct gp_module module);
/* Remembers that (parent, frame) is `stack_id`; of several, the answer does not depend on order. */
int gp_definitions_add_stack(struct gp_definitions *definitions, uint64_t parent_id,
                             uint64_t frame_id, uint64_t stack_id);
uint64_t gp_definitions_module_at(const struct gp_definitions *definitions, uint64_t address,
                                  uint64_t *ret_base); /* 0: none */

/* ledger.c */
int gp_ledger_init(struct gp_ledger *ledger, struct gp_db *db);
void gp_ledger_finish(struct gp_ledger *ledger);
int gp_ledger_event(struct gp_ingest *ingest, const struct gp_event *event);
int gp_ledger_flush(struct gp_ledger *ledger);
int gp_ledger_adopt(struct gp_ledger *ledger, struct gp_allocation *allocation);
#define GP_LEVEL_BLOCK 1u /* in allocation.traits */
#define GP_ROLE_POOL 7u   /* of device memory that blocks are carved from; not for programs */
static inline bool gp_allocation_is_block(const struct gp_allocation *allocation)
{
    return (allocation->traits >> 8 & 3) == GP_LEVEL_BLOCK;
}
/* The live allocation that `address` lies in. NULL for address 0, and, counted, for one that lies in
 * none. */
int gp_ledger_find(struct gp_ingest *ingest, uint64_t address,
                   struct gp_allocation **ret_allocation);

/* mappings.c */
int gp_mappings_init(struct gp_mappings *mappings, struct gp_db *db);
void gp_mappings_finish(struct gp_mappings *mappings);
int gp_mappings_event(struct gp_ingest *ingest, const struct gp_event *event);
int gp_mappings_adopt(struct gp_mappings *mappings, struct gp_mapping *mapping);
/* The mapping that `address` lies in; NULL: none. */
struct gp_mapping *gp_mappings_find(const struct gp_mappings *mappings, uint64_t address);

/* samples.c */
int gp_samples_init(struct gp_samples *samples, struct gp_db *db);
void gp_samples_finish(struct gp_samples *samples);
int gp_samples_event(struct gp_ingest *ingest, const struct gp_event *event);

/* graph.c */
int gp_graph_init(struct gp_graph *graph, struct gp_db *db);
void gp_graph_finish(struct gp_graph *graph);
int gp_graph_event(struct gp_ingest *ingest, const struct gp_event *event);
int gp_graph_flush(struct gp_graph *graph);
int gp_graph_adopt(struct gp_graph *graph, struct gp_node *node);
/* The id of the live node `key`. 0 for key 0, and, counted, for one that is not live. */
uint64_t gp_graph_resolve(struct gp_ingest *ingest, uint64_t key);
/* Steps that still have nodes, without the newest step and without those still open. */
uint64_t gp_graph_retained_steps(const struct gp_ingest *ingest);

/* handles.c */
int gp_handles_init(struct gp_handles *handles, struct gp_db *db);
void gp_handles_finish(struct gp_handles *handles);
int gp_handles_event(struct gp_ingest *ingest, const struct gp_event *event);

/* steps.c */
int gp_steps_init(struct gp_steps *steps, struct gp_db *db);
void gp_steps_finish(struct gp_steps *steps);
int gp_steps_event(struct gp_ingest *ingest, const struct gp_event *event);
int gp_steps_flush(struct gp_steps *steps);
int gp_steps_adopt(struct gp_steps *steps, struct gp_step *step);
/* The step an event of this thread belongs to; 0: none is open. */
uint32_t gp_steps_current(const struct gp_steps *steps, uint32_t thread_id);
/* Where the loop of the thread's open step ended; 0: it has not. */
uint64_t gp_steps_loop_end(const struct gp_steps *steps, uint32_t thread_id);
void gp_steps_live_bytes(struct gp_steps *steps, uint64_t live_bytes, uint64_t seq);

/* clock.c */
int gp_clock_init(struct gp_clock *clock, struct gp_db *db);
void gp_clock_finish(struct gp_clock *clock);
/* Adds a row when it is time to, or in any case when `exact`. */
int gp_clock_sample(struct gp_clock *clock, uint64_t seq, uint64_t t_ns, bool exact);

/* state.c */
int gp_state_save(struct gp_ingest *ingest);
int gp_state_load(struct gp_ingest *ingest);
bool gp_state_owns(const char *key, size_t length); /* a meta key that only ingest may write */

/* resume.c */
int gp_resume(struct gp_ingest *ingest);

#endif
