/* SPDX-License-Identifier: MIT */
/*
 * An event log of a dead process -> gp_store_open.
 *
 *   byte 0             bit 0: the commit words are right whatever the records hold, so that events
 *                      are reached; else the records are taken as they are
 *   bytes 1 .. 191     the header, without the segment table, from its second byte on
 *   bytes 192 ..       records, from position 0 on
 */
#include <stdlib.h>
#include <string.h>

#include "libgradprof/store/db.h"
#include "libgradprof/store/recover.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/workplace.h"
#include "tests/store/script.h"

#define HEADER_BYTES offsetof(struct gp_log_header, segment)
#define RECORDS_MAX 2048u

static_assert(HEADER_BYTES == 192, "the layout of an input");

/* A head before each run of continuations that it claims. */
static void correct_commits(unsigned char *records, size_t count)
{
    size_t continuations = 0;
    for (size_t i = 0; i < count; i++) {
        struct gp_record *record = (struct gp_record *)(records + i * GP_RECORD_BYTES);
        if (continuations > 0) {
            atomic_store(&record->commit, (i + 1) | GP_COMMIT_CONTINUATION);
            continuations--;
        } else {
            atomic_store(&record->commit, i + 1);
            continuations = record->extra;
        }
    }
}

static void write_log(const uint8_t *data, size_t size)
{
    static unsigned char image[GP_LOG_HEADER_BYTES + RECORDS_MAX * GP_RECORD_BYTES]
        __attribute__((aligned(64)));
    struct gp_log_header *header = (struct gp_log_header *)image;
    size_t record_bytes = size > HEADER_BYTES ? size - HEADER_BYTES : 0;
    if (record_bytes > RECORDS_MAX * GP_RECORD_BYTES)
        record_bytes = RECORDS_MAX * GP_RECORD_BYTES;
    memset(image, 0, sizeof(image));
    memcpy(image, data, size < HEADER_BYTES ? size : HEADER_BYTES);
    image[0] = (unsigned char)GP_LOG_MAGIC;
    memcpy(image + GP_LOG_HEADER_BYTES, data + size - record_bytes, record_bytes);
    atomic_store(&header->segment[0].number_plus_1, 1);
    if (data[0] & 1)
        correct_commits(image + GP_LOG_HEADER_BYTES, record_bytes / GP_RECORD_BYTES);
    workplace_write(workplace_log_path(), GP_LOG_HEADER_BYTES + GP_SEGMENT_BYTES, 0, image,
                    GP_LOG_HEADER_BYTES + record_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_recover_result result;
    struct gp_db *db;
    char error[256];
    if (size == 0)
        return 0;
    write_log(data, size);
    if (gp_store_open(workplace_db_path(), &db, &result, NULL, NULL, error, sizeof(error)) == 0)
        gp_db_close(db);
    workplace_clear();
    return 0;
}

uint8_t *fuzz_make_seed(size_t *ret_size)
{
    struct log_builder log;
    log_builder_init(&log, 0x1234);
    script_add_run(&log, 5);
    size_t record_bytes = atomic_load(&log_builder_header(&log)->next) * GP_RECORD_BYTES;
    *ret_size = HEADER_BYTES + record_bytes;
    uint8_t *seed = malloc(*ret_size);
    memcpy(seed, log.image, HEADER_BYTES);
    memcpy(seed + HEADER_BYTES, log.image + GP_LOG_HEADER_BYTES, record_bytes);
    log_builder_finish(&log);
    return seed;
}
