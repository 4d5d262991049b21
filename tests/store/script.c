/* SPDX-License-Identifier: MIT */
#include "tests/store/script.h"

#define STORAGE UINT64_C(0x7f0000000000)
#define NODE UINT64_C(0x550000000000)
#define HANDLE UINT64_C(0x560000000000)

struct names {
    uint32_t relu, result, other, x, y_sum, api, stack[2], scope;
};

static struct names add_definitions(struct log_builder *log)
{
    struct names names;
    const uint64_t first[] = {0x1300, 0x1200, 0x1100}, second[] = {0x1400, 0x1200, 0x1100};
    log_builder_meta(log, "argv", "./sample");
    log_builder_module(log, 0x1000, 0x2000, "/bin/sample");
    names.relu = log_builder_string(log, "ReluBackward0");
    names.result = log_builder_string(log, "result");
    names.other = log_builder_string(log, "other");
    names.x = log_builder_string(log, "x");
    names.y_sum = log_builder_string(log, "y_sum");
    names.api = log_builder_string(log, "cudaMalloc");
    names.stack[0] = log_builder_stack(log, first, 3);
    names.stack[1] = log_builder_stack(log, second, 3);
    names.scope = log_builder_scope(log, 0, 1, names.relu);
    log_builder_add(log,
                    (struct gp_record){.type = GP_EV_DEVICE, .device_plus_1 = 1, .a = 1 << 20});
    return names;
}

static void add_alloc(struct log_builder *log, const struct names *names, uint64_t address,
                      enum gp_kind kind)
{
    log_builder_add(log, (struct gp_record){.type = GP_EV_ALLOC,
                                            .device_plus_1 = 1,
                                            .key = address,
                                            .a = 4096,
                                            .stack_id = names->stack[address % 3 == 0],
                                            .scope_id = names->scope,
                                            .detail = GP_DETAIL(kind, 0)});
}

/* One step: a node that lives on until two steps later, with two slots, a handle and storages. */
static void add_step(struct log_builder *log, const struct names *names, unsigned step)
{
    uint64_t storage = STORAGE + step % 5 * 0x10000, node = NODE + step % 5 * 96;
    uint64_t old = (step + 3) % 5; /* of two steps ago */
    log_builder_mark(log, GP_EV_STEP_BEGIN);
    add_alloc(log, names, storage, GP_KIND_ASYNC);
    add_alloc(log, names, storage + 0x1000, GP_KIND_DEVICE);
    log_builder_node(log, node, names->relu);
    if (step > 0)
        log_builder_add(log, (struct gp_record){
                                 .type = GP_EV_EDGE, .key = node, .a = NODE + (step + 4) % 5 * 96});
    log_builder_save(log, node, names->result, storage + 16, 0);
    log_builder_save(log, node, names->other, storage + 0x1000, NODE + (step + 4) % 5 * 96);
    log_builder_handle(log, HANDLE, names->x, storage, node);
    log_builder_add(log, (struct gp_record){.type = GP_EV_HANDLE_NAME,
                                            .key = HANDLE,
                                            .name_id = names->y_sum,
                                            .stack_id = names->stack[1]});
    log->thread_id = 200;
    add_alloc(log, names, storage + 0x3000, GP_KIND_HOST);
    log_builder_key(log, GP_EV_NODE_BACKWARD, node);
    log_builder_free(log, storage + 0x3000);
    log->thread_id = 100;
    log_builder_add(log, (struct gp_record){
                             .type = GP_EV_ROLE, .key = storage, .detail = 4, .name_id = names->x});
    log_builder_add(
        log, (struct gp_record){.type = GP_EV_RELEASE, .key = node, .name_id = names->other});
    if (step % 2)
        log_builder_key(log, GP_EV_HANDLE_DESTROY, HANDLE);
    if (step >= 2) {
        log_builder_key(log, GP_EV_NODE_DESTROY, NODE + old * 96);
        log_builder_free(log, STORAGE + old * 0x10000);
        log_builder_free(log, STORAGE + old * 0x10000 + 0x1000);
    }
    log_builder_mark(log, GP_EV_STEP_END);
}

/* Physical memory, mapped and unmapped, and the device's own account. */
static void add_driver_events(struct log_builder *log)
{
    const uint64_t key = GP_HANDLE_KEY | 5, address = 0x700000000000;
    const struct gp_device_sample sample = {.free = 6 << 20,
                                            .total = 8 << 20,
                                            .pool_reserved = 3000,
                                            .pool_used = 2000,
                                            .graph_reserved = GP_UNKNOWN_BYTES,
                                            .graph_used = GP_UNKNOWN_BYTES,
                                            .others = 100};

    log_builder_add(log, (struct gp_record){.type = GP_EV_ALLOC,
                                            .key = key,
                                            .a = 4096,
                                            .device_plus_1 = 1,
                                            .detail = GP_DETAIL(GP_KIND_PHYSICAL, 0)});
    log_builder_add(log,
                    (struct gp_record){.type = GP_EV_MAP, .key = address, .a = 4096, .b = key});
    log_builder_add(log,
                    (struct gp_record){
                        .type = GP_EV_BLOCK, .key = address + 512, .a = 1024, .device_plus_1 = 1});
    log_builder_add_payload(log,
                            (struct gp_record){.type = GP_EV_DEVICE_SAMPLE,
                                               .device_plus_1 = 1,
                                               .detail = GP_SAMPLE_GROWTH},
                            &sample, sizeof(sample));
    log_builder_key(log, GP_EV_BLOCK_FREE, address + 512);
    log_builder_key(log, GP_EV_UNMAP, address);
    log_builder_free(log, key);
}

void script_add_run(struct log_builder *log, unsigned steps)
{
    struct names names = add_definitions(log);
    const uint64_t address = 0x1500;
    log_builder_mark(log, GP_EV_STEP_BEGIN); /* around all others, never closed */
    for (unsigned step = 0; step < steps; step++)
        add_step(log, &names, step);
    log_builder_free(log, 0x999);
    log_builder_add(log,
                    (struct gp_record){
                        .type = GP_EV_REFUSED, .device_plus_1 = 1, .a = 9, .name_id = names.api});
    log_builder_module(log, 0x1000, 0x2000, "/lib/other.so");
    log_builder_stack(log, &address, 1);
    add_driver_events(log);
    log_builder_key(log, GP_EV_CHILD, 77);
    log_builder_mark(log, GP_EV_EXIT_BEGIN);
    log_builder_add(log, (struct gp_record){.type = GP_EV_RESET, .device_plus_1 = 1});
    log_builder_mark(log, GP_EV_EXIT);
}
