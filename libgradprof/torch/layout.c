/* SPDX-License-Identifier: MIT */
#include "libgradprof/torch/layout.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/torch/blocks.h"

#define POINTER_MIN 65536u
#define NODE_SCAN_BYTES 256u /* next_edges_ of every version lies in the base class, below this */
#define EDGE_BYTES 24u       /* shared_ptr<Node>, uint32_t */
#define UNKNOWN 0u

static _Atomic size_t storage_offset = UNKNOWN; /* of the intrusive_ptr_target's first field */
static _Atomic size_t edges_offset = UNKNOWN;

static uint64_t word_at(const void *object, size_t offset)
{
    uint64_t word;

    memcpy(&word, (const char *)object + offset, sizeof(word));
    return word;
}

static bool is_pointer(uint64_t word)
{
    return word >= POINTER_MIN && word < UINT64_C(1) << 47 && word % 8 == 0;
}

/* --- TensorImpl -> storage ---------------------------------------------------------------------- */

/* Both TensorImpl and StorageImpl begin with a vtable and the reference counts: two words up to 2.9,
 * one from then on. The first field of one is the Storage, of the other the data pointer. */
static uint64_t storage_by(const void *impl, size_t offset)
{
    uint64_t storage = word_at(impl, offset);

    return is_pointer(storage) ? word_at((const void *)(uintptr_t)storage, offset) : 0;
}

uint64_t gp_layout_storage(const void *impl)
{
    static const size_t candidates[] = {24, 16};
    size_t offset = atomic_load_explicit(&storage_offset, memory_order_relaxed);

    if (offset != UNKNOWN)
        return storage_by(impl, offset);
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        uint64_t address = storage_by(impl, candidates[i]);
        if (gp_blocks_is_start(address)) {
            atomic_store_explicit(&storage_offset, candidates[i], memory_order_relaxed);
            return address;
        }
    }
    return 0;
}

bool gp_layout_knows_storage(void)
{
    return atomic_load_explicit(&storage_offset, memory_order_relaxed) != UNKNOWN;
}

/* --- node -> inputs ------------------------------------------------------------------------------ */

/* A vector of edges at `offset`: how many, or 0. */
static size_t edges_at(const void *node, size_t offset, const char **ret_first)
{
    uint64_t begin = word_at(node, offset), end = word_at(node, offset + 8);
    uint64_t limit = word_at(node, offset + 16);

    if (!is_pointer(begin) || end < begin || limit < end || (end - begin) % EDGE_BYTES != 0)
        return 0;
    *ret_first = (const char *)(uintptr_t)begin;
    return (size_t)(end - begin) / EDGE_BYTES;
}

/* The vector that holds exactly what was handed out, as far as it goes. */
static size_t find_edges(const void *node, const uint64_t *known, size_t count)
{
    size_t usable = malloc_usable_size((void *)(uintptr_t)node);

    for (size_t offset = 8; offset + 24 <= usable && offset < NODE_SCAN_BYTES; offset += 8) {
        const char *first;
        size_t found = edges_at(node, offset, &first), matches = 0, nodes = 0;
        if (found == 0 || found > count)
            continue;
        if (malloc_usable_size((void *)(uintptr_t)first) < found * EDGE_BYTES)
            continue;
        for (size_t i = 0; i < found; i++) {
            matches += word_at(first, i * EDGE_BYTES) == known[count - found + i];
            nodes += known[count - found + i] != 0;
        }
        if (matches == found && nodes > 0)
            return offset;
    }
    return UNKNOWN;
}

size_t gp_layout_edges(const void *node, const uint64_t *known, size_t count, uint64_t *ret_inputs)
{
    size_t offset = atomic_load_explicit(&edges_offset, memory_order_relaxed), found;
    const char *first;

    if (offset == UNKNOWN && count > 0) {
        offset = find_edges(node, known, count);
        atomic_store_explicit(&edges_offset, offset, memory_order_relaxed);
    }
    if (offset == UNKNOWN)
        return 0;
    found = edges_at(node, offset, &first);
    if (found > GP_EDGES_MAX) {
        gp_count(GP_COUNTER_torch_cut_edges);
        found = GP_EDGES_MAX;
    }
    for (size_t i = 0; i < found; i++)
        ret_inputs[i] = word_at(first, i * EDGE_BYTES);
    return found;
}

bool gp_layout_knows_edges(void)
{
    return atomic_load_explicit(&edges_offset, memory_order_relaxed) != UNKNOWN;
}

/* --- names --------------------------------------------------------------------------------------- */

/* Itanium ABI: the word before the vtable's functions is the type_info, its second word the name. */
bool gp_layout_type_name(const void *object, char *ret_name, size_t size)
{
    const void *vtable = (const void *)(uintptr_t)word_at(object, 0);
    const void *type = (const void *)(uintptr_t)word_at((const char *)vtable - 8, 0);
    const char *mangled, *last = NULL;
    size_t length = 0;

    if (!is_pointer((uintptr_t)type))
        return false;
    mangled = (const char *)(uintptr_t)word_at(type, 8);
    mangled += *mangled == '*';
    mangled += *mangled == 'N';
    while (*mangled >= '1' && *mangled <= '9') {
        char *end;
        length = strtoul(mangled, &end, 10);
        if (strnlen(end, length) < length)
            return false;
        last = end;
        mangled = end + length;
    }
    if (last == NULL || length >= size)
        return false;
    memcpy(ret_name, last, length);
    ret_name[length] = 0;
    return true;
}
