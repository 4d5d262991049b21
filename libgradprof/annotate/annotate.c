/* SPDX-License-Identifier: MIT */
/* The annotation API (gradprof/gradprof.h): one event a call. */
#include <stdbool.h>

#define GRADPROF_NO_MACROS
#include <gradprof/gradprof.h>

#include "libgradprof/annotate/step.h"
#include "libgradprof/core/counters.h"
#include "libgradprof/core/event.h"
#include "libgradprof/hooks/ledger.h"

#define GP_EXPORT __attribute__((visibility("default")))

/* The calling thread with its guard up, or NULL: nothing to record. `starts`: this call may be the
 * first of the run. */
static struct gp_thread *enter(bool starts)
{
    struct gp_thread *thread = gp_thread_get();

    if (thread == NULL || thread->guard > 0)
        return NULL;
    thread->guard++;
    if (gp_session_ready(thread, starts))
        return thread;
    thread->guard--;
    return NULL;
}

static void leave(struct gp_thread *thread, struct gp_record *record)
{
    gp_event(thread, record);
    thread->guard--;
}

static void leave_with_stack(struct gp_thread *thread, struct gp_record *record)
{
    record->stack_id = gp_stack_id(thread);
    record->scope_id = gp_current_scope_id(thread);
    leave(thread, record);
}

static uint64_t key(const void *pointer)
{
    return (uintptr_t)pointer;
}

/* --- graph --------------------------------------------------------------------------------------------- */

GP_EXPORT void gradprof_node_create(const void *node, const char *op)
{
    struct gp_record record = {.type = GP_EV_NODE, .key = key(node)};
    struct gp_thread *thread = enter(true);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(op));
    leave_with_stack(thread, &record);
}

GP_EXPORT void gradprof_node_input(const void *node, uint32_t slot, const void *input_node)
{
    struct gp_record record = {
        .type = GP_EV_EDGE, .key = key(node), .a = key(input_node), .detail = slot};
    struct gp_thread *thread = enter(false);

    if (thread != NULL)
        leave(thread, &record);
}

GP_EXPORT void gradprof_node_backward(const void *node)
{
    struct gp_record record = {.type = GP_EV_NODE_BACKWARD, .key = key(node)};
    struct gp_thread *thread = enter(false);

    if (thread != NULL)
        leave(thread, &record);
}

GP_EXPORT void gradprof_node_destroy(const void *node)
{
    struct gp_record record = {.type = GP_EV_NODE_DESTROY, .key = key(node)};
    struct gp_thread *thread = enter(false);

    if (thread != NULL)
        leave(thread, &record);
}

GP_EXPORT void gradprof_save(const void *node, const char *slot, const void *address,
                             const void *source)
{
    struct gp_record record = {
        .type = GP_EV_SAVE, .key = key(node), .a = key(address), .b = key(source)};
    struct gp_thread *thread = enter(false);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(slot));
    leave(thread, &record);
}

GP_EXPORT void gradprof_release(const void *node, const char *slot)
{
    struct gp_record record = {.type = GP_EV_RELEASE, .key = key(node)};
    struct gp_thread *thread = enter(false);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(slot));
    leave(thread, &record);
}

/* --- handles -------------------------------------------------------------------------------------------- */

GP_EXPORT void gradprof_handle_create(const void *handle, const char *name, const void *address,
                                      const void *node)
{
    struct gp_record record = {
        .type = GP_EV_HANDLE, .key = key(handle), .a = key(address), .b = key(node)};
    struct gp_thread *thread = enter(false);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(name));
    leave_with_stack(thread, &record);
}

GP_EXPORT void gradprof_handle_name(const void *handle, const char *name)
{
    struct gp_record record = {.type = GP_EV_HANDLE_NAME, .key = key(handle)};
    struct gp_thread *thread = enter(false);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(name));
    leave_with_stack(thread, &record);
}

GP_EXPORT void gradprof_handle_node(const void *handle, const void *node)
{
    struct gp_record record = {.type = GP_EV_HANDLE_NODE, .key = key(handle), .b = key(node)};
    struct gp_thread *thread = enter(false);

    if (thread != NULL)
        leave(thread, &record);
}

GP_EXPORT void gradprof_handle_destroy(const void *handle)
{
    struct gp_record record = {.type = GP_EV_HANDLE_DESTROY, .key = key(handle)};
    struct gp_thread *thread = enter(false);

    if (thread != NULL)
        leave(thread, &record);
}

/* --- storages ------------------------------------------------------------------------------------------- */

GP_EXPORT void gradprof_storage_role(const void *address, enum gradprof_role role, const char *name)
{
    struct gp_record record = {.type = GP_EV_ROLE, .key = key(address), .detail = (uint32_t)role};
    struct gp_thread *thread = enter(false);

    if (thread == NULL)
        return;
    record.name_id = gp_name_id(thread, gp_name(name));
    leave(thread, &record);
}

GP_EXPORT void gradprof_refused(int device, size_t asked_bytes, const char *what)
{
    struct gp_thread *thread = enter(true);

    if (thread == NULL)
        return;
    gp_ledger_refused_by(thread, device, asked_bytes, what);
    thread->guard--;
}

/* --- scopes and steps: state of the thread, kept also while nothing is recorded ---------------------------- */

GP_EXPORT void gradprof_scope_push(enum gradprof_scope_kind kind, const char *name)
{
    struct gp_thread *thread = gp_thread_get();

    if (thread == NULL || thread->guard > 0)
        return;
    thread->guard++;
    if (thread->scope_depth < GP_SCOPES_MAX) {
        struct gp_entry *parent =
            thread->scope_depth == 0 ? NULL : thread->scope[thread->scope_depth - 1];
        struct gp_entry *scope = gp_scope(parent, (uint32_t)kind, gp_name(name));
        thread->scope[thread->scope_depth] = scope != NULL ? scope : parent;
    } else {
        gp_count(GP_COUNTER_deep_scopes);
    }
    thread->scope_depth++;
    thread->guard--;
}

GP_EXPORT void gradprof_scope_pop(void)
{
    struct gp_thread *thread = gp_thread_get();

    if (thread == NULL || thread->guard > 0)
        return;
    if (thread->scope_depth == 0)
        gp_count(GP_COUNTER_unbalanced_pops);
    else
        thread->scope_depth--;
}

GP_EXPORT void gradprof_step_begin(const char *label)
{
    struct gp_record record = {.type = GP_EV_STEP_BEGIN};
    struct gp_thread *thread = gp_thread_get();
    struct gp_entry *name;

    if (thread == NULL || thread->guard > 0)
        return;
    thread->guard++;
    name = gp_name(label);
    if (gp_session_ready(thread, false)) { /* before the step counts as open: it is told once */
        record.name_id = gp_name_id(thread, name);
        gp_event(thread, &record);
    }
    if (thread->step_depth < GP_STEPS_MAX)
        thread->step_label[thread->step_depth] = name;
    else
        gp_count(GP_COUNTER_deep_scopes);
    thread->step_depth++;
    thread->guard--;
}

void gp_step_end(bool with_loop)
{
    struct gp_record record = {.type = GP_EV_STEP_END, .detail = with_loop};
    struct gp_thread *thread = gp_thread_get();

    if (thread == NULL || thread->guard > 0)
        return;
    if (thread->step_depth == 0) {
        gp_count(GP_COUNTER_unbalanced_pops);
        return;
    }
    thread->guard++;
    if (gp_session_ready(thread, false))
        gp_event(thread, &record);
    thread->step_depth--;
    thread->guard--;
}

GP_EXPORT void gradprof_step_end(void)
{
    gp_step_end(false);
}
