/* SPDX-License-Identifier: MIT */
/* Pieces of text that several export formats share. Texts to free are NULL without memory. */
#ifndef GV_EXPORT_TEXT_H
#define GV_EXPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "viewer/sites.h"

/* "main (sample.c:34)", "libfoo.so+0x12", "??"; to free. */
char *gv_place_label(const struct gv_place *place);
/* The function, else "libfoo.so+0x12", "??"; to free. */
char *gv_place_function(const struct gv_place *place);

/* `text` as a JSON string with its quotes. */
void gv_put_json(FILE *out, const char *text);

/* Different texts -> 0, 1, 2, ... */
struct gv_texts {
    void *tree; /* of struct text, by content */
    uint32_t count;
};

/* Its number, which is the old count when it is new. 0 or -ENOMEM. */
int gv_texts_add(struct gv_texts *texts, const char *text, uint32_t *ret_number);
void gv_texts_free(struct gv_texts *texts);

#endif
