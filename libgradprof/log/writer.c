/* SPDX-License-Identifier: MIT */
#include "libgradprof/log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "libgradprof/core/counters.h"
#include "libgradprof/core/time.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels say EINVAL */
#endif

#define SEGMENTS_MIN 4u /* an event and its continuations may straddle two */
#define WAIT_NS 200000  /* between looks at the ingest thread's progress */
#define PAGE_BYTES 4096u

/* --- space --------------------------------------------------------------------------------------- */

/* Programs that close every descriptor (daemons) close ours too, and its number may be a file of theirs
 * by now. */
static bool owns_descriptor(const struct gp_log *log)
{
    struct stat status;

    return fstat(log->fd, &status) == 0 && (uint64_t)status.st_dev == log->file_device &&
           (uint64_t)status.st_ino == log->file_inode;
}

/* Real blocks for [offset, offset + bytes): a later store there cannot become SIGBUS. */
static int reserve(const struct gp_log *log, uint64_t offset, uint64_t bytes)
{
    int r;

    if (log->backing == GP_LOG_MEMORY)
        return 0;
    if (!owns_descriptor(log))
        return -EBADF;
    do {
        r = fallocate(log->fd, 0, (off_t)offset, (off_t)bytes) == 0 ? 0 : -errno;
    } while (r == -EINTR);
    return r;
}

