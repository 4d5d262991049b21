/* SPDX-License-Identifier: MIT */
/*
 * The event log: a file-backed shared mapping (`run.db-log`) that the hooks append to and the ingest
 * thread drains into SQLite. What is in the mapping survives SIGKILL: the page cache keeps it.
 *
 *   file      = header (GP_LOG_HEADER_BYTES) + slot[0] + slot[1] + ...      each slot one segment long
 *   segment n = records [n * GP_SEGMENT_RECORDS, (n + 1) * GP_SEGMENT_RECORDS) of the log,
 *               in slot header.segment[n % GP_SEGMENT_TABLE].slot while that entry's number == n + 1
 *   record    = 64 bytes, one cache line. Its position in the log is the event's order stamp (`seq`).
 *
 * Order. A position is taken by one atomic add on header.next, so positions are dense and total: if
 * event A's hook returned before event B's began, in whatever threads, A's position is smaller. An
 * event that needs more room takes 1 + `extra` consecutive positions; its seq is the first.
 *
 * Commit. A record counts when its `commit` word equals position + 1; it is stored last, with
 * release. Slots are recycled without clearing, since a stale word names another position. For an
 * event with continuations, the continuations are committed first and the head record last, so a
 * committed head implies a whole event. A continuation's word has GP_COMMIT_CONTINUATION set: when
 * the thread is killed between the two, the reader must not take the orphan for an event. A position
 * whose word never arrives (the thread was killed inside the hook) is a hole: the importer of a dead
 * process skips it.
 *
 * Reader and writer in lock step: fields are little-endian host integers; readers refuse another
 * magic, version, record size or segment size by name. Adding an event type is allowed within a
 * version (readers count and skip unknown types, using `extra`); changing a meaning is not.
 */
#ifndef GP_LOG_FORMAT_H
#define GP_LOG_FORMAT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GP_LOG_MAGIC UINT64_C(0x676f6c7066726721) /* "!grfplog" */
#define GP_LOG_VERSION 1u
#define GP_LOG_HEADER_BYTES 131072u /* header and segment table, rounded to pages */

#define GP_RECORD_BYTES 64u
#define GP_SEGMENT_RECORDS 16384u /* one segment = 1 MiB: a few thousand page faults are batched */
#define GP_SEGMENT_BYTES (GP_SEGMENT_RECORDS * GP_RECORD_BYTES)
#define GP_SEGMENT_TABLE 4096u    /* segments that can be outstanding: a backlog of 4 GiB */
#define GP_CONTINUATION_BYTES 56u /* payload of a continuation record */
#define GP_EXTRA_MAX 255u         /* continuation records of one event */
#define GP_COMMIT_CONTINUATION (UINT64_C(1) << 63) /* in a continuation's commit word */

enum gp_event_type {
    GP_EV_NONE = 0,
    /* definitions: always before (in seq) the first event that uses the id; ids start at 1, 0 = none */
    GP_EV_STRING = 1, /* define_id; continuation: length bytes */
    GP_EV_STACK = 2,  /* define_id; continuation: `length` u64 addresses, innermost first */
    GP_EV_MODULE =
        3, /* key = load address, a = end address, b = build-id bytes in front of the path;
                         continuation: build id, path (length bytes in all). A later MODULE that
                         overlaps an earlier one replaces it from this seq on */
    GP_EV_SCOPE = 4, /* define_id, parent_id, name_id, detail = enum gradprof_scope_kind */
    GP_EV_META = 5,  /* continuation: key NUL value, length bytes in all (meta table) */
    GP_EV_DEVICE =
        6, /* device; a = total bytes, b = limit bytes (0: none); name_id; detail = runtime
                         (enum gp_runtime) */
    GP_EV_CHILD = 7, /* key = pid of a forked child */
    GP_EV_FRAME = 8, /* a line of source as a frame: key = its address in stacks, with
                        GP_FRAME_SOURCE set; name_id = function, parent_id = file name (a string's
                        id), detail = line */
    GP_EV_STRING_TEXT =
        9, /* define_id of a string told before; continuation: its text from here on,
                              length bytes */

