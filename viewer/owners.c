/* SPDX-License-Identifier: MIT */
#include "viewer/owners.h"

#include "viewer/units.h"

static const struct {
    const char *key, *label;
} owners[GV_OWNER_COUNT] = {
    [GV_OWNER_PARAMETER] = {"parameter", "parameters"},
    [GV_OWNER_GRADIENT] = {"gradient", "gradients"},
    [GV_OWNER_OPTIMIZER_STATE] = {"optimizer-state", "optimiser state"},
    [GV_OWNER_BUFFER] = {"buffer", "model buffers"},
    [GV_OWNER_WORKSPACE] = {"workspace", "library workspace"},
    [GV_OWNER_INPUT] = {"input", "inputs the program holds"},
    [GV_OWNER_SAVED] = {"saved", "saved for backward"},
    [GV_OWNER_HANDLE] = {"handle", "outputs, other variables"},
    [GV_OWNER_TEMPORARY] = {"temporary", "operations' temporaries"},
    [GV_OWNER_CACHED] = {"cached", "cached by the allocator"},
    [GV_OWNER_UNATTRIBUTED] = {"unattributed", "unattributed"},
};

const char *gv_owner_key(enum gv_owner owner)
{
    return owners[owner].key;
}

const char *gv_owner_label(enum gv_owner owner)
{
    return owners[owner].label;
}

/* Values of enum gradprof_role, which run.db stores and never renumbers. */
enum {
    ROLE_PARAMETER = 1,
    ROLE_GRADIENT,
    ROLE_OPTIMIZER,
    ROLE_INPUT,
    ROLE_WORKSPACE,
    ROLE_BUFFER,
    ROLE_POOL
};

enum gv_owner gv_owner_of(const struct gv_names *names, const struct gv_allocation *a, int moment)
{
    uint8_t bit = (uint8_t)(1u << moment);
    switch (gv_allocation_role(a)) {
    case ROLE_PARAMETER:
        return GV_OWNER_PARAMETER;
    case ROLE_GRADIENT:
        return GV_OWNER_GRADIENT;
    case ROLE_OPTIMIZER:
        return GV_OWNER_OPTIMIZER_STATE;
    case ROLE_BUFFER:
        return GV_OWNER_BUFFER;
    case ROLE_POOL:
        return GV_OWNER_CACHED;
    case ROLE_WORKSPACE:
        return GV_OWNER_WORKSPACE;
    case ROLE_INPUT:
        if (a->held & bit || !(a->saved & bit))
            return GV_OWNER_INPUT;
        break;
    default:
        break;
    }
    if (a->saved & bit)
        return GV_OWNER_SAVED;
    if (a->held & bit)
        return GV_OWNER_HANDLE;
    if (gv_scope_name(names, a->scope_id, GV_SCOPE_OP) ||
        gv_scope_name(names, a->scope_id, GV_SCOPE_MODULE))
        return GV_OWNER_TEMPORARY;
    if (gv_library_of(&names->libraries, a->stack_id))
        return GV_OWNER_WORKSPACE;
    return GV_OWNER_UNATTRIBUTED;
}

struct gv_account gv_account_make(const struct gv_rows *rows, const struct gv_names *names,
                                  const struct gv_moment *moment, int index)
{
    struct gv_account account = {.moment = *moment};
    for (uint32_t i = 0; i < rows->allocation_index.count; i++) {
        const struct gv_allocation *a = &rows->allocations[i];
        if (!(a->live >> index & 1))
            continue;
        if (gv_is_pinned_memory(a))
            account.pinned_bytes += a->size_bytes;
        if (!gv_is_device_memory(a))
            continue;
        enum gv_owner owner = gv_owner_of(names, a, index);
        account.owner_bytes[owner] += gv_bytes_at(a, index);
        account.owner_allocations[owner]++;
        account.bytes += gv_bytes_at(a, index);
        account.allocations++;
    }
    account.attributed_percent =
        gv_percent(account.bytes - account.owner_bytes[GV_OWNER_UNATTRIBUTED], account.bytes);
    return account;
}
