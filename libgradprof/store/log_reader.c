/* SPDX-License-Identifier: MIT */
#include "libgradprof/store/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void gp_log_view_init(struct gp_log_view *view, struct gp_log_header *header, unsigned char *slots,
                      size_t slot_count)
{
    *view =
        (struct gp_log_view){.header = header, .slots = slots, .slot_count = slot_count, .fd = -1};
}

/* --- a file ------------------------------------------------------------------------------------ */

static int complain(char *error, size_t error_size, const char *path, const char *what)
{
    snprintf(error, error_size, "%s: %s", path, what);
    return -EINVAL;
}

static int check_header(const struct gp_log_header *header, const char *path, char *error,
                        size_t error_size)
{
    if (header->magic == 0)
        return complain(error, error_size, path,
                        "an event log that was never written to (killed at its start?)");
    if (header->magic != GP_LOG_MAGIC)
        return complain(error, error_size, path, "not a gradprof event log, or overwritten");
    if (header->version != GP_LOG_VERSION) {
        snprintf(error, error_size, "%s: event log version %u, this program reads version %u", path,
                 header->version, GP_LOG_VERSION);
        return -EINVAL;
    }
    if (header->record_bytes != GP_RECORD_BYTES || header->segment_records != GP_SEGMENT_RECORDS)
        return complain(error, error_size, path,
                        "records or segments of another size: damaged, or of another version");
    return 0;
}

static int map_file(int fd, const char *path, struct gp_log_view *ret_view, char *error,
                    size_t error_size)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return complain(error, error_size, path, "not a regular file");
    if ((uint64_t)status.st_size < GP_LOG_HEADER_BYTES)
        return complain(error, error_size, path, "truncated: shorter than an event log's header");
    size_t bytes = (size_t)status.st_size;
    void *mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    int result = check_header(mapping, path, error, error_size);
    if (result < 0) {
        munmap(mapping, bytes);
        return result;
    }
    /* A last slot that is only partly there can be read as far as it goes. */
    size_t slot_bytes = bytes - GP_LOG_HEADER_BYTES;
    gp_log_view_init(ret_view, mapping, (unsigned char *)mapping + GP_LOG_HEADER_BYTES,
                     (slot_bytes + GP_SEGMENT_BYTES - 1) / GP_SEGMENT_BYTES);
    ret_view->mapping = mapping;
    ret_view->mapping_bytes = bytes;
    ret_view->fd = fd;
    return 0;
}

int gp_log_open(const char *path, struct gp_log_view *ret_view, char *error, size_t error_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int status = -errno;
        snprintf(error, error_size, "%s: %s", path, strerror(-status));
        return status;
    }
    error[0] = '\0';
    int status = map_file(fd, path, ret_view, error, error_size);
    if (status < 0) {
        if (!error[0])
            snprintf(error, error_size, "%s: %s", path, strerror(-status));
        close(fd);
    }
    return status;
}

void gp_log_close(struct gp_log_view *view)
{
    if (!view->mapping)
        return;
    munmap(view->mapping, view->mapping_bytes);
    close(view->fd);
    *view = (struct gp_log_view){.fd = -1};
}

/* --- records ----------------------------------------------------------------------------------- */

/* The bytes of a position, or NULL: `*ret_why` says whether it may still come. */
static const struct gp_record *record_at(const struct gp_log_view *view, uint64_t position,
                                         enum gp_log_next *ret_why)
{
    uint64_t number = position / GP_SEGMENT_RECORDS;
    struct gp_segment_entry *entry = &view->header->segment[number % GP_SEGMENT_TABLE];
    uint64_t held = atomic_load_explicit(&entry->number_plus_1, memory_order_acquire);
    if (held != number + 1) {
        *ret_why = held > number + 1 ? GP_LOG_LOST : GP_LOG_PENDING;
        return NULL;
    }
    uint64_t slot = atomic_load_explicit(&entry->slot, memory_order_relaxed);
    *ret_why = GP_LOG_LOST;
    if (slot >= view->slot_count)
        return NULL;
    uint64_t offset = slot * GP_SEGMENT_BYTES + position % GP_SEGMENT_RECORDS * GP_RECORD_BYTES;
    if (view->mapping && GP_LOG_HEADER_BYTES + offset + GP_RECORD_BYTES > view->mapping_bytes)
        return NULL;
    return (const struct gp_record *)(view->slots + offset);
}

static uint64_t commit_word(const struct gp_record *record)
{
    return atomic_load_explicit(&((struct gp_record *)record)->commit, memory_order_acquire);
}

/* Copies the continuations behind `position`; false: they are not whole. */
static bool read_payload(const struct gp_log_view *view, uint64_t position, unsigned extra,
                         unsigned char *ret_payload)
{
    enum gp_log_next why;
    for (unsigned i = 1; i <= extra; i++) {
        const struct gp_record *record = record_at(view, position + i, &why);
        if (!record || commit_word(record) != ((position + i + 1) | GP_COMMIT_CONTINUATION))
            return false;
        memcpy(ret_payload, ((const struct gp_continuation *)record)->payload,
               GP_CONTINUATION_BYTES);
        ret_payload += GP_CONTINUATION_BYTES;
    }
    return true;
}

enum gp_log_next gp_log_read(const struct gp_log_view *view, uint64_t position,
                             struct gp_log_event *ret_event)
{
    enum gp_log_next why = GP_LOG_PENDING;
    const struct gp_record *record = record_at(view, position, &why);
    if (record && commit_word(record) == position + 1) {
        memcpy(&ret_event->record, record, sizeof(*record));
        ret_event->seq = position;
        ret_event->payload_bytes = ret_event->record.extra * (size_t)GP_CONTINUATION_BYTES;
        if (read_payload(view, position, ret_event->record.extra, ret_event->payload))
            return GP_LOG_EVENT;
        return GP_LOG_PENDING;
    }
    /* `next` is read after the word: a position that was taken meanwhile is pending, not the end. */
    if (position >= atomic_load_explicit(&view->header->next, memory_order_acquire))
        return GP_LOG_END;
    return record ? GP_LOG_PENDING : why;
}
