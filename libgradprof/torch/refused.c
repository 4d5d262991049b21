/* SPDX-License-Identifier: MIT */
#include "libgradprof/torch/refused.h"

#include "libgradprof/core/event.h"
#include "libgradprof/python/frames.h"
#include "libgradprof/torch/blocks.h"

#define OUT_OF_MEMORY 2u /* cudaErrorMemoryAllocation; the CPU's allocator has no code of its own */

void gp_refused_note(struct gp_thread *thread, int64_t bytes, int type, int index)
{
    struct gp_torch_refusal *refusal = &thread->torch.refusal;

    refusal->bytes = bytes < 0 ? 0 : (uint64_t)bytes;
    refusal->type = (int16_t)type;
    refusal->index = (int16_t)index;
    if (!gp_blocks_start(thread))
        return;
    refusal->stack_id = gp_blocks_stack_here(thread, type);
    refusal->scope_id = gp_current_scope_id(thread);
}

void gp_refused_tell(struct gp_thread *thread)
{
    struct gp_torch_refusal *refusal = &thread->torch.refusal;
    struct gp_record record = {.type = GP_EV_REFUSED, .a = refusal->bytes};
    bool cpu = refusal->type == GP_TORCH_CPU;

    if (refusal->bytes == 0 || !gp_session_ready(thread, false))
        return;
    refusal->bytes = 0;
    record.device_plus_1 =
        (uint8_t)(cpu ? (int)GP_DEVICE_CPU + 1 : (refusal->index < 0 ? 0 : refusal->index + 1));
    record.stack_id = refusal->stack_id;
    record.scope_id = refusal->scope_id;
    record.name_id =
        gp_name_id(thread, gp_name(cpu ? "PyTorch's CPU allocator" : "PyTorch's GPU allocator"));
    record.detail = GP_DETAIL(cpu ? GP_KIND_CPU : GP_KIND_DEVICE, OUT_OF_MEMORY);
    gp_event(thread, &record);
}
