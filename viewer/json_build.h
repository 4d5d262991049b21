/* SPDX-License-Identifier: MIT */
/*
 * Making JSON documents; the only file pair that includes jansson. Its *_new functions accept NULL
 * and then fail: a member that is lost that way is remembered, and gv_json_finish tells.
 */
#ifndef GV_JSON_BUILD_H
#define GV_JSON_BUILD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GV_JSON_SCHEMA 1

void gv_json_start(void); /* before the first member of a document */
void gv_json_set(json_t *object, const char *key, json_t *value);
void gv_json_append(json_t *array, json_t *value);
json_t *gv_json_text(const char *text); /* null for NULL */
json_t *gv_json_bytes(uint64_t value);
json_t *gv_json_known(bool known, uint64_t value); /* null when not known */

/* Prints the document and frees it. 0, -ENOMEM (a member was lost) or -EIO. */
int gv_json_finish(json_t *document, FILE *out);

#endif
