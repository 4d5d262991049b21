/* SPDX-License-Identifier: MIT */
/* Single rows of the tables meta and counter. 0 or a negative errno. */
#ifndef GP_STORE_META_H
#define GP_STORE_META_H

#include <stddef.h>
#include <stdint.h>

struct gp_db;
struct gp_log_header;

int gp_meta_put_text(struct gp_db *db, const char *key, size_t key_length, const char *value,
                     size_t value_length);
int gp_meta_put_int64(struct gp_db *db, const char *key, int64_t value);
int gp_counter_put(struct gp_db *db, const char *name, uint64_t value);

/* A row that is not there leaves *ret_value as it is. */
int gp_meta_get(struct gp_db *db, const char *key, uint64_t *ret_value);
int gp_counter_get(struct gp_db *db, const char *name, uint64_t *ret_value);

/* Does the log belong to the database? */
enum gp_run_relation { GP_RUN_OTHER, GP_RUN_UNFINISHED, GP_RUN_FINISHED };

void gp_run_id_text(const struct gp_log_header *header, char ret_text[17]);
int gp_run_compare(struct gp_db *db, const struct gp_log_header *header,
                   enum gp_run_relation *ret_relation);

#endif
