-- run.db, schema version 1 (PRAGMA user_version), with schema_added.sql. docs/FORMAT.md explains every column.
--
-- seq   : position in the event log = order stamp. Something lives at moment S when
--         created_seq <= S and (ended_seq IS NULL or ended_seq > S).
-- *_ns  : nanoseconds of CLOCK_MONOTONIC since the run's start.
-- *_id  : rowid of the table named in front; NULL or 0 means none. device_id 0 is a device; 255, or
--         NULL where a column allows it, means none.

CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;

CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE device(
    id INTEGER PRIMARY KEY,          -- CUDA ordinal
    name_id INTEGER, runtime INTEGER NOT NULL,
    total_bytes INTEGER, limit_bytes INTEGER,
    context_bytes INTEGER,           -- NULL: not known
    peak_bytes INTEGER NOT NULL DEFAULT 0, peak_seq INTEGER,
    live_bytes INTEGER NOT NULL DEFAULT 0);  -- after the last ingested event

CREATE TABLE module(
    id INTEGER PRIMARY KEY, path_id INTEGER NOT NULL,
    base INTEGER NOT NULL, end INTEGER NOT NULL, build_id BLOB, first_seq INTEGER NOT NULL);

-- One row per distinct return address. function/file/line stay NULL until a reader resolves them.
CREATE TABLE frame(
    id INTEGER PRIMARY KEY, address INTEGER NOT NULL,
    module_id INTEGER, offset INTEGER,
    function TEXT, file TEXT, line INTEGER);

-- Call stacks as a prefix tree: a stack is its innermost frame plus the caller's stack.
CREATE TABLE stack(id INTEGER PRIMARY KEY, parent_id INTEGER, frame_id INTEGER NOT NULL);

-- Scope paths, interned: (parent, kind, name).
CREATE TABLE scope(
    id INTEGER PRIMARY KEY, parent_id INTEGER, kind INTEGER NOT NULL, name_id INTEGER);

CREATE TABLE step(
    id INTEGER PRIMARY KEY,          -- 1, 2, ... in order of opening
    parent_id INTEGER, label_id INTEGER, thread_id INTEGER,
    begin_seq INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
    end_seq INTEGER, end_ns INTEGER, -- the last event inside; NULL: not completed
    begin_bytes INTEGER NOT NULL,    -- device bytes live when it opened (all devices)
    end_bytes INTEGER,               -- ... and when it closed
    peak_bytes INTEGER, peak_seq INTEGER,
    begin_nodes INTEGER NOT NULL, end_nodes INTEGER);

CREATE TABLE allocation(
    id INTEGER PRIMARY KEY,          -- in order of alloc_seq
    traits INTEGER NOT NULL,         -- device | level << 8 | kind << 10 | role << 16 | context << 24
    parent_id INTEGER,               -- block level: the device allocation it is carved from
    address INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
    stream INTEGER, thread_id INTEGER, stack_id INTEGER, scope_id INTEGER, step_id INTEGER,
    name_id INTEGER,
    alloc_seq INTEGER NOT NULL, free_seq INTEGER);

CREATE TABLE node(
    id INTEGER PRIMARY KEY,
    key INTEGER,                     -- the node's address while it lives, NULL afterwards
    op_id INTEGER NOT NULL,
    scope_id INTEGER, step_id INTEGER, thread_id INTEGER, stack_id INTEGER,
    create_seq INTEGER NOT NULL, backward_seq INTEGER, destroy_seq INTEGER);

-- node keeps input_node alive, for as long as node lives.
CREATE TABLE edge(node_id INTEGER NOT NULL, slot INTEGER NOT NULL, input_node_id INTEGER NOT NULL);

CREATE TABLE saved(
    id INTEGER PRIMARY KEY,
    node_id INTEGER NOT NULL, slot_id INTEGER NOT NULL,
    allocation_id INTEGER,           -- NULL: the address lay in no known allocation
    source_node_id INTEGER,
    save_seq INTEGER NOT NULL, release_seq INTEGER);  -- release_seq is set by the node's death too

