/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gp_message(const char *format, ...)
{
    static const char prefix[] = "gradprof: ";
    char line[1024];
    int saved_errno = errno;
    size_t length = sizeof(prefix) - 1;
    va_list arguments;

    memcpy(line, prefix, length);
    va_start(arguments, format);
    int wrote = vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        length +=
            (size_t)wrote < sizeof(line) - length - 1 ? (size_t)wrote : sizeof(line) - length - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        length = 0; /* nowhere left to say it */
    errno = saved_errno;
}

/* 1 GB = 1024^3 bytes, as PyTorch users and gradprof-report count. */
const char *gp_format_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    uint64_t hundredths = bytes * 100; /* integers: printf of a double may allocate */
    size_t unit = 0;

    if (bytes > UINT64_MAX / 100)
        hundredths = UINT64_MAX;
    for (; hundredths >= 102400 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        hundredths = (hundredths + 512) / 1024;
    if (unit == 0)
        snprintf(text, size, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(text, size, "%llu.%02llu %s", (unsigned long long)(hundredths / 100),
                 (unsigned long long)(hundredths % 100), units[unit]);
    return text;
}