    /* ledger */
    GP_EV_ALLOC = 16, /* key = address, a = size_bytes, b = stream; device, stack, scope; detail =
                         kind, context number << 8 */
    GP_EV_FREE = 17,  /* key = address, b = stream; kind = GP_KIND_*_FREE; logged before the call */
    GP_EV_FREE_RESULT =
        18, /* the call returned error `detail` after all; key = address. Informative:
                               the allocation stays freed unless detail says it was never valid */
    GP_EV_REFUSED =
        19, /* a = asked bytes, b = limit bytes (0: the device's own); detail = API error;
                           device, kind, stack, scope; name_id = API name */
    GP_EV_RESET =
        20, /* every allocation of `device` is gone: detail 0, by cudaDeviceReset; else those
                         of the context with number `detail` (hooks/contexts.h) */
    GP_EV_ROLE = 21, /* key = address; detail = enum gradprof_role; name_id */
    GP_EV_POOL =
        22, /* key = pool handle; detail: 1 created, 2 destroyed; a = max bytes (0: none) */
    GP_EV_DEVICE_SAMPLE =
        23, /* continuation: struct gp_device_sample; device; detail = enum gp_sample_reason */
    GP_EV_MAP = 26,   /* key = address, a = size_bytes, b = key of the physical allocation */
    GP_EV_UNMAP = 27, /* key = address of a mapping; it is gone as a whole */

    /* pools: blocks that the program's own allocator carves from device memory */
    GP_EV_BLOCK = 24,      /* key = address, a = size_bytes; device, stack, scope */
    GP_EV_BLOCK_FREE = 25, /* key = address */

    /* graph */
    GP_EV_NODE = 32,          /* key = node; name_id = op; stack, scope; detail 1: belongs to
                                 no step (a leaf's accumulator) */
    GP_EV_EDGE = 33,          /* key = node; a = input node; detail = slot number */
    GP_EV_NODE_BACKWARD = 34, /* key = node */
    GP_EV_NODE_DESTROY = 35,  /* key = node */
    GP_EV_SAVE = 36,          /* key = node; a = address; b = source node; name_id = slot */
    GP_EV_RELEASE = 37,       /* key = node; name_id = slot */

    /* handles */
    GP_EV_HANDLE = 48,         /* key = handle; a = address; b = node; name_id; stack, scope;
                                  detail 1: it was there at the last refused allocation already,
                                  2: at the thread's last LOOP_END */
    GP_EV_HANDLE_NAME = 49,    /* key = handle; name_id; stack */
    GP_EV_HANDLE_NODE = 50,    /* key = handle; b = node */
    GP_EV_HANDLE_DESTROY = 51, /* key = handle; detail 2: gone with the thread's last LOOP_END */

    /* time and life */
    GP_EV_STEP_BEGIN = 64, /* name_id = label */
    GP_EV_STEP_END = 65, /* detail 1: what followed the thread's last LOOP_END is not part of it */
    GP_EV_COUNTER = 66,  /* name_id; a = value so far (counter table; the last one wins) */
    GP_EV_EXIT_BEGIN = 67, /* exit handlers start; moment `end` without steps is before this */
    GP_EV_EXIT = 68,       /* the last event of a clean exit; detail = 0 */
    GP_EV_LOOP_END = 69,   /* the function that runs the thread's steps ended just now */
};

/* What kind of memory a ledger event is about. Values are stored in run.db: never renumber. */
enum gp_kind {
    GP_KIND_UNKNOWN = 0,
    GP_KIND_DEVICE = 1,  /* cudaMalloc, cudaMallocPitch, cudaMalloc3D */
    GP_KIND_ASYNC = 2,   /* cudaMallocAsync, cudaMallocFromPoolAsync */
    GP_KIND_MANAGED = 3, /* cudaMallocManaged */
    GP_KIND_ARRAY = 4,   /* arrays and mipmapped arrays; the size is the unpadded minimum */
    GP_KIND_HOST = 5,    /* pinned host memory: own ledger line, never added to device bytes */
    GP_KIND_HOST_REGISTERED = 6, /* cudaHostRegister: pinned, not obtained from the allocator */
    GP_KIND_IMPORTED = 7, /* IPC or external memory: owned by another process, zero own bytes */
    GP_KIND_PHYSICAL = 9, /* cuMemCreate; the key is its handle, with GP_HANDLE_KEY set */
    GP_KIND_GRAPH = 10,   /* a memory node of a CUDA graph, at each launch */
    GP_KIND_CPU = 8,      /* a block of PyTorch's CPU allocator, on the device GP_DEVICE_CPU */
};

/* Kinds that add to a device's live bytes. Unknown kinds do: better a line too many than a gap. */
static inline int gp_kind_is_device_memory(enum gp_kind kind)
{
    return kind != GP_KIND_HOST && kind != GP_KIND_HOST_REGISTERED && kind != GP_KIND_IMPORTED;
}

#define GP_HANDLE_KEY (UINT64_C(1) << 62) /* in a key that is a handle, so that it is no address */
#define GP_DEVICE_CPU 254u                /* a device id that no GPU has */
#define GP_FRAME_SOURCE (UINT64_C(1) << 62) /* no address has this bit */

