/* SPDX-License-Identifier: MIT */
/* schema.sql as a string; the build makes the definition out of the file. */
#ifndef GP_STORE_SCHEMA_H
#define GP_STORE_SCHEMA_H

extern const char gp_schema_sql[];
extern const char gp_schema_added_sql[]; /* an unfinished older file may lack it */

#endif
