/* SPDX-License-Identifier: MIT */
#include "viewer/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const unit_names[] = {"B", "KB", "MB", "GB"};
#define GV_LARGEST_UNIT 3
#define HALF_GB (UINT64_C(1) << 29)

static int unit_of(uint64_t size_bytes)
{
    int unit = 0;
    while (unit < GV_LARGEST_UNIT && size_bytes >> (10 * (unit + 1)))
        unit++;
    /* 824.99 MB beside 7.06 GB is harder to compare than 0.81 GB */
    return size_bytes >= HALF_GB ? GV_LARGEST_UNIT : unit;
}

static struct gv_number size_in(uint64_t size_bytes, int unit)
{
    struct gv_number number;
    if (unit == 0)
        snprintf(number.text, sizeof(number.text), "%" PRIu64 " B", size_bytes);
    else
        snprintf(number.text, sizeof(number.text), "%.2f %s",
                 (double)size_bytes / (double)(UINT64_C(1) << (10 * unit)), unit_names[unit]);
    return number;
}

struct gv_number gv_size(uint64_t size_bytes)
{
    return size_in(size_bytes, unit_of(size_bytes));
}

struct gv_number gv_size_like(uint64_t size_bytes, uint64_t unit_of_bytes)
{
    return size_in(size_bytes, unit_of(unit_of_bytes));
}

struct gv_number gv_count(int64_t count)
{
    char digits[GV_NUMBER_MAX];
    struct gv_number number;
    uint64_t magnitude = count < 0 ? UINT64_C(0) - (uint64_t)count : (uint64_t)count;
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
    char *out = number.text;
    if (count < 0)
        *out++ = '-';
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return number;
}

struct gv_number gv_duration(uint64_t duration_ns)
{
    struct gv_number number;
    double seconds = (double)duration_ns / 1e9;
    if (seconds >= 120.0)
        snprintf(number.text, sizeof(number.text), "%" PRIu64 " min %" PRIu64 " s",
                 (uint64_t)seconds / 60, (uint64_t)seconds % 60);
    else if (seconds >= 1.0)
        snprintf(number.text, sizeof(number.text), "%.1f s", seconds);
    else if (seconds >= 1e-3)
        snprintf(number.text, sizeof(number.text), "%.0f ms", seconds * 1e3);
    else
        snprintf(number.text, sizeof(number.text), "%.0f us", seconds * 1e6);
    return number;
}

struct gv_number gv_share(uint64_t part, uint64_t whole)
{
    struct gv_number number = {""};
    if (whole > 0)
        snprintf(number.text, sizeof(number.text), "%.1f %%", 100.0 * (double)part / (double)whole);
    return number;
}

double gv_percent(uint64_t part, uint64_t whole)
{
    if (whole == 0 || part >= whole)
        return 100.0;
    /* part < 2^50 in practice; 128 bits keep the product exact for any input */
    return (double)(uint64_t)((unsigned __int128)part * 10000u / whole) / 100.0;
}

int gv_size_parse(const char *text, uint64_t *ret_size_bytes)
{
    static const char prefixes[] = "KMGT";
    char *end;
    size_t digits = strspn(text, "0123456789.");
    double size = strtod(text, &end), unit = 1;
    if (digits == 0 || text[0] == '.' || (size_t)(end - text) != digits)
        return -EINVAL;
    end += strspn(end, " ");
    const char *prefix = *end ? strchr(prefixes, toupper((unsigned char)*end)) : NULL;
    if (prefix) {
        for (const char *p = prefixes; p <= prefix; p++)
            unit *= 1024;
        end++;
        end += *end == 'i';
    }
    end += *end == 'B';
    if (*end || size * unit >= 1e18)
        return -EINVAL;
    *ret_size_bytes = (uint64_t)(size * unit + 0.5);
    return 0;
}