/* How sure we are of the level a ledger event was seen at. */
enum gp_runtime {
    GP_RUNTIME_UNKNOWN = 0,
    GP_RUNTIME_CUDART = 1,   /* NVIDIA's runtime */
    GP_RUNTIME_HOSTCUDA = 2, /* the host stand-in: no GPU */
    GP_RUNTIME_DRIVER = 4,   /* NVIDIA's driver, under whatever runtime */
    GP_RUNTIME_CPU = 3,      /* no device: what a framework allocates in the CPU's own memory */
};

/*
 *  0        8    10 11 12       16       24       32       40       48   52   56   60   64
 * | commit | type|x|f| thread_id| t_ns    | key    | a      | b      |stk |scp |name|det |
 *
 * x = extra, f = device + 1 (0: no device). Definition events carry their id in `stack_id`
 * (define_id), a parent in `scope_id` (parent_id), and the payload length in `detail` (length).
 */
struct gp_record {
    _Atomic uint64_t commit; /* position + 1 once the record is whole */
    uint16_t type;           /* enum gp_event_type */
    uint8_t extra;           /* continuation records that follow */
    uint8_t device_plus_1;   /* 0: no device */
    uint32_t thread_id;      /* kernel thread id */
    uint64_t t_ns;           /* CLOCK_MONOTONIC, ns */
    uint64_t key;
    uint64_t a;
    uint64_t b;
    union {
        uint32_t stack_id;
        uint32_t define_id;
    };
    union {
        uint32_t scope_id;
        uint32_t parent_id;
    };
    uint32_t name_id;
    union {
        uint32_t detail; /* ALLOC/FREE/REFUSED: low byte = enum gp_kind, rest = API error */
        uint32_t length;
    };
};

struct gp_continuation {
    _Atomic uint64_t commit; /* (position + 1) | GP_COMMIT_CONTINUATION */
    unsigned char payload[GP_CONTINUATION_BYTES];
};

#define GP_DETAIL_KIND(detail) ((enum gp_kind)((detail)&0xffu))
#define GP_DETAIL_ERROR(detail) ((uint32_t)(detail) >> 8)
#define GP_DETAIL(kind, error) ((uint32_t)(kind) | (uint32_t)(error) << 8)

/* When a device's own account was read. Stored in run.db: never renumber. */
enum gp_sample_reason {
    GP_SAMPLE_CONTEXT = 1, /* a context was made: its bytes are not yet anyone's allocations */
    GP_SAMPLE_GROWTH = 2,  /* enough was allocated since the last one */
    GP_SAMPLE_REFUSED = 3, /* an allocation was refused */
    GP_SAMPLE_END = 4,     /* exit handlers begin */
    GP_SAMPLE_TRIM = 5,    /* a pool gave memory back */
};

#define GP_UNKNOWN_BYTES UINT64_MAX

struct gp_device_sample {              /* bytes; GP_UNKNOWN_BYTES where the device does not tell */
    uint64_t free, total;              /* of the device, the memory limit aside */
    uint64_t pool_reserved, pool_used; /* stream-ordered pools of this process */
    uint64_t graph_reserved, graph_used; /* memory nodes of CUDA graphs */
    uint64_t others;                     /* used by other processes */
};

struct gp_segment_entry {
    _Atomic uint64_t number_plus_1; /* which segment the slot holds; 0: none */
    _Atomic uint64_t slot;          /* index of the slot in the file */
};

struct gp_log_header {
    uint64_t magic;
    uint32_t version;
    uint32_t record_bytes;
    uint32_t segment_records;
    uint32_t pid;
    uint64_t start_ns;      /* CLOCK_MONOTONIC at the run's start: t = 0 of run.db */
    uint64_t start_unix_ns; /* CLOCK_REALTIME at the same instant */
    uint64_t run_id;        /* random; equals meta.run_id in run.db, so a stray log is recognised */
    _Atomic uint64_t slots; /* slots in the file that have space guaranteed */
    _Atomic uint64_t ingested; /* advisory; the authority is meta.ingested_seq in run.db */
    _Atomic uint64_t dropped;  /* events lost because no space was left, told in the report */
    _Atomic uint64_t clean;    /* 1 after a clean exit drained everything */
    /* on a line of its own: every thread adds to it */
    _Alignas(64) _Atomic uint64_t next; /* first position not yet taken */
    _Alignas(64) struct gp_segment_entry segment[GP_SEGMENT_TABLE];
};

static_assert(sizeof(struct gp_record) == GP_RECORD_BYTES, "a record is one cache line");
static_assert(sizeof(struct gp_continuation) == GP_RECORD_BYTES, "continuations fit the same slot");
static_assert(sizeof(struct gp_log_header) <= GP_LOG_HEADER_BYTES, "the table fits the header");
static_assert(GP_SEGMENT_BYTES % 4096u == 0, "segments are whole pages");

#endif
