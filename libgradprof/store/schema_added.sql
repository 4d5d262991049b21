-- Added to version 1 after files were out there: an unfinished one gets it before its import goes on,
-- and readers ask whether it is there.

-- Where physical memory (kind `physical`) is mapped. allocation.address of such a row is its handle.
CREATE TABLE mapping(
    id INTEGER PRIMARY KEY, allocation_id INTEGER NOT NULL,
    address INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
    map_seq INTEGER NOT NULL, unmap_seq INTEGER);

-- The device's own account. live_bytes: the ledger at that moment. NULL: the device did not tell.
CREATE TABLE device_sample(
    seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL,
    device_id INTEGER NOT NULL, reason INTEGER NOT NULL, live_bytes INTEGER NOT NULL,
    free_bytes INTEGER NOT NULL, total_bytes INTEGER NOT NULL,
    pool_reserved_bytes INTEGER, pool_used_bytes INTEGER,
    graph_reserved_bytes INTEGER, graph_used_bytes INTEGER, other_bytes INTEGER);

CREATE VIEW device_samples AS
SELECT seq, t_ns, device_id,
       CASE reason WHEN 1 THEN 'context' WHEN 2 THEN 'growth' WHEN 3 THEN 'refused'
           WHEN 4 THEN 'end' WHEN 5 THEN 'trim' END AS reason,
       live_bytes, total_bytes - free_bytes AS used_bytes, total_bytes, pool_reserved_bytes,
       pool_used_bytes, graph_reserved_bytes, graph_used_bytes, other_bytes
FROM device_sample;
