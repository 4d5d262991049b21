/* SPDX-License-Identifier: MIT */
/*
 * The few fields of PyTorch's own objects that are read directly. None of the offsets is taken on
 * trust: each is found at run time among candidates by a value that is known otherwise (a live block,
 * a node just handed out), and nothing is read through one before that.
 */
#ifndef GP_TORCH_LAYOUT_H
#define GP_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_EDGES_MAX 64u /* of one node; further ones are left out, counted */

/* Start of the storage of a c10::TensorImpl. 0: none, or the layout is not known (yet). */
uint64_t gp_layout_storage(const void *impl);
bool gp_layout_knows_storage(void);

/* The nodes that `node` has edges to, NULL where an input needs no gradient; `known[0..count)` are
 * edges handed out just before. Returns how many. */
size_t gp_layout_edges(const void *node, const uint64_t *known, size_t count, uint64_t *ret_inputs);
bool gp_layout_knows_edges(void);

/* The last name of the object's C++ type, "ConvolutionBackward0". False: no type information. */
bool gp_layout_type_name(const void *object, char *ret_name, size_t size);

#endif
