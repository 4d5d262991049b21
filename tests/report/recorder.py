# SPDX-License-Identifier: MIT
"""Writes a run.db as the profiler would, from a simulated program: storages, nodes and handles are
reference-counted here, and every change becomes an event with the next seq."""

import pathlib
import sqlite3

SCHEMA = pathlib.Path(__file__).parents[2] / "libgradprof/store/schema.sql"
ROLES = {"parameter": 1, "gradient": 2, "optimizer": 3, "input": 4, "workspace": 5, "buffer": 6}
SCOPES = {"module": 1, "op": 2, "tensor": 3, "phase": 4}
KINDS = {"device": 1, "async": 2, "managed": 3, "host": 5, "imported": 7}
NS_PER_EVENT = 1000000


class Refused(Exception):
    """The device is full."""


class Storage:
    def __init__(self, row, size):
        self.row, self.size, self.refs = row, size, 0


class Node:
    def __init__(self, row):
        self.row, self.refs, self.inputs, self.saved = row, 0, [], []


class Handle:
    def __init__(self, row, storage, node):
        self.row, self.storage, self.node = row, storage, node


class Recorder:
    def __init__(self, capacity=None, runtime=2, device_name="host stand-in, no GPU"):
        self.seq = 0
        self.rows = {t: [] for t in ("string", "module", "frame", "stack", "scope", "step", "edge",
                                     "allocation", "node", "saved", "handle", "failure", "child")}
        self.strings, self.stacks, self.scopes, self.frames, self.modules = {}, {}, {}, {}, {}
        self.scope_path, self.step_path = [], []
        self.live = self.peak = self.peak_seq = self.nodes = 0
        self.capacity = capacity
        self.device = (runtime, device_name)
        self.meta, self.counters = {}, {}
        self.stack = ()
        self.last_ledger_seq = 0

    # --- definitions ---------------------------------------------------------------------------

    def string(self, text):
        if text is None:
            return None
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.rows["string"].append((self.strings[text], text))
        return self.strings[text]

    def module(self, path, base=0x400000, build_id=None):
        if path not in self.modules:
            self.modules[path] = len(self.modules) + 1
            self.rows["module"].append((self.modules[path], self.string(path), base,
                                        base + 0x100000, build_id, 1))
        return self.modules[path]

    def frame(self, frame):
        """(function, file, line, module)"""
        if frame not in self.frames:
            number = len(self.frames) + 1
            self.frames[frame] = number
            function, file, line, module = frame
            self.rows["frame"].append((number, 0x401000 + number, self.module(module), number,
                                       function, file, line))
        return self.frames[frame]

    def stack_id(self):
        """self.stack: frames, innermost first."""
        parent = None
        for frame in reversed(self.stack):
            key = (parent, self.frame(frame))
            if key not in self.stacks:
                self.stacks[key] = len(self.stacks) + 1
                self.rows["stack"].append((self.stacks[key], *key))
            parent = self.stacks[key]
        return parent

    def scope_id(self):
        parent = None
        for kind, name in self.scope_path:
            key = (parent, SCOPES[kind], self.string(name))
            if key not in self.scopes:
                self.scopes[key] = len(self.scopes) + 1
                self.rows["scope"].append((self.scopes[key], *key))
            parent = self.scopes[key]
        return parent

    def step_id(self):
        return self.step_path[-1][0] if self.step_path else None

    def tick(self):
        self.seq += 1
        return self.seq

    # --- ledger --------------------------------------------------------------------------------

    def allocate(self, size, role=None, name=None, kind="async", device=0):
        counted = kind in ("device", "async", "managed")
        if counted and self.capacity is not None and self.live + size > self.capacity:
            self.refuse(size)
        seq = self.last_ledger_seq = self.tick()
        traits = device | KINDS[kind] << 10 | ROLES.get(role, 0) << 16
        row = [len(self.rows["allocation"]) + 1, traits, None, 0x7f0000000000 + seq * 512, size, 0,
               100, self.stack_id(), self.scope_id(), self.step_id(), self.string(name), seq, None]
        self.rows["allocation"].append(row)
        if counted:
            self.live += size
            for step in self.step_path:
                step[10] = max(step[10], self.live)
            if self.live > self.peak:
                self.peak, self.peak_seq = self.live, seq
        storage = Storage(row, size)
        storage.counted = counted
        return storage

    def refuse(self, size):
        seq = self.last_ledger_seq = self.tick()
        self.rows["failure"].append((seq, seq * NS_PER_EVENT, 0, size, 2,
                                     self.string("cudaMallocAsync"), 2, self.live, self.capacity,
                                     self.stack_id(), self.scope_id(), self.step_id(), 100))
        raise Refused

    def drop_storage(self, storage):
        storage.refs -= 1
        if storage.refs == 0:
            storage.row[12] = self.last_ledger_seq = self.tick()
            if storage.counted:
                self.live -= storage.size

    # --- graph ---------------------------------------------------------------------------------

    def node(self, op, inputs=()):
        row = [len(self.rows["node"]) + 1, self.string(op), self.scope_id(), self.step_id(), 100,
               self.stack_id(), self.tick(), None, None]
        self.rows["node"].append(row)
        self.nodes += 1
        node = Node(row)
        for slot, other in enumerate(inputs):
            if other is not None:
                self.edge(node, slot, other)
        return node

    def edge(self, node, slot, other):
        other.refs += 1
        node.inputs.append(other)
        self.tick()
        self.rows["edge"].append((node.row[0], slot, other.row[0]))

    def save(self, node, slot, storage, source=None):
        storage.refs += 1
        if source:
            source.refs += 1
        row = [len(self.rows["saved"]) + 1, node.row[0], self.string(slot), storage.row[0],
               source.row[0] if source else None, self.tick(), None]
        self.rows["saved"].append(row)
        node.saved.append((row, storage, source))

    def drop_node(self, node):
        work = [node]
        while work:
            node = work.pop()
            node.refs -= 1
            if node.refs > 0:
                continue
            node.row[8] = self.tick()
            self.nodes -= 1
            for row, storage, source in node.saved:
                row[6] = node.row[8]
                self.drop_storage(storage)
                if source:
                    work.append(source)
            work.extend(node.inputs)

    # --- handles -------------------------------------------------------------------------------

    def handle_row(self, object_id, name, storage, node):
        row = [len(self.rows["handle"]) + 1, object_id, self.string(name),
               storage.row[0] if storage else None, node.row[0] if node else None,
               self.stack_id(), self.scope_id(), self.step_id(), self.tick(), None]
        row[1] = row[1] or row[0]
        self.rows["handle"].append(row)
        return row

    def handle(self, storage=None, node=None, name=None):
        if storage:
            storage.refs += 1
        if node:
            node.refs += 1
        return Handle(self.handle_row(None, name, storage, node), storage, node)

    def name(self, handle, name):
        row = self.handle_row(handle.row[1], name, handle.storage, handle.node)
        handle.row[9] = row[8]
        handle.row = row

    def release(self, handle):
        if handle is None:
            return
        handle.row[9] = self.tick()
        if handle.node:
            self.drop_node(handle.node)
        if handle.storage:
            self.drop_storage(handle.storage)

    # --- steps and the file --------------------------------------------------------------------

    def step_begin(self, label=None):
        seq = self.tick()
        row = [len(self.rows["step"]) + 1, self.step_id(), self.string(label), 100, seq,
               seq * NS_PER_EVENT, None, None, self.live, None, self.live, seq, self.nodes, None]
        self.rows["step"].append(row)
        self.step_path.append(row)

    def step_end(self):
        row = self.step_path.pop()
        row[6], row[7], row[9], row[13] = self.seq, self.seq * NS_PER_EVENT, self.live, self.nodes
        self.tick()

    def write(self, path, clean=True):
        path = pathlib.Path(path)
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.executescript(SCHEMA.read_text())
        database.execute("PRAGMA application_id = 1735553126")
        database.execute("PRAGMA user_version = 1")
        columns = {"string": "id, text", "edge": "node_id, slot, input_node_id"}
        columns["node"] = ("id, op_id, scope_id, step_id, thread_id, stack_id, create_seq, "
                           "backward_seq, destroy_seq")
        columns["handle"] = ("id, object_id, name_id, allocation_id, node_id, stack_id, scope_id, "
                             "step_id, create_seq, destroy_seq")
        for table, rows in self.rows.items():
            for row in rows:
                values = ["CAST(? AS TEXT)" if table == "string" else "?"] * len(row)
                if table == "string":
                    values[0] = "?"
                names = f"({columns[table]})" if table in columns else ""
                database.execute(f"INSERT INTO {table} {names} VALUES ({', '.join(values)})", row)
        runtime, name = self.device
        if self.rows["allocation"] or self.rows["failure"]:
            database.execute("INSERT OR IGNORE INTO string VALUES (?, ?)",
                             (self.string(name), name))
            database.execute("INSERT INTO device VALUES (0, ?, ?, ?, NULL, NULL, ?, ?, ?)",
                             (self.string(name), runtime, self.capacity or 8 << 30, self.peak,
                              self.peak_seq, self.live))
        for seq in range(0, self.seq + 1, 64):
            database.execute("INSERT INTO clock VALUES (?, ?)", (seq, seq * NS_PER_EVENT))
        if self.seq % 64:
            database.execute("INSERT INTO clock VALUES (?, ?)", (self.seq, self.seq * NS_PER_EVENT))
        for name, value in self.counters.items():
            database.execute("INSERT INTO counter VALUES (?, ?)", (name, value))
        for key, value in self.all_meta(clean).items():
            database.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
        database.commit()
        database.close()

    def all_meta(self, clean):
        meta = {"argv": "./sample_accumulate", "host": "testhost", "pid": 4242,
                "last_ns": self.seq * NS_PER_EVENT, "last_seq": self.seq, "events": self.seq,
                "clean_exit": int(clean), "finished": 1}
        done = [step for step in self.rows["step"] if step[6] is not None]
        moments = {"exit_seq": self.seq, "peak_seq": self.peak_seq, "peak_bytes": self.peak,
                   "end_seq": max(s[6] for s in done) if done else self.last_ledger_seq}
        if self.rows["failure"]:
            moments["oom_seq"] = self.rows["failure"][-1][0]
        meta.update({key: value for key, value in moments.items() if value})
        meta.update(self.meta)
        return meta
