/* SPDX-License-Identifier: MIT */
/*
 * Reads events out of an event log (log/format.h): the live mapping of this process, or the file a
 * dead one left behind. Never trusts what it reads: sizes and tables are checked against the mapping.
 */
#ifndef GP_STORE_LOG_READER_H
#define GP_STORE_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libgradprof/log/format.h"

struct gp_log_view { /* embedded; no resources of its own when made by gp_log_view_init */
    struct gp_log_header *header;
    unsigned char *slots; /* first slot */
    size_t slot_count;    /* slots that may be read; the live writer raises it */
    void *mapping;        /* of gp_log_open: what gp_log_close unmaps */
    size_t mapping_bytes;
    int fd;
};

struct gp_log_event {
    uint64_t seq;
    struct gp_record record;
    unsigned char payload[GP_EXTRA_MAX * GP_CONTINUATION_BYTES];
    size_t payload_bytes;
};

enum gp_log_next {
    GP_LOG_EVENT,   /* *ret_event is filled; the next position is seq + 1 + extra */
    GP_LOG_PENDING, /* position taken but not committed yet: a writer is inside, or it died there */
    GP_LOG_END,     /* nothing taken at or after this position */
    GP_LOG_LOST,    /* the segment is no longer in the file (overwritten, truncated) */
};

/* A view of a mapping that the caller owns: `slots` is the first slot, and `slot_count` of them may be
 * read. */
void gp_log_view_init(struct gp_log_view *view, struct gp_log_header *header, unsigned char *slots,
                      size_t slot_count);

/* Maps a file read-only and checks it. -EINVAL with one line in `error`: not a log, another version,
 * truncated header. -ENOENT, -EACCES. */
int gp_log_open(const char *path, struct gp_log_view *ret_view, char *error, size_t error_size);
void gp_log_close(struct gp_log_view *view); /* accepts a zeroed view */

/* Live or dead log alike; what the last two mean for an importer is in recover.c. A record whose
 * continuations are not all there counts as pending. */
enum gp_log_next gp_log_read(const struct gp_log_view *view, uint64_t position,
                             struct gp_log_event *ret_event);

#endif
