/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's graph: nodes, their edges and saved tensors, from five calls that libtorch_cpu makes
 * through its own exported symbols. The first node of a process starts its recording.
 *
 * Every function: the thread's guard is up; no lock is held.
 */
#ifndef GP_TORCH_GRAPH_H
#define GP_TORCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_entry;
struct gp_thread;

/* Which of the wrapped calls this PyTorch was seen to make. */
enum gp_seen {
    GP_SEEN_NODE,
    GP_SEEN_EDGE,
    GP_SEEN_SAVE,
    GP_SEEN_RELEASE,
    GP_SEEN_END,
    GP_SEEN_COUNT
};
bool gp_graph_seen(enum gp_seen what);

void gp_graph_saved(struct gp_thread *thread, const void *impl);    /* just constructed */
void gp_graph_edge(struct gp_thread *thread, const void *node);     /* handed out; may be NULL */
void gp_graph_attached(struct gp_thread *thread, const void *node); /* to an output */
void gp_graph_slot_reset(struct gp_thread *thread,
                         const void *slot); /* a SavedVariable, not empty */
void gp_graph_delete(struct gp_thread *thread, const void *node);
/* Saved tensors that still wait for their node; for the thread's own safe points. */
void gp_graph_settle(struct gp_thread *thread);

/* The live node, for walkers: 0 when it is none, else 1; its stack in *ret_stack_id. */
int gp_graph_is_node(uint64_t address, uint32_t *ret_stack_id);

#define GP_OP_SLOTS 16u
/* The i-th kind of node seen so far: its name and where its slots lie, ascending. NULL: no more. */
const char *gp_graph_op(size_t i, uint32_t *ret_offsets, size_t *ret_count);
/* Slots of such nodes at `offset` are called `name`. */
void gp_graph_slot_name(struct gp_thread *thread, const char *op, uint32_t offset,
                        const char *name);

void gp_graph_forked(void);

#endif
