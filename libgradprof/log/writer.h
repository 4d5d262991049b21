/* SPDX-License-Identifier: MIT */
/*
 * Writer of the event log (log/format.h).
 *
 * Segments get their slots in order: `provisioned` is the first segment without one, `recycled` the
 * first that still has one. The ingest thread keeps GP_LOG_AHEAD segments provisioned and their pages
 * touched, so that gp_log_append is one atomic add and one line of memory. When it falls behind, the
 * writer in the middle of a segment provisions one further on; when the log has its full size, writers
 * wait for the ingest thread, as long as that one lives.
 *
 * The one counter is what limits it: on 16 cores of a server processor 10 M events/s, where the line
 * travels from core to core. One thread alone does not notice.
 *
 *   recycled <= segment of the first event not yet in the database
 *   provisioned - recycled <= slots in the file <= slot_limit <= GP_SEGMENT_TABLE
 */
#ifndef GP_LOG_WRITER_H
#define GP_LOG_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libgradprof/log/format.h"

#define GP_LOG_AHEAD 8u /* segments: 131,072 records, 13 ms at 10 M events/s */
#define GP_LOG_STALL_NS                                                                            \
    UINT64_C(20000000000) /* no progress of the ingest for so long: give up on it */

enum gp_log_backing {
    GP_LOG_FILE,   /* shared mapping of the file: survives SIGKILL */
    GP_LOG_MEMORY, /* the file system guarantees no space: private memory, lost on SIGKILL */
};

struct gp_log {
    struct gp_log_header *header;
    unsigned char *slots;
    size_t mapping_bytes;
    int fd;                           /* holds the owner's lock; -1: none */
    uint64_t file_device, file_inode; /* what the fd was when we got it */
    enum gp_log_backing backing;

    pthread_mutex_t lock; /* guards all below but the atomics */
    _Atomic uint64_t provisioned;
    uint64_t recycled;
    uint64_t slot_count, slot_limit;
    uint64_t free_count;
    uint32_t free_slot[GP_SEGMENT_TABLE];

    _Atomic bool draining;     /* a live ingest thread will recycle: waiting makes sense */
    _Atomic bool full;         /* no space until something is recycled */
    _Atomic uint64_t progress; /* changes whenever segments are recycled */
};

/* Takes over `fd` (an empty file, locked) and makes a log of at most `limit_bytes`. 0 or negative
 * errno (-ENOSPC); on failure the fd stays the caller's. */
int gp_log_create(struct gp_log *log, int fd, uint64_t limit_bytes);
/* Unmaps and closes; for tests and failed starts. A live run is never unmapped: other threads may be
 * inside a hook until the very end of the process. */
void gp_log_destroy(struct gp_log *log);

/* Appends one event: `record` without its commit word, type and so on filled in; `payload` of
 * `payload_bytes` goes into continuation records. Returns the event's seq, or UINT64_MAX if it was
 * dropped (counted). Any thread. */
uint64_t gp_log_append(struct gp_log *log, const struct gp_record *record, const void *payload,
                       size_t payload_bytes);

/* For the ingest thread. Space for the next `segments` segments, this one included. */
void gp_log_provision_ahead(struct gp_log *log, uint64_t segments);
/* Segments before that of `first_needed_seq` are in the database. Slots of segments below
 * `retire_below` are not used again. */
void gp_log_recycle(struct gp_log *log, uint64_t first_needed_seq, uint64_t retire_below);
bool gp_log_has_room(struct gp_log *log, uint64_t records); /* appending now would not wait */

#endif
