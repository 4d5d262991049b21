/* SPDX-License-Identifier: MIT */
#include "libgradprof/torch/blocks.h"

#include <pthread.h>
#include <unistd.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/torch/live.h"

enum { BLOCK_KEY, BLOCK_BYTES, BLOCK_STACK, BLOCK_TYPE, BLOCK_EPOCH, BLOCK_WORDS };

#define CPU_DEVICE_PLUS_1 (GP_DEVICE_CPU + 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_live blocks = {.words = BLOCK_WORDS};
static uint32_t cpu_epoch; /* run that records CPU blocks; 0: none */

void gp_blocks_forked(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    cpu_epoch = 0;
}

bool gp_blocks_is_start(uint64_t address)
{
    pthread_mutex_lock(&lock);
    bool found = address != 0 && gp_live_find(&blocks, address) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

bool gp_blocks_is_recorded(uint64_t address)
{
    pthread_mutex_lock(&lock);
    const uint64_t *block = address == 0 ? NULL : gp_live_find(&blocks, address);
    bool recorded =
        block != NULL && block[BLOCK_EPOCH] != 0 &&
        block[BLOCK_EPOCH] == atomic_load_explicit(&gp_session.epoch, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return recorded;
}

uint32_t gp_blocks_stack(uint64_t address)
{
    pthread_mutex_lock(&lock);
    const uint64_t *block = address == 0 ? NULL : gp_live_find(&blocks, address);
    uint32_t stack_id = block == NULL ? 0 : (uint32_t)block[BLOCK_STACK];
    pthread_mutex_unlock(&lock);
    return stack_id;
}

static void log_cpu_block(struct gp_thread *thread, const uint64_t *block, uint32_t scope_id)
{
    struct gp_record record = {.type = GP_EV_ALLOC,
                               .device_plus_1 = CPU_DEVICE_PLUS_1,
                               .key = block[BLOCK_KEY],
                               .a = block[BLOCK_BYTES],
                               .stack_id = (uint32_t)block[BLOCK_STACK],
                               .scope_id = scope_id,
                               .detail = GP_DETAIL(GP_KIND_CPU, 0)};

    gp_event(thread, &record);
}

static void log_cpu_device(struct gp_thread *thread)
{
    struct gp_record record = {
        .type = GP_EV_DEVICE, .device_plus_1 = CPU_DEVICE_PLUS_1, .detail = GP_RUNTIME_CPU};
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    if (pages > 0 && page_bytes > 0)
        record.a = (uint64_t)pages * (uint64_t)page_bytes;
    record.name_id = gp_name_id(thread, gp_name("cpu"));
    gp_event(thread, &record);
}

static void record_cpu(struct gp_thread *thread)
{
    uint32_t epoch = atomic_load_explicit(&gp_session.epoch, memory_order_relaxed);

    pthread_mutex_lock(&lock);
    if (cpu_epoch != epoch) {
        cpu_epoch = epoch;
        log_cpu_device(thread);
        for (size_t i = 0; blocks.records != NULL && i <= blocks.mask; i++) {
            uint64_t *block = gp_live_at(&blocks, i);
            if (block == NULL || block[BLOCK_TYPE] != GP_TORCH_CPU)
                continue;
            block[BLOCK_STACK] = 0; /* of a run before this one, if any */
            block[BLOCK_EPOCH] = epoch;
            log_cpu_block(thread, block, 0);
        }
    }
    pthread_mutex_unlock(&lock);
}

bool gp_blocks_start(struct gp_thread *thread)
{
    bool first = atomic_load_explicit(&gp_session.state, memory_order_acquire) == GP_IDLE;

    if (!gp_session_ready(thread, true))
        return false;
    if (first)
        record_cpu(thread);
    return true;
}

static void log_gpu_block(struct gp_thread *thread, const uint64_t *block, uint32_t scope_id,
                          int index)
{
    struct gp_record record = {.type = GP_EV_BLOCK,
                               .device_plus_1 = (uint8_t)(index < 0 ? 0 : index + 1),
                               .key = block[BLOCK_KEY],
                               .a = block[BLOCK_BYTES],
                               .stack_id = (uint32_t)block[BLOCK_STACK],
                               .scope_id = scope_id};

    gp_event(thread, &record);
}

/* A GPU's allocator reports with its own mutex held: no native unwinder there, which may take the
 * loader's lock. */
uint32_t gp_blocks_stack_here(struct gp_thread *thread, int type)
{
    return type == GP_TORCH_CPU ? gp_python_stack_id(thread) : gp_python_only_stack_id(thread);
}

static void allocated(struct gp_thread *thread, uint64_t address, uint64_t bytes, int type,
                      int index, bool recorded)
{
    uint32_t stack_id = recorded ? gp_blocks_stack_here(thread, type) : 0;
    uint32_t scope_id = recorded ? gp_current_scope_id(thread) : 0;

    pthread_mutex_lock(&lock);
    uint64_t *block = gp_live_add(&blocks, address);
    if (block != NULL) {
        block[BLOCK_BYTES] = bytes;
        block[BLOCK_TYPE] = (uint64_t)type;
        block[BLOCK_STACK] = stack_id;
        block[BLOCK_EPOCH] =
            recorded ? atomic_load_explicit(&gp_session.epoch, memory_order_relaxed) : 0;
        if (recorded && type == GP_TORCH_CPU)
            log_cpu_block(thread, block, scope_id);
        else if (recorded)
            log_gpu_block(thread, block, scope_id, index);
    } else {
        gp_count(GP_COUNTER_uninterned);
    }
    pthread_mutex_unlock(&lock);
}

static void freed(struct gp_thread *thread, uint64_t address, int type, bool recorded)
{
    struct gp_record record = {.type = GP_EV_BLOCK_FREE, .key = address};

    if (type == GP_TORCH_CPU)
        record = (struct gp_record){.type = GP_EV_FREE,
                                    .device_plus_1 = CPU_DEVICE_PLUS_1,
                                    .key = address,
                                    .detail = GP_DETAIL(GP_KIND_CPU, 0)};
    gp_python_check_loop(thread);
    pthread_mutex_lock(&lock);
    const uint64_t *block = gp_live_find(&blocks, address);
    if (block != NULL) {
        recorded = recorded && block[BLOCK_EPOCH] ==
                                   atomic_load_explicit(&gp_session.epoch, memory_order_relaxed);
        gp_live_remove(&blocks, address);
        if (recorded)
            gp_event(thread, &record);
    }
    pthread_mutex_unlock(&lock);
}

static bool is_recorded(struct gp_thread *thread, int type)
{
    if (type != GP_TORCH_CPU)
        return type == GP_TORCH_CUDA && gp_session_ready(thread, true);
    return cpu_epoch != 0 && gp_session_ready(thread, false) &&
           cpu_epoch == atomic_load_explicit(&gp_session.epoch, memory_order_relaxed);
}

void gp_blocks_report(struct gp_thread *thread, const void *address, int64_t bytes, int type,
                      int index)
{
    if (address == NULL || bytes == 0)
        return;
    bool recorded = is_recorded(thread, type);
    if (bytes > 0)
        allocated(thread, (uintptr_t)address, (uint64_t)bytes, type, index, recorded);
    else
        freed(thread, (uintptr_t)address, type, recorded);
}
