/* SPDX-License-Identifier: MIT */
#include "tests/store/log_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *memory, size_t old_bytes, size_t bytes)
{
    unsigned char *bigger = aligned_alloc(4096, bytes);
    if (!bigger)
        abort();
    memset(bigger, 0, bytes);
    if (memory)
        memcpy(bigger, memory, old_bytes);
    free(memory);
    return bigger;
}

struct gp_log_header *log_builder_header(struct log_builder *builder)
{
    return (struct gp_log_header *)builder->image;
}

static void add_slot(struct log_builder *builder)
{
    if (builder->slots == builder->capacity) {
        size_t bytes = GP_LOG_HEADER_BYTES + builder->slots * GP_SEGMENT_BYTES;
        builder->capacity = builder->capacity ? builder->capacity * 2 : 1;
        builder->image =
            grow(builder->image, bytes, GP_LOG_HEADER_BYTES + builder->capacity * GP_SEGMENT_BYTES);
    }
    struct gp_log_header *header = log_builder_header(builder);
    atomic_store(&header->segment[builder->slots].slot, builder->slots);
    atomic_store(&header->segment[builder->slots].number_plus_1, builder->slots + 1);
    atomic_store(&header->slots, ++builder->slots);
}

void log_builder_init(struct log_builder *builder, uint64_t run_id)
{
    *builder = (struct log_builder){.thread_id = 100};
    builder->image = grow(NULL, 0, GP_LOG_HEADER_BYTES);
    struct gp_log_header *header = log_builder_header(builder);
    header->magic = GP_LOG_MAGIC;
    header->version = GP_LOG_VERSION;
    header->record_bytes = GP_RECORD_BYTES;
    header->segment_records = GP_SEGMENT_RECORDS;
    header->pid = 4321;
    header->start_ns = LOG_BUILDER_START_NS;
    header->start_unix_ns = UINT64_C(1700000000000000000);
    header->run_id = run_id;
    add_slot(builder);
}

void log_builder_finish(struct log_builder *builder)
{
    free(builder->image);
    builder->image = NULL;
}

struct gp_log_view log_builder_view(struct log_builder *builder)
{
    struct gp_log_view view;
    gp_log_view_init(&view, log_builder_header(builder), builder->image + GP_LOG_HEADER_BYTES,
                     builder->slots);
    return view;
}

void log_builder_write(struct log_builder *builder, const char *path)
{
    FILE *file = fopen(path, "wb");
    size_t bytes = GP_LOG_HEADER_BYTES + builder->slots * GP_SEGMENT_BYTES;
    if (!file || fwrite(builder->image, 1, bytes, file) != bytes || fclose(file) != 0) {
        perror(path);
        abort();
    }
}

struct gp_record *log_builder_at(struct log_builder *builder, uint64_t seq)
{
    return (struct gp_record *)(builder->image + GP_LOG_HEADER_BYTES + seq * GP_RECORD_BYTES);
}

uint64_t log_builder_add_payload(struct log_builder *builder, struct gp_record record,
                                 const void *payload, size_t payload_bytes)
{
    struct gp_log_header *header = log_builder_header(builder);
    uint64_t seq = atomic_load(&header->next);
    size_t extra = (payload_bytes + GP_CONTINUATION_BYTES - 1) / GP_CONTINUATION_BYTES;
    while (seq + extra >= builder->slots * (uint64_t)GP_SEGMENT_RECORDS)
        add_slot(builder);
    for (size_t i = 0; i < extra; i++) {
        struct gp_continuation *line = (void *)log_builder_at(builder, seq + 1 + i);
        size_t from = i * GP_CONTINUATION_BYTES, left = payload_bytes - from;
        memcpy(line->payload, (const unsigned char *)payload + from,
               left < GP_CONTINUATION_BYTES ? left : GP_CONTINUATION_BYTES);
        atomic_store(&line->commit, (seq + i + 2) | GP_COMMIT_CONTINUATION);
    }
    record.thread_id = builder->thread_id;
    record.t_ns = LOG_BUILDER_START_NS + builder->t_ns;
    record.extra = (uint8_t)extra;
    atomic_store(&record.commit, seq + 1);
    memcpy(log_builder_at(builder, seq), &record, sizeof(record));
    header = log_builder_header(builder);
    atomic_store(&header->next, seq + 1 + extra);
    builder->t_ns += 1000;
    builder->events++;
    return seq;
}

uint64_t log_builder_add(struct log_builder *builder, struct gp_record record)
{
    return log_builder_add_payload(builder, record, NULL, 0);
}