/* First touches cost 46 ns a record, and milliseconds at worst: make them here, not in a hook. */
static void touch_pages(unsigned char *pages, size_t bytes)
{
    if (madvise(pages, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t i = 0; i < bytes; i += PAGE_BYTES) {
        volatile unsigned char *byte = pages + i;
        *byte = *byte;
    }
}

static int map_log(struct gp_log *log)
{
    void *mapping;
    int flags = MAP_SHARED;

    if (log->backing == GP_LOG_MEMORY)
        flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    log->mapping_bytes = GP_LOG_HEADER_BYTES + log->slot_limit * GP_SEGMENT_BYTES;
    mapping = mmap(NULL, log->mapping_bytes, PROT_READ | PROT_WRITE, flags,
                   log->backing == GP_LOG_MEMORY ? -1 : log->fd, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    madvise(mapping, log->mapping_bytes, MADV_DONTFORK); /* a child must never write here */
    log->header = mapping;
    log->slots = (unsigned char *)mapping + GP_LOG_HEADER_BYTES;
    return 0;
}

int gp_log_create(struct gp_log *log, int fd, uint64_t limit_bytes)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct stat status;
    int r;

    if (fstat(fd, &status) != 0)
        return -errno;
    memset(log, 0, sizeof(*log));
    log->lock = fresh;
    log->fd = fd;
    log->file_device = status.st_dev;
    log->file_inode = status.st_ino;
    log->slot_limit = limit_bytes / GP_SEGMENT_BYTES;
    if (log->slot_limit < SEGMENTS_MIN)
        log->slot_limit = SEGMENTS_MIN;
    if (log->slot_limit > GP_SEGMENT_TABLE)
        log->slot_limit = GP_SEGMENT_TABLE;
    r = reserve(log, 0, GP_LOG_HEADER_BYTES);
    if (r == -EOPNOTSUPP || r == -ENOSYS) {
        log->backing = GP_LOG_MEMORY;
        r = 0;
    }
    if (r == 0)
        r = map_log(log);
    if (r < 0)
        return r;
    log->header->magic = GP_LOG_MAGIC;
    log->header->version = GP_LOG_VERSION;
    log->header->record_bytes = GP_RECORD_BYTES;
    log->header->segment_records = GP_SEGMENT_RECORDS;
    log->header->pid = (uint32_t)getpid();
    return 0;
}

void gp_log_destroy(struct gp_log *log)
{
    if (log->header != NULL)
        munmap(log->header, log->mapping_bytes);
    if (log->header != NULL && log->fd >= 0)
        close(log->fd);
    log->header = NULL;
    log->fd = -1;
}

/* Beyond its first segments the log leaves as much space to the database as it takes itself. */
static bool leaves_space(const struct gp_log *log)
{
    struct statvfs system;
    uint64_t bytes = (log->slot_count + 1) * GP_SEGMENT_BYTES;

    if (log->backing == GP_LOG_MEMORY || log->slot_count < GP_LOG_AHEAD)
        return true;
    return fstatvfs(log->fd, &system) != 0 || system.f_bavail * system.f_frsize >= bytes;
}

static int grow_file(struct gp_log *log, uint64_t *ret_slot)
{
    uint64_t slot = log->slot_count;
    int r;

    if (slot >= log->slot_limit)
        return -EAGAIN;
    if (!leaves_space(log))
        return -ENOSPC;
    r = reserve(log, GP_LOG_HEADER_BYTES + slot * GP_SEGMENT_BYTES, GP_SEGMENT_BYTES);
    if (r < 0)
        return r;
    log->slot_count = slot + 1;
    atomic_store_explicit(&log->header->slots, slot + 1, memory_order_release);
    *ret_slot = slot;
    return 0;
}

/* Gives the next segment a slot. -EAGAIN: full until something is recycled. Lock held. */
static int provision_one(struct gp_log *log)
{
    uint64_t segment = atomic_load_explicit(&log->provisioned, memory_order_relaxed), slot;
    struct gp_segment_entry *entry = &log->header->segment[segment % GP_SEGMENT_TABLE];
    int r;

    if (segment - log->recycled >= GP_SEGMENT_TABLE)
        return -EAGAIN;
    if (log->free_count > 0) {
        slot = log->free_slot[--log->free_count];
    } else {
        r = grow_file(log, &slot);
        if (r < 0)
            return r;
    }
    touch_pages(log->slots + slot * GP_SEGMENT_BYTES, GP_SEGMENT_BYTES);
    atomic_store_explicit(&entry->slot, slot, memory_order_relaxed);
    atomic_store_explicit(&entry->number_plus_1, segment + 1, memory_order_release);
    atomic_store_explicit(&log->provisioned, segment + 1, memory_order_release);
    return 0;
}

void gp_log_provision_ahead(struct gp_log *log, uint64_t segments)
{
    uint64_t wanted;
    int r = 0;

    while (r == 0) {
        wanted =
            atomic_load_explicit(&log->header->next, memory_order_relaxed) / GP_SEGMENT_RECORDS +
            segments;
        if (atomic_load_explicit(&log->provisioned, memory_order_relaxed) >= wanted)
            return;
        pthread_mutex_lock(&log->lock);
        if (atomic_load_explicit(&log->provisioned, memory_order_relaxed) < wanted)
            r = provision_one(log);
        pthread_mutex_unlock(&log->lock);
    }
}

void gp_log_recycle(struct gp_log *log, uint64_t first_needed_seq, uint64_t retire_below)
{
    uint64_t first_needed = first_needed_seq / GP_SEGMENT_RECORDS;

    atomic_store_explicit(&log->header->ingested, first_needed_seq, memory_order_relaxed);
    if (log->recycled >= first_needed)
        return;
    pthread_mutex_lock(&log->lock);
    for (; log->recycled < first_needed &&
           log->recycled < atomic_load_explicit(&log->provisioned, memory_order_relaxed);
         log->recycled++) {
        struct gp_segment_entry *entry = &log->header->segment[log->recycled % GP_SEGMENT_TABLE];
        atomic_store_explicit(&entry->number_plus_1, 0, memory_order_release);
        if (log->recycled >= retire_below)
            log->free_slot[log->free_count++] =
                (uint32_t)atomic_load_explicit(&entry->slot, memory_order_relaxed);
    }
    atomic_store_explicit(&log->full, false, memory_order_relaxed);
    atomic_fetch_add_explicit(&log->progress, 1, memory_order_release);
    pthread_mutex_unlock(&log->lock);
}

bool gp_log_has_room(struct gp_log *log, uint64_t records)
{
    uint64_t next = atomic_load_explicit(&log->header->next, memory_order_relaxed);

    return (next + records) / GP_SEGMENT_RECORDS + 1 <
           atomic_load_explicit(&log->provisioned, memory_order_acquire);
}

/* --- appending ----------------------------------------------------------------------------------- */

static void pause_for_ingest(void)
{
    struct timespec pause = {.tv_nsec = WAIT_NS};

    nanosleep(&pause, NULL);
}

/* Makes space up to `segment` if there is any. */
static bool help_provision(struct gp_log *log, uint64_t segment)
{
    int r = 0;

    pthread_mutex_lock(&log->lock);
    if (atomic_load_explicit(&log->provisioned, memory_order_relaxed) <= segment) {
        gp_count(GP_COUNTER_late_segments);
        r = provision_one(log);
    }
    if (r != 0)
        atomic_store_explicit(&log->full, true, memory_order_relaxed);
    pthread_mutex_unlock(&log->lock);
    return r == 0;
}

/* The slow way to a segment: make space, or wait until the ingest thread has freed some. */
static bool wait_for_segment(struct gp_log *log, uint64_t segment)
{
    uint64_t progress = 0, since_ns = 0;
    bool waited = false;

    while (atomic_load_explicit(&log->provisioned, memory_order_acquire) <= segment) {
        if (!atomic_load_explicit(&log->full, memory_order_relaxed) && help_provision(log, segment))
            continue;
        if (!atomic_load_explicit(&log->draining, memory_order_acquire))
            return false;
        uint64_t now_progress = atomic_load_explicit(&log->progress, memory_order_acquire);
        uint64_t now_ns = gp_time_system_ns();
        if (since_ns == 0 || now_progress != progress) {
            progress = now_progress;
            since_ns = now_ns;
        } else if (now_ns - since_ns > GP_LOG_STALL_NS) {
            atomic_store(&log->draining, false);
            return false;
        }
        if (!waited)
            gp_count(GP_COUNTER_log_waits);
        waited = true;
        pause_for_ingest();
    }
    return true;
}

/* Where `position` lives, or NULL: there is no space for it. */
static void *line_at(struct gp_log *log, uint64_t position)
{
    uint64_t segment = position / GP_SEGMENT_RECORDS;
    struct gp_segment_entry *entry = &log->header->segment[segment % GP_SEGMENT_TABLE];

    if (__builtin_expect(
            atomic_load_explicit(&entry->number_plus_1, memory_order_acquire) != segment + 1, 0)) {
        if (!wait_for_segment(log, segment))
            return NULL;
        if (atomic_load_explicit(&entry->number_plus_1, memory_order_acquire) != segment + 1)
            return NULL; /* given up on as a hole and recycled meanwhile */
    }
    return log->slots +
           atomic_load_explicit(&entry->slot, memory_order_relaxed) * GP_SEGMENT_BYTES +
           position % GP_SEGMENT_RECORDS * GP_RECORD_BYTES;
}

static bool append_continuations(struct gp_log *log, uint64_t position,
                                 const unsigned char *payload, size_t payload_bytes)
{
    for (; payload_bytes > 0; position++) {
        struct gp_continuation *line = line_at(log, position);
        size_t bytes =
            payload_bytes < GP_CONTINUATION_BYTES ? payload_bytes : GP_CONTINUATION_BYTES;
        if (line == NULL)
            return false;
        memcpy(line->payload, payload, bytes);
        memset(line->payload + bytes, 0, GP_CONTINUATION_BYTES - bytes);
        atomic_store_explicit(&line->commit, (position + 1) | GP_COMMIT_CONTINUATION,
                              memory_order_release);
        payload += bytes;
        payload_bytes -= bytes;
    }
    return true;
}

/* Once a segment, by whoever is in its middle: when the ingest thread falls behind with making space,
 * the writers do it in turn (0.4 ms for 16,384 events), before all of them have to wait for it. */
static void help_ahead(struct gp_log *log, uint64_t position)
{
    uint64_t wanted = position / GP_SEGMENT_RECORDS + GP_LOG_AHEAD / 2;

    if (atomic_load_explicit(&log->provisioned, memory_order_relaxed) >= wanted ||
        atomic_load_explicit(&log->full, memory_order_relaxed) ||
        pthread_mutex_trylock(&log->lock) != 0)
        return;
    for (int i = 0; i < 2; i++) /* one more than is used up: to catch up */
        if (provision_one(log) != 0)
            break;
    pthread_mutex_unlock(&log->lock);
}

static uint64_t dropped(struct gp_log *log)
{
    atomic_fetch_add_explicit(&log->header->dropped, 1, memory_order_relaxed);
    gp_count(GP_COUNTER_dropped_events);
    return UINT64_MAX;
}

uint64_t gp_log_append(struct gp_log *log, const struct gp_record *record, const void *payload,
                       size_t payload_bytes)
{
    size_t extra = (payload_bytes + GP_CONTINUATION_BYTES - 1) / GP_CONTINUATION_BYTES;
    uint64_t position;
    struct gp_record *line;

    if (extra > GP_EXTRA_MAX)
        return dropped(log);
    position = atomic_fetch_add_explicit(&log->header->next, 1 + extra, memory_order_seq_cst);
    if (__builtin_expect(extra > 0, 0) &&
        !append_continuations(log, position + 1, payload, payload_bytes))
        return dropped(log);
    line = line_at(log, position);
    if (__builtin_expect(line == NULL, 0))
        return dropped(log);
    memcpy((unsigned char *)line + sizeof(line->commit),
           (const unsigned char *)record + sizeof(record->commit),
           sizeof(*record) - sizeof(record->commit));
    line->extra = (uint8_t)extra;
    atomic_store_explicit(&line->commit, position + 1, memory_order_release);
    if (__builtin_expect(position % GP_SEGMENT_RECORDS == GP_SEGMENT_RECORDS / 2, 0))
        help_ahead(log, position);
    return position;
}
