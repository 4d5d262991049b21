/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/children.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libgradprof/core/counters.h"

#define ENTRIES 8184u /* 64 KiB; older ones are overwritten, and counted when that loses some */

struct table {
    _Atomic uint64_t next;
    _Atomic uint64_t entry[ENTRIES]; /* parent's id << 32 | child's id */
};

static struct table *table; /* NULL: no memory; children go unlisted */
static uint64_t read_position;
static atomic_flag reading = ATOMIC_FLAG_INIT;

void gp_children_init(void)
{
    void *pages =
        mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    table = pages == MAP_FAILED ? NULL : pages;
}

void gp_children_enter(void)
{
    if (table == NULL)
        return;
    uint64_t position = atomic_fetch_add_explicit(&table->next, 1, memory_order_relaxed);
    atomic_store_explicit(&table->entry[position % ENTRIES],
                          (uint64_t)(uint32_t)getppid() << 32 | (uint32_t)getpid(),
                          memory_order_release);
}

void gp_children_forked(void)
{
    atomic_flag_clear(&reading);
    read_position = table == NULL ? 0 : atomic_load_explicit(&table->next, memory_order_relaxed);
}

static bool next_child(pid_t *ret_child)
{
    uint64_t next = table == NULL ? 0 : atomic_load_explicit(&table->next, memory_order_acquire);

    if (next - read_position > ENTRIES) {
        gp_count(GP_COUNTER_unlisted_children);
        read_position = next - ENTRIES;
    }
    while (read_position < next) {
        _Atomic uint64_t *place = &table->entry[read_position % ENTRIES];
        uint64_t entry = atomic_load_explicit(place, memory_order_acquire);
        if (entry == 0)
            return false; /* being entered */
        read_position++;
        if (entry >> 32 != (uint32_t)getpid())
            continue;
        *ret_child = (pid_t)(uint32_t)entry;
        return true;
    }
    return false;
}

bool gp_children_next(pid_t *ret_child)
{
    bool found;

    if (atomic_flag_test_and_set_explicit(&reading, memory_order_acquire))
        return false; /* another thread lists them just now */
    found = next_child(ret_child);
    atomic_flag_clear_explicit(&reading, memory_order_release);
    return found;
}
