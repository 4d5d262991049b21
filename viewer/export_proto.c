/* SPDX-License-Identifier: MIT */
#include "viewer/export_proto.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

void gv_proto_free(struct gv_proto *message)
{
    free(message->data);
    *message = (struct gv_proto){0};
}

void gv_proto_clear(struct gv_proto *message)
{
    message->bytes = 0;
}

static void append(struct gv_proto *message, const void *data, size_t bytes)
{
    if (message->capacity - message->bytes < bytes) {
        size_t capacity = 2 * message->capacity + bytes + 64;
        unsigned char *grown = realloc(message->data, capacity);
        if (!grown) {
            message->lost = true;
            return;
        }
        message->data = grown;
        message->capacity = capacity;
    }
    if (bytes)
        memcpy(message->data + message->bytes, data, bytes);
    message->bytes += bytes;
}

/* Seven bits a byte, lowest first; bit 7: more follow. */
void gv_proto_number(struct gv_proto *message, uint64_t value)
{
    unsigned char digits[10];
    size_t count = 0;
    do {
        digits[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    append(message, digits, count);
}

void gv_proto_uint(struct gv_proto *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    gv_proto_number(message, (uint64_t)field << 3 | WIRE_VARINT);
    gv_proto_number(message, value);
}

void gv_proto_bytes(struct gv_proto *message, unsigned field, const void *data, size_t bytes)
{
    gv_proto_number(message, (uint64_t)field << 3 | WIRE_LENGTH);
    gv_proto_number(message, bytes);
    append(message, data, bytes);
}

void gv_proto_text(struct gv_proto *message, unsigned field, const char *text)
{
    gv_proto_bytes(message, field, text, strlen(text));
}

void gv_proto_message(struct gv_proto *message, unsigned field, const struct gv_proto *inner)
{
    message->lost |= inner->lost;
    gv_proto_bytes(message, field, inner->data, inner->bytes);
}
