/* SPDX-License-Identifier: MIT */
/*
 * Synthetic event logs for tests: appends events as the profiler does, in memory, and can be written
 * to a file. Addresses of nodes, handles and storages are whatever the test likes. Running out of
 * memory ends the test program.
 */
#ifndef TESTS_STORE_LOG_BUILDER_H
#define TESTS_STORE_LOG_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "libgradprof/log/format.h"
#include "libgradprof/store/ingest.h"
#include "libgradprof/store/log_reader.h"

struct log_builder {
    unsigned char *image;   /* header and slots, as in the file */
    size_t slots, capacity; /* capacity: slots there is memory for */
    uint64_t t_ns;          /* of the next event, since the start; each event adds 1000 */
    uint32_t thread_id;     /* of the next event */
    uint64_t events;        /* so far; continuations are not counted */
    uint32_t next_string_id, next_stack_id, next_scope_id;
};

#define LOG_BUILDER_START_NS UINT64_C(5000000000)

void log_builder_init(struct log_builder *builder, uint64_t run_id);
void log_builder_finish(struct log_builder *builder);
struct gp_log_header *log_builder_header(struct log_builder *builder);
struct gp_log_view log_builder_view(struct log_builder *builder);
void log_builder_write(struct log_builder *builder, const char *path);
struct gp_record *log_builder_at(struct log_builder *builder, uint64_t seq); /* to damage it */

/* The record's type and fields are the caller's; thread, time and commit are filled in. */
uint64_t log_builder_add(struct log_builder *builder, struct gp_record record);
uint64_t log_builder_add_payload(struct log_builder *builder, struct gp_record record,
                                 const void *payload, size_t payload_bytes);

/* Definitions return the id they define. */
uint32_t log_builder_string(struct log_builder *builder, const char *text);
uint32_t log_builder_stack(struct log_builder *builder, const uint64_t *addresses, size_t count);
uint32_t log_builder_scope(struct log_builder *builder, uint32_t parent_id, uint32_t kind,
                           uint32_t name_id);
uint64_t log_builder_module(struct log_builder *builder, uint64_t base, uint64_t end,
                            const char *path);
uint64_t log_builder_meta(struct log_builder *builder, const char *key, const char *value);

/* Everything below is on device 0 and returns the event's seq. */
uint64_t log_builder_alloc(struct log_builder *builder, uint64_t address, uint64_t size_bytes);
uint64_t log_builder_free(struct log_builder *builder, uint64_t address);
uint64_t log_builder_node(struct log_builder *builder, uint64_t node, uint32_t op_id);
uint64_t log_builder_save(struct log_builder *builder, uint64_t node, uint32_t slot_id,
                          uint64_t address, uint64_t source);
uint64_t log_builder_handle(struct log_builder *builder, uint64_t handle, uint32_t name_id,
                            uint64_t address, uint64_t node);
uint64_t log_builder_key(struct log_builder *builder, enum gp_event_type type, uint64_t key);
uint64_t log_builder_mark(struct log_builder *builder,
                          enum gp_event_type type); /* step end, exit */

/* Feeds the events at positions [next_seq, until) to an ingest; 0 or its first error. */
int log_builder_replay(struct log_builder *builder, struct gp_ingest *ingest, uint64_t until);

#endif
