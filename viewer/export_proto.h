/* SPDX-License-Identifier: MIT */
/* Protocol buffer messages, written field by field (https://protobuf.dev/programming-guides/encoding). */
#ifndef GV_EXPORT_PROTO_H
#define GV_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_proto { /* zeroed = an empty message */
    unsigned char *data;
    size_t bytes, capacity;
    bool lost; /* no memory: the message is no good */
};

void gv_proto_free(struct gv_proto *message);
void gv_proto_clear(struct gv_proto *message); /* empty again, its memory kept */

/* Fields of the value 0 are left out, as the format wants it. */
void gv_proto_uint(struct gv_proto *message, unsigned field, uint64_t value);
void gv_proto_bytes(struct gv_proto *message, unsigned field, const void *data, size_t bytes);
void gv_proto_text(struct gv_proto *message, unsigned field, const char *text);
void gv_proto_message(struct gv_proto *message, unsigned field, const struct gv_proto *inner);
/* A bare number, for packed fields: gather them in a message of their own. */
void gv_proto_number(struct gv_proto *message, uint64_t value);

#endif
