/* SPDX-License-Identifier: MIT */
/*
 * oneDNN 2.x by its C interface. The only files of the tree that include the library's header.
 * Status values are enum ag_status.
 */
#ifndef AG_HOST_ONEDNN_H
#define AG_HOST_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dnnl.h>

struct ag_onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attributes; /* scratchpad given by the caller */
};

/* All zero after a failure; finish accepts that. */
int ag_onednn_init(struct ag_onednn *onednn);
void ag_onednn_finish(struct ag_onednn *onednn);
void ag_onednn_version(char *ret_text, size_t size_bytes); /* "oneDNN 2.6.3" */

int ag_onednn_status(dnnl_status_t status);

/* float32, plain row-major unless the strides say otherwise. */
int ag_onednn_plain(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape);
int ag_onednn_strided(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape,
                      const dnnl_dims_t strides);
/* The primitive chooses the layout. */
int ag_onednn_any(dnnl_memory_desc_t *ret_desc, int dims, const dnnl_dims_t shape);

/* A primitive with its arguments. */
#define AG_ONEDNN_MAX_ARGS 6
struct ag_primitive {
    dnnl_primitive_t primitive; /* NULL: nothing to do */
    int count;
    dnnl_exec_arg_t args[AG_ONEDNN_MAX_ARGS];
    size_t scratch_bytes;
};

/* From a description of the operation. A failure leaves *ret_primitive zero. */
int ag_primitive_init(struct ag_primitive *ret_primitive, const struct ag_onednn *onednn,
                      const_dnnl_op_desc_t operation);
/* From one layout to another; nothing to do where they are equal. */
int ag_primitive_init_reorder(struct ag_primitive *ret_primitive, const struct ag_onednn *onednn,
                              const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to);
void ag_primitive_finish(struct ag_primitive *primitive); /* accepts a zeroed one */

/* Layout of the argument `what` (dnnl_query_src_md, ...), owned by the primitive. */
const dnnl_memory_desc_t *ag_primitive_desc(const struct ag_primitive *primitive,
                                            dnnl_query_t what);

/* Declare the argument `arg` (DNNL_ARG_SRC, ...) with its layout. */
int ag_primitive_add(struct ag_primitive *primitive, const struct ag_onednn *onednn, int arg,
                     const dnnl_memory_desc_t *desc);
/* The argument `arg` lies at `address` in the next runs. */
void ag_primitive_set(struct ag_primitive *primitive, int arg, const void *address);
int ag_primitive_run(const struct ag_primitive *primitive, const struct ag_onednn *onednn);

#endif
