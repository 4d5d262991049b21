/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/core/context.h"

/* Why the last ag_context_create on this thread failed: there is no context to keep it in. */
static _Thread_local enum ag_status create_error;
static _Thread_local char create_error_text[AG_ERROR_BYTES];

void ag_fail(ag_context *context, enum ag_status status, const char *format, ...)
{
    char *text = context ? context->error_text : create_error_text;
    enum ag_status *error = context ? &context->error : &create_error;
    va_list arguments;

    if (context && context->error != AG_OK)
        return;
    *error = status;
    va_start(arguments, format);
    vsnprintf(text, AG_ERROR_BYTES, format, arguments);
    va_end(arguments);
}

bool ag_done(ag_context *context, int status)
{
    char what[128];

    if (status == AG_OK)
        return true;
    if (status == AG_OUT_OF_MEMORY) {
        ag_scope_describe(context, "the workspace", what, sizeof(what));
        ag_fail(context, AG_OUT_OF_MEMORY, "memory for %s refused", what);
    } else {
        ag_scope_describe(context, "the result", what, sizeof(what));
        ag_fail(context, (enum ag_status)status, "%s failed on %s", what, ag_device_text(context));
    }
    return false;
}

enum ag_status ag_error(const ag_context *context)
{
    return context ? context->error : create_error;
}

const char *ag_error_text(const ag_context *context)
{
    return context ? context->error_text : create_error_text;
}

void ag_clear_error(ag_context *context)
{
    if (context) {
        context->error = AG_OK;
        context->error_text[0] = '\0';
    } else {
        create_error = AG_OK;
        create_error_text[0] = '\0';
    }
}

const char *ag_commas(uint64_t value, char *ret_text)
{
    char digits[AG_COMMAS_BYTES];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    char *to = ret_text;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return ret_text;
}