-- A row per unchanged state of a handle: a new name or node ends one row and begins the next.
CREATE TABLE handle(
    id INTEGER PRIMARY KEY,
    object_id INTEGER NOT NULL,      -- the id of the handle's first row
    key INTEGER,                     -- the handle's address while this row lives, NULL afterwards
    name_id INTEGER, allocation_id INTEGER, node_id INTEGER,
    stack_id INTEGER, scope_id INTEGER, step_id INTEGER,
    create_seq INTEGER NOT NULL, destroy_seq INTEGER);

CREATE TABLE failure(
    seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL,
    device_id INTEGER, asked_bytes INTEGER NOT NULL, kind INTEGER NOT NULL,
    api_id INTEGER, error INTEGER NOT NULL,
    live_bytes INTEGER NOT NULL, limit_bytes INTEGER,
    stack_id INTEGER, scope_id INTEGER, step_id INTEGER, thread_id INTEGER);

-- Sampled order -> time: t_ns at seq, ascending; times in between are interpolated.
CREATE TABLE clock(seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL);

-- What could not be recorded, and other counts: dropped_events, unknown_frees, ...
CREATE TABLE counter(name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE child(pid INTEGER PRIMARY KEY, seq INTEGER NOT NULL);

-- Views: names for the numbers, for people with a SQL prompt.

CREATE VIEW allocations AS
SELECT a.id, nullif(a.traits & 255, 255) AS device_id,
       CASE a.traits >> 8 & 3 WHEN 0 THEN 'device' ELSE 'block' END AS level,
       CASE a.traits >> 10 & 63
           WHEN 1 THEN 'device' WHEN 2 THEN 'async' WHEN 3 THEN 'managed' WHEN 4 THEN 'array'
           WHEN 5 THEN 'host' WHEN 6 THEN 'host-registered' WHEN 7 THEN 'imported'
           WHEN 8 THEN 'cpu' WHEN 9 THEN 'physical' WHEN 10 THEN 'graph'
           ELSE 'unknown' END AS kind,
       CASE a.traits >> 16 & 255
           WHEN 1 THEN 'parameter' WHEN 2 THEN 'gradient' WHEN 3 THEN 'optimizer-state'
           WHEN 4 THEN 'input' WHEN 5 THEN 'workspace' WHEN 6 THEN 'buffer' WHEN 7 THEN 'pool' END AS role,
       a.parent_id, printf('0x%x', a.address) AS address, a.size_bytes, a.stream, a.thread_id,
       a.stack_id, a.scope_id, a.step_id, n.text AS name, a.alloc_seq, a.free_seq
FROM allocation a LEFT JOIN string n ON n.id = a.name_id;

CREATE VIEW nodes AS
SELECT n.id, o.text AS op, n.scope_id, n.step_id, n.thread_id, n.stack_id,
       n.create_seq, n.backward_seq, n.destroy_seq
FROM node n JOIN string o ON o.id = n.op_id;

CREATE VIEW saves AS
SELECT s.id, s.node_id, o.text AS op, t.text AS slot, s.allocation_id, a.size_bytes, n.step_id,
       s.save_seq, s.release_seq
FROM saved s JOIN node n ON n.id = s.node_id JOIN string o ON o.id = n.op_id
JOIN string t ON t.id = s.slot_id LEFT JOIN allocation a ON a.id = s.allocation_id;

CREATE VIEW handles AS
SELECT h.id, h.object_id, n.text AS name, h.allocation_id, a.size_bytes, h.node_id, h.stack_id,
       h.step_id, h.create_seq, h.destroy_seq
FROM handle h LEFT JOIN string n ON n.id = h.name_id
LEFT JOIN allocation a ON a.id = h.allocation_id;

CREATE VIEW failures AS
SELECT f.seq, f.t_ns, f.device_id, f.asked_bytes, n.text AS api, f.error, f.live_bytes,
       f.limit_bytes, f.step_id, f.stack_id, f.scope_id
FROM failure f LEFT JOIN string n ON n.id = f.api_id;

CREATE VIEW frames AS
SELECT f.id, printf('0x%x', f.address) AS address, p.text AS module, f.offset, f.function, f.file,
       f.line
FROM frame f LEFT JOIN module m ON m.id = f.module_id LEFT JOIN string p ON p.id = m.path_id;
