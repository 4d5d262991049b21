/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>

#include <gradprof/gradprof.h>

#include "engine/core/context.h"

void ag_scope_push(ag_context *context, int kind, const char *name)
{
    if (!name)
        return;
    assert(context->scope_depth < AG_MAX_SCOPES);
    context->scopes[context->scope_depth++] = (struct ag_scope){kind, name};
    gradprof_scope_push((enum gradprof_scope_kind)kind, name);
}

void ag_scope_pop(ag_context *context, const char *name)
{
    if (!name)
        return;
    assert(context->scope_depth > 0 && context->scopes[context->scope_depth - 1].name == name);
    context->scope_depth--;
    gradprof_scope_pop();
}

static const char *innermost(const ag_context *context, int kind)
{
    for (int i = context->scope_depth - 1; i >= 0; i--)
        if (context->scopes[i].kind == kind)
            return context->scopes[i].name;
    return NULL;
}

const char *ag_scope_module(const ag_context *context)
{
    return innermost(context, GRADPROF_SCOPE_MODULE);
}

void ag_scope_describe(const ag_context *context, const char *what, char *ret_text,
                       size_t text_bytes)
{
    const char *module = innermost(context, GRADPROF_SCOPE_MODULE);
    const char *op = innermost(context, GRADPROF_SCOPE_OP);

    if (op && module)
        snprintf(ret_text, text_bytes, "%s of %s (%s)", what, op, module);
    else if (op || module)
        snprintf(ret_text, text_bytes, "%s of %s", what, op ? op : module);
    else
        snprintf(ret_text, text_bytes, "%s", what);
}

void ag_module_begin(ag_context *context, const char *name)
{
    ag_scope_push(context, GRADPROF_SCOPE_MODULE, name);
}

void ag_module_end(ag_context *context, const char *name)
{
    ag_scope_pop(context, name);
}

void ag_step_begin(ag_context *context, const char *label)
{
    gradprof_step_begin(label);
}

void ag_step_end(ag_context *context)
{
    gradprof_step_end();
}
