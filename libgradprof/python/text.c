/* SPDX-License-Identifier: MIT */
#include "libgradprof/python/text.h"

#include <stdbool.h>
#include <string.h>

#define LENGTH_OFFSET 16u     /* of str and bytes objects */
#define STATE_OFFSET 32u      /* of str: bits interned 2, kind 3, compact 1, ascii 1 */
#define BYTES_DATA_OFFSET 32u /* of bytes: after length and hash */
#define INSTRUCTION_BYTES 2

/* --- strings -------------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> length & 0xf0u) | c);
    return length;
}

static uint32_t character(uintptr_t data, unsigned kind, size_t i)
{
    if (kind == 1)
        return ((const uint8_t *)data)[i];
    return kind == 2 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

void gp_python_text(const struct gp_python_layout *layout, uintptr_t object, char *ret_text,
                    size_t size)
{
    uint32_t state = *(const uint32_t *)(object + STATE_OFFSET);
    size_t length = *(const size_t *)(object + LENGTH_OFFSET), used = 0;
    unsigned kind = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;

    if (compact && (kind == 1 || kind == 2 || kind == 4)) {
        uintptr_t data = object + (ascii ? layout->text_ascii : layout->text_compact);
        for (size_t i = 0; i < length && used + 5 < size; i++)
            used += put_utf8(character(data, kind, i), ret_text + used);
    }
    ret_text[used] = 0;
}

/* --- lines ---------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *next, *end;
};

static unsigned read_byte(struct reader *reader)
{
    return reader->next < reader->end ? *reader->next++ : 0;
}

static unsigned read_varint(struct reader *reader)
{
    unsigned byte = read_byte(reader), value = byte & 63, shift = 0;

    while (byte & 64 && shift < 24) {
        byte = read_byte(reader);
        shift += 6;
        value |= (byte & 63) << shift;
    }
    return value;
}

static int read_signed(struct reader *reader)
{
    unsigned value = read_varint(reader);

    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Objects/locations.md of CPython: an entry begins with a byte 1cccclll, c its kind, l + 1 its length
 * in instructions. Returns the change of the line; *ret_has_line false: code without a line. */
static int read_entry(struct reader *reader, int *ret_bytes, bool *ret_has_line)
{
    unsigned head = read_byte(reader), kind = head >> 3 & 15;
    int change = 0;

    *ret_bytes = (int)((head & 7) + 1) * INSTRUCTION_BYTES;
    *ret_has_line = kind != 15;
    if (kind == 13 || kind == 14)
        change = read_signed(reader);
    else if (kind >= 10 && kind <= 12)
        change = (int)kind - 10;
    while (reader->next < reader->end && !(*reader->next & 0x80))
        reader->next++; /* columns */
    return change;
}

int gp_python_line(uintptr_t table, int first_line, int offset_bytes)
{
    const uint8_t *data = (const uint8_t *)table + BYTES_DATA_OFFSET;
    struct reader reader = {data, data + *(const size_t *)(table + LENGTH_OFFSET)};
    int line = first_line, at = 0, bytes;
    bool has_line;

    if (offset_bytes < 0)
        return first_line;
    while (reader.next < reader.end) {
        line += read_entry(&reader, &bytes, &has_line);
        at += bytes;
        if (offset_bytes < at)
            return has_line ? line : 0;
    }
    return 0;
}
