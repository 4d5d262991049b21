/* SPDX-License-Identifier: MIT */
#include "libgradprof/torch/slots.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/torch/graph.h"
#include "libgradprof/torch/layout.h"

#define OPS_MAX 1024u         /* kinds of nodes; PyTorch has about 500 */
#define NODE_BYTES_MAX 65536u /* larger objects are not searched to their end */
#define LIST_BYTES_MAX 65536u

struct op {
    uint64_t vtable;
    struct gp_entry *name;
    bool accumulator; /* AccumulateGrad */
    bool shared;      /* made by std::make_shared: not deleted by deleteNode */
    uint32_t count;   /* of slots inside the node, ascending */
    uint32_t offset[GP_OP_SLOTS];
};

static struct op ops[OPS_MAX]; /* [0]: anything beyond */
static _Atomic uint32_t op_count = 1;

/* In front of an object made by std::make_shared are its two counts, 32 bits each and not 0; in front
 * of one made by new, the allocator's size field, or something else that only costs us its slots. */
static bool is_made_shared(const void *node)
{
    uint64_t before;

    memcpy(&before, (const char *)node - sizeof(before), sizeof(before));
    return before >> 32 != 0;
}

static struct op *new_op(uint64_t vtable, const void *node)
{
    struct op *op = op_count < OPS_MAX ? &ops[op_count] : &ops[0];
    char name[256];

    if (!gp_layout_type_name(node, name, sizeof(name)))
        snprintf(name, sizeof(name), "node");
    op->vtable = vtable;
    op->name = gp_name(strcmp(name, "PyNode") == 0 ? "autograd.Function" : name);
    op->accumulator = strcmp(name, "AccumulateGrad") == 0;
    op->shared = op->accumulator || is_made_shared(node);
    if (op != &ops[0])
        op_count++;
    return op;
}

uint32_t gp_op_of(const void *node)
{
    static uint32_t recent[64]; /* under the graph's lock, as all here */
    uint64_t vtable;

    memcpy(&vtable, node, sizeof(vtable));
    uint32_t *place = &recent[vtable >> 4 & 63];
    if (ops[*place].vtable == vtable)
        return *place;
    for (uint32_t i = 1; i < op_count; i++)
        if (ops[i].vtable == vtable)
            return *place = i;
    return *place = (uint32_t)(new_op(vtable, node) - ops);
}

struct gp_entry *gp_op_name(uint32_t op)
{
    return ops[op].name;
}

bool gp_op_is_accumulator(uint32_t op)
{
    return ops[op].accumulator;
}

bool gp_op_is_shared(uint32_t op)
{
    return ops[op].shared;
}

static void note_offset(struct op *op, uint32_t offset)
{
    uint32_t i = 0;

    while (i < op->count && op->offset[i] < offset)
        i++;
    if ((i < op->count && op->offset[i] == offset) || op->count == GP_OP_SLOTS)
        return;
    memmove(&op->offset[i + 1], &op->offset[i], (op->count - i) * sizeof(op->offset[0]));
    op->offset[i] = offset;
    op->count++;
}

static struct gp_entry *slot_entry(const char *op, uint32_t number)
{
    char text[320];

    if (number >= GP_SLOT_ELSEWHERE)
        snprintf(text, sizeof(text), "saved_tensors[%u]", number - GP_SLOT_ELSEWHERE);
    else if (number >= GP_SLOT_LIST)
        snprintf(text, sizeof(text), "tensors[%u]", number - GP_SLOT_LIST);
    else
        snprintf(text, sizeof(text), "%s+%u", op, number);
    return gp_name(text);
}

static const char *text_of(const struct gp_entry *name, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.*s", name == NULL ? 0 : (int)name->content_bytes,
             name == NULL ? "" : (const char *)name->content);
    return buffer;
}

struct gp_entry *gp_op_slot(uint32_t op, uint32_t number)
{
    char text[256];

    if (number < GP_SLOT_LIST)
        note_offset(&ops[op], number);
    return slot_entry(text_of(ops[op].name, text, sizeof(text)), number);
}

const char *gp_graph_op(size_t i, uint32_t *ret_offsets, size_t *ret_count)
{
    static char text[256]; /* the walker is one at a time, under the GIL */

    if (i + 1 >= op_count)
        return NULL;
    *ret_count = ops[i + 1].count;
    memcpy(ret_offsets, ops[i + 1].offset, sizeof(ops[i + 1].offset));
    return text_of(ops[i + 1].name, text, sizeof(text));
}

void gp_graph_slot_name(struct gp_thread *thread, const char *op, uint32_t offset, const char *name)
{
    struct gp_record record = {.type = GP_EV_STRING_TEXT, .length = (uint32_t)strlen(name)};

    record.define_id = gp_name_id(thread, slot_entry(op, offset));
    gp_event_payload(thread, &record, name, record.length);
}

/* --- where a tensor lies -------------------------------------------------------------------------- */

/* In a list of the node's: any three words that look like a vector are looked at, by a call that
 * fails where there is no memory. */
static uint64_t find_in_list(const uint64_t *words, uint64_t impl, bool (*is_free)(uint64_t),
                             uint32_t *ret_number, uint32_t *index)
{
    static uint64_t copy[LIST_BYTES_MAX / 8]; /* under the graph's lock */
    uint64_t bytes = words[1] - words[0];
    struct iovec to = {copy, bytes}, from = {(void *)(uintptr_t)words[0], bytes};

    if (words[0] < 65536 || words[1] <= words[0] || words[2] < words[1] || bytes % 8 != 0 ||
        bytes > LIST_BYTES_MAX || process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
        return 0;
    for (size_t i = 0; i < bytes / 8; i++)
        if (copy[i] == impl && is_free(words[0] + 8 * i)) {
            *ret_number = GP_SLOT_LIST + (uint32_t)i;
            *index = (uint32_t)i;
            return words[0] + 8 * i;
        }
    return 0;
}

uint64_t gp_slot_find(uint64_t node, uint64_t impl, bool (*is_free)(uint64_t address),
                      uint32_t *ret_number)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)node;
    size_t bytes = malloc_usable_size((void *)(uintptr_t)node), count;
    uint64_t found;
    uint32_t index;

    count = (bytes > NODE_BYTES_MAX ? NODE_BYTES_MAX : bytes) / 8;
    for (size_t i = 1; i < count; i++)
        if (words[i] == impl && is_free(node + 8 * i)) {
            *ret_number = (uint32_t)(8 * i);
            return node + 8 * i;
        }
    for (size_t i = 1; i + 3 <= count; i++)
        if ((found = find_in_list(words + i, impl, is_free, ret_number, &index)) != 0)
            return found;
    return 0;
}