uint32_t log_builder_string(struct log_builder *builder, const char *text)
{
    struct gp_record record = {.type = GP_EV_STRING, .define_id = ++builder->next_string_id};
    record.length = (uint32_t)strlen(text);
    log_builder_add_payload(builder, record, text, strlen(text));
    return record.define_id;
}

uint32_t log_builder_stack(struct log_builder *builder, const uint64_t *addresses, size_t count)
{
    struct gp_record record = {.type = GP_EV_STACK, .define_id = ++builder->next_stack_id};
    record.length = (uint32_t)count;
    log_builder_add_payload(builder, record, addresses, count * sizeof(*addresses));
    return record.define_id;
}

uint32_t log_builder_scope(struct log_builder *builder, uint32_t parent_id, uint32_t kind,
                           uint32_t name_id)
{
    struct gp_record record = {.type = GP_EV_SCOPE, .define_id = ++builder->next_scope_id};
    record.parent_id = parent_id;
    record.name_id = name_id;
    record.detail = kind;
    log_builder_add(builder, record);
    return record.define_id;
}

uint64_t log_builder_module(struct log_builder *builder, uint64_t base, uint64_t end,
                            const char *path)
{
    unsigned char payload[300] = {0xab, 0xcd, 0xef, 0x01};
    struct gp_record record = {.type = GP_EV_MODULE, .key = base, .a = end, .b = 4};
    record.length = (uint32_t)strlen(path) + 4;
    memcpy(payload + 4, path, strlen(path));
    return log_builder_add_payload(builder, record, payload, record.length);
}

uint64_t log_builder_meta(struct log_builder *builder, const char *key, const char *value)
{
    char payload[300];
    struct gp_record record = {.type = GP_EV_META};
    record.length = (uint32_t)snprintf(payload, sizeof(payload), "%s%c%s", key, 0, value);
    return log_builder_add_payload(builder, record, payload, record.length);
}

uint64_t log_builder_alloc(struct log_builder *builder, uint64_t address, uint64_t size_bytes)
{
    return log_builder_add(builder, (struct gp_record){.type = GP_EV_ALLOC,
                                                       .device_plus_1 = 1,
                                                       .key = address,
                                                       .a = size_bytes,
                                                       .detail = GP_DETAIL(GP_KIND_DEVICE, 0)});
}

uint64_t log_builder_free(struct log_builder *builder, uint64_t address)
{
    return log_builder_add(builder, (struct gp_record){.type = GP_EV_FREE,
                                                       .device_plus_1 = 1,
                                                       .key = address,
                                                       .detail = GP_DETAIL(GP_KIND_DEVICE, 0)});
}

uint64_t log_builder_node(struct log_builder *builder, uint64_t node, uint32_t op_id)
{
    return log_builder_add(builder,
                           (struct gp_record){.type = GP_EV_NODE, .key = node, .name_id = op_id});
}

uint64_t log_builder_save(struct log_builder *builder, uint64_t node, uint32_t slot_id,
                          uint64_t address, uint64_t source)
{
    return log_builder_add(
        builder,
        (struct gp_record){
            .type = GP_EV_SAVE, .key = node, .a = address, .b = source, .name_id = slot_id});
}

uint64_t log_builder_handle(struct log_builder *builder, uint64_t handle, uint32_t name_id,
                            uint64_t address, uint64_t node)
{
    return log_builder_add(
        builder,
        (struct gp_record){
            .type = GP_EV_HANDLE, .key = handle, .a = address, .b = node, .name_id = name_id});
}

uint64_t log_builder_key(struct log_builder *builder, enum gp_event_type type, uint64_t key)
{
    return log_builder_add(builder, (struct gp_record){.type = (uint16_t)type, .key = key});
}

uint64_t log_builder_mark(struct log_builder *builder, enum gp_event_type type)
{
    return log_builder_key(builder, type, 0);
}

int log_builder_replay(struct log_builder *builder, struct gp_ingest *ingest, uint64_t until)
{
    struct gp_log_view view = log_builder_view(builder);
    struct gp_log_event *event = calloc(1, sizeof(*event));
    int status = event ? 0 : -1;
    uint64_t position = gp_ingest_next_seq(ingest);
    while (status == 0 && position < until) {
        if (gp_log_read(&view, position, event) == GP_LOG_EVENT) {
            status = gp_ingest_event(ingest, event->seq, &event->record, event->payload,
                                     event->payload_bytes);
            position = gp_ingest_next_seq(ingest);
        } else {
            status = gp_ingest_skip(ingest, ++position);
        }
    }
    free(event);
    return status;
}
