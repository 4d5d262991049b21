/* SPDX-License-Identifier: MIT */
#include "viewer/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define FIELD_INDENT 13
#define FIELD_LINES_MAX                                                                            \
    3 /* what a program under test can make longer than that is not worth more */
#define LINE_MAX_BYTES 8192

/* One character of valid UTF-8 as it is shown. */
struct glyph {
    char bytes[12];
    int length, columns, consumed;
};

static uint32_t decode(const unsigned char *in, int *ret_length)
{
    int length = in[0] < 0x80 ? 1 : in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : 2;
    uint32_t code = length == 1 ? in[0] : in[0] & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((in[i] & 0xc0) != 0x80) {
            *ret_length = 1; /* not UTF-8 after all: shown as a byte */
            return in[0];
        }
        code = code << 6 | (in[i] & 0x3f);
    }
    *ret_length = length;
    return code;
}

/* Characters that move the cursor, change colours or turn the direction of writing. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

/* The blocks that terminals draw two columns wide (East Asian Wide, and emoji). */
static bool is_wide(uint32_t code)
{
    return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
           (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
           (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
           (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
}

static struct glyph next_glyph(const char *in)
{
    struct glyph glyph = {.columns = 1};
    uint32_t code = decode((const unsigned char *)in, &glyph.consumed);
    if (is_control(code)) {
        glyph.length = glyph.columns =
            snprintf(glyph.bytes, sizeof(glyph.bytes), code < 0x100 ? "\\x%02x" : "\\u%04x", code);
        return glyph;
    }
    memcpy(glyph.bytes, in, (size_t)glyph.consumed);
    glyph.length = glyph.consumed;
    glyph.columns = is_wide(code) ? 2 : 1;
    return glyph;
}

int gv_columns(const char *in)
{
    int columns = 0;
    while (*in) {
        struct glyph glyph = next_glyph(in);
        columns += glyph.columns;
        in += glyph.consumed;
    }
    return columns;
}

/* Copies glyphs while they fit into `columns`; returns the columns used. */
static int copy_glyphs(const char *in, int columns, char *ret, size_t size)
{
    size_t used = 0;
    int taken = 0;
    while (*in) {
        struct glyph glyph = next_glyph(in);
        if (taken + glyph.columns > columns || used + (size_t)glyph.length >= size)
            break;
        memcpy(ret + used, glyph.bytes, (size_t)glyph.length);
        used += (size_t)glyph.length;
        taken += glyph.columns;
        in += glyph.consumed;
    }
    ret[used] = '\0';
    return taken;
}

char *gv_fit(const char *in, int columns, char *ret, size_t size)
{
    bool cut = gv_columns(in) > columns && columns > 3;
    copy_glyphs(in, cut ? columns - 3 : columns, ret, size);
    size_t used = strlen(ret);
    if (cut && used + 4 <= size)
        memcpy(ret + used, "...", 4);
    return ret;
}

char *gv_fit_left(const char *in, int columns, char *ret, size_t size)
{
    int all = gv_columns(in), skip = all > columns ? all - columns + 3 : 0;
    while (skip > 0 && *in) {
        struct glyph glyph = next_glyph(in);
        skip -= glyph.columns;
        in += glyph.consumed;
    }
    bool cut = all > columns;
    if (cut && size > 4)
        memcpy(ret, "...", 4);
    copy_glyphs(in, columns, ret + (cut ? 3 : 0), size - (cut ? 3 : 0));
    return ret;
}

char *gv_pad(const char *in, int columns, char *ret, size_t size)
{
    gv_fit(in, columns, ret, size);
    size_t used = strlen(ret);
    for (int have = gv_columns(ret); have < columns && used + 1 < size; have++)
        ret[used++] = ' ';
    ret[used] = '\0';
    return ret;
}

static void put(struct gv_text *text, enum gv_style style, const char *line)
{
    static const char *const codes[] = {[GV_PLAIN] = "",
                                        [GV_BOLD] = "\033[1m",
                                        [GV_RED] = "\033[1;31m",
                                        [GV_GREEN] = "\033[1;32m",
                                        [GV_DIM] = "\033[2m"};
    bool styled = text->color && style != GV_PLAIN && *line;
    fprintf(text->out, "%s%s%s\n", styled ? codes[style] : "", line, styled ? "\033[0m" : "");
}

void gv_line(struct gv_text *text, enum gv_style style, const char *format, ...)
{
    char line[LINE_MAX_BYTES], shown[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        line[--length] = '\0';
    put(text, style, gv_fit(line, GV_WIDTH, shown, sizeof(shown)));
}

/* Bytes of `in` for the next line of at most `columns`: up to the last space that fits, else to the
 * last character that fits. */
static size_t break_at(const char *in, int columns)
{
    size_t space = 0, used = 0;
    int taken = 0;
    while (in[used]) {
        struct glyph glyph = next_glyph(in + used);
        if (in[used] == ' ')
            space = used;
        if (taken + glyph.columns > columns)
            return space ? space : used;
        taken += glyph.columns;
        used += (size_t)glyph.consumed;
    }
    return used;
}

void gv_field(struct gv_text *text, const char *label, const char *format, ...)
{
    char value[LINE_MAX_BYTES], part[LINE_MAX_BYTES], shown[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    const char *rest = value;
    int lines = 0;
    do {
        /* the last line that is shown takes all the rest, cut */
        size_t length =
            ++lines == FIELD_LINES_MAX ? strlen(rest) : break_at(rest, GV_WIDTH - FIELD_INDENT);
        snprintf(part, sizeof(part), "%.*s", (int)length, rest);
        gv_fit(part, GV_WIDTH - FIELD_INDENT, shown, sizeof(shown));
        fprintf(text->out, "  %-*s%s\n", FIELD_INDENT - 2, label, shown);
        label = "";
        rest += length;
        while (*rest == ' ')
            rest++;
    } while (*rest);
}
