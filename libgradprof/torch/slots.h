/* SPDX-License-Identifier: MIT */
/* Kinds of nodes (by their vtable) and their slots: names, and where in a node they lie. */
#ifndef GP_TORCH_SLOTS_H
#define GP_TORCH_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct gp_entry;

/* Numbers of slots: below, the byte offset in the node; then an element of a list; then a tensor
 * that is kept outside of the node. */
#define GP_SLOT_LIST 0x10000u
#define GP_SLOT_ELSEWHERE 0x20000u

/* The caller holds the graph's lock. */
uint32_t gp_op_of(const void *node);
struct gp_entry *gp_op_name(uint32_t op);
bool gp_op_is_accumulator(uint32_t op);
bool gp_op_is_shared(uint32_t op); /* ends without deleteNode; its memory is not searched */
/* The string that stands for the slot: its text becomes its name when that is learnt. */
struct gp_entry *gp_op_slot(uint32_t op, uint32_t number);

/* Where `node` holds the tensor `impl`, in a place that `is_free`; 0: nowhere. */
uint64_t gp_slot_find(uint64_t node, uint64_t impl, bool (*is_free)(uint64_t address),
                      uint32_t *ret_number);

#endif
