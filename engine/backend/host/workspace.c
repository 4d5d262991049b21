/* SPDX-License-Identifier: MIT */
#include "engine/backend/host/workspace.h"

#include "gradprof/gradprof.h"

int ag_workspace_take(struct ag_host *host, size_t size_bytes, char **ret_workspace)
{
    void *address = NULL;
    int status = AG_OK;

    if (size_bytes) {
        gradprof_scope_push(GRADPROF_SCOPE_TENSOR, "workspace");
        status = ag_host_allocate(host, size_bytes, &address);
        if (!status)
            gradprof_storage_role(address, GRADPROF_ROLE_WORKSPACE, NULL);
        gradprof_scope_pop();
    }
    if (!status)
        *ret_workspace = address;
    return status;
}

size_t ag_workspace_part(size_t *total_bytes, size_t part_bytes)
{
    size_t offset = *total_bytes;
    size_t padded =
        (part_bytes + AG_WORKSPACE_ALIGNMENT - 1) / AG_WORKSPACE_ALIGNMENT * AG_WORKSPACE_ALIGNMENT;

    *total_bytes = offset + padded;
    return offset;
}
