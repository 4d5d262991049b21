# SPDX-License-Identifier: MIT
"""Everything adds up, exactly, on every golden database and at many moments; and retained bytes equal
what taking the root away by hand would free."""

import sqlite3
import unittest

import harness

DEVICE = "(traits >> 8 & 3) = 0 AND (traits >> 10 & 63) NOT IN (5, 6, 7)"
LIVE = "alloc_seq <= :s AND (free_seq IS NULL OR free_seq > :s)"
SAVED_LIVE = "save_seq <= :s AND (release_seq IS NULL OR release_seq > :s)"
ROLE_ROOTS = {1: "parameters", 2: "gradients", 3: "optimiser state", 6: "model buffers"}


NOBODY = object()  # an unnamed root's name is None


class Ledger:
    """The database read without the program under test."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def one(self, sql, seq):
        return self.database.execute(sql, {"s": seq}).fetchone()[0] or 0

    def live_bytes(self, seq):
        return self.one(f"SELECT sum(size_bytes) FROM allocation WHERE {DEVICE} AND {LIVE}", seq)

    def saved_bytes(self, seq):
        return self.one(f"SELECT sum(size_bytes) FROM allocation WHERE {DEVICE} AND {LIVE} AND id IN "
                        f"(SELECT allocation_id FROM saved WHERE {SAVED_LIVE})", seq)

    def saved_slots(self, seq):
        return self.one(f"SELECT count(*) FROM saved WHERE {SAVED_LIVE}", seq)

    def nodes(self, seq):
        return self.one("SELECT count(*) FROM node WHERE create_seq <= :s AND "
                        "(destroy_seq IS NULL OR destroy_seq > :s)", seq)

    def rows(self, sql, seq):
        return self.database.execute(sql, {"s": seq}).fetchall()


class Graph:
    """Roots by name, nodes and storages at one moment, and plain reachability over them."""

    def __init__(self, ledger, seq):
        self.sizes = dict(ledger.rows(f"SELECT id, CASE WHEN {DEVICE} THEN size_bytes ELSE 0 END "
                                      f"FROM allocation WHERE {LIVE}", seq))
        roles = dict(ledger.rows(f"SELECT id, traits >> 16 FROM allocation WHERE {LIVE}", seq))
        nodes = {row[0] for row in ledger.rows(
            "SELECT id FROM node WHERE create_seq <= :s AND "
            "(destroy_seq IS NULL OR destroy_seq > :s)", seq)}
        self.next = {("node", n): [] for n in nodes}
        for node, other in ledger.rows("SELECT node_id, input_node_id FROM edge", seq):
            if node in nodes and other in nodes:
                self.next["node", node].append(("node", other))
        for node, storage, source in ledger.rows(
                f"SELECT node_id, allocation_id, source_node_id FROM saved WHERE {SAVED_LIVE}", seq):
            if storage in self.sizes:
                self.next["node", node].append(("storage", storage))
            if source in nodes:
                self.next["node", node].append(("node", source))
        self.roots = {}  # name -> (storages, nodes)
        for name, storage, node in ledger.rows(
                "SELECT s.text, h.allocation_id, h.node_id FROM handle h LEFT JOIN string s "
                "ON s.id = h.name_id WHERE create_seq <= :s AND "
                "(destroy_seq IS NULL OR destroy_seq > :s)", seq):
            name = ROLE_ROOTS.get(roles.get(storage), name)
            storages, heads = self.roots.setdefault(name, (set(), set()))
            if storage in self.sizes:
                storages.add(("storage", storage))
            if node in nodes:
                heads.add(("node", node))

    def held(self, without=NOBODY, detached=NOBODY):
        """Bytes reachable when a root is gone, or keeps its tensors but not its graph."""
        work = []
        for name, (storages, heads) in self.roots.items():
            work += [] if name == without else storages
            work += [] if name in (without, detached) else heads
        seen = set(work)
        while work:
            for other in self.next.get(work.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    work.append(other)
        return sum(self.sizes[number] for kind, number in seen if kind == "storage")


class Sums(harness.ReportTest):
    def moments(self, name):
        last = self.document(f"{name}.db", "--at", "exit")["moment"]["seq"]
        yield []
        for at in ("peak", "end", "exit"):
            yield ["--at", at]
        for part in range(1, 8):
            yield ["--at", f"+{last * part / 8 / 1000:.3f}"]

    def check_account(self, account, ledger):
        self.assertEqual(account["bytes"], ledger.live_bytes(account["seq"]))
        self.assertEqual(sum(o["bytes"] for o in account["owners"]), account["bytes"])
        unattributed = sum(o["bytes"] for o in account["owners"] if o["class"] == "unattributed")
        self.assertEqual(account["unattributed_bytes"], unattributed)
        self.assertEqual(account["attributed_percent"] == 100, unattributed == 0)

    def check_document(self, document, ledger):
        seq = document["moment"]["seq"]
        for account in ("moment", "peak", "end"):
            self.check_account(document[account], ledger)
        retention = document["retention"]
        self.assertEqual(retention["live_bytes"], document["moment"]["bytes"])
        self.assertEqual(retention["retained_bytes"] + retention["shared_bytes"] +
                         retention["rest_bytes"], retention["live_bytes"])
        self.assertEqual(sum(r["retained_bytes"] for r in document["roots"]),
                         retention["retained_bytes"])
        for part in ("shared", "rest"):
            self.assertEqual(sum(o["bytes"] for o in retention[f"{part}_owners"]),
                             retention[f"{part}_bytes"])
        self.assertEqual(sum(h["bytes"] for h in document["holders"]), document["moment"]["bytes"])
        self.assertEqual(sum(n["own_bytes"] for n in document["nodes"]), ledger.saved_bytes(seq))
        self.assertEqual(sum(n["count"] for n in document["nodes"]), ledger.saved_slots(seq))
        self.assertEqual(document["graph"]["nodes"], ledger.nodes(seq))
        self.assertEqual(sum(o["nodes"] for o in document["graph"]["ops"]), ledger.nodes(seq))
        self.assertEqual(sum(r["nodes"] for r in document["roots"]) + retention["shared_nodes"] +
                         retention["rest_nodes"], ledger.nodes(seq))

    def check_retention(self, document, ledger):
        graph = Graph(ledger, document["moment"]["seq"])
        everything = graph.held()
        self.assertEqual(everything + document["retention"]["rest_bytes"],
                         document["moment"]["bytes"])
        for root in document["roots"]:
            name = root["name"]
            self.assertEqual(root["retained_bytes"], everything - graph.held(without=name), name)
            self.assertEqual(root["detach_frees_bytes"], everything - graph.held(detached=name),
                             name)

    def test_every_database(self):
        checked = 0
        for name in harness.NAMES:
            ledger = Ledger(self.folder / f"{name}.db")
            for at in self.moments(name):
                with self.subTest(f"{name} {at}"):
                    document = self.document(*at, f"{name}.db")
                    self.check_document(document, ledger)
                    names = [r["name"] for r in document["roots"]]
                    if len(names) == len(set(names)):
                        self.check_retention(document, ledger)
                        checked += len(names)
        self.assertGreater(checked, 200)

    def test_peak_is_the_highest(self):
        for name in harness.NAMES:
            ledger = Ledger(self.folder / f"{name}.db")
            seqs = [row[0] for row in ledger.rows("SELECT alloc_seq FROM allocation", 0)]
            document = self.document(f"{name}.db")
            self.assertEqual(document["peak"]["bytes"],
                             max((ledger.live_bytes(seq) for seq in seqs), default=0), name)


class Article(harness.ReportTest):
    """The published figures, to the byte."""

    PARAMETERS, INPUT, OUTPUT, GRAPH = 244403360, 616562688, 4096000, 3173515264

    def root(self, document, name):
        return next(r for r in document["roots"] if r["name"] == name)

    def test_refused(self):
        document = self.document("accumulate_8gib.db")
        failure = document["failures"][-1]
        self.assertEqual(failure["asked_bytes"], 792985600)
        self.assertEqual(failure["step"], 3)
        self.assertEqual(failure["scope"], "features.0 > ConvolutionBackward0 > output")
        self.assertEqual(failure["live_bytes"], 7828655264 + self.INPUT)
        self.assertEqual((failure["function"], failure["line"]), ("main", 9))
        self.assertEqual(document["attribution"]["percent"], 100.0)
        self.assertEqual([s["end_bytes"] for s in document["steps"]],
                         [4038577312, 7828655264, None])

    def test_retained(self):
        for step in range(1, 11):
            document = self.document("accumulate_10.db", "--at", f"step:{step}")
            root = self.root(document, "y_sum")
            self.assertEqual(root["retained_bytes"], step * self.GRAPH +
                             (step - 1) * self.INPUT + self.OUTPUT)
            self.assertEqual(root["graphs"], step)
            self.assertEqual(root["nodes"], step * 26 + 16)
            self.assertEqual(root["keeps_old_graphs"], step > 1)
            self.assertEqual(document["moment"]["bytes"],
                             4038577312 + (step - 1) * 3790077952)

    def test_culprit(self):
        root = self.document("accumulate_8gib.db")["roots"][0]
        self.assertEqual(root["name"], "y_sum")
        self.assertEqual(root["line"], 10)
        self.assertTrue(root["file"].endswith("source/accumulate.c"))
        self.assertIn("ag_assign(y_sum", root["source"])
        self.assertEqual(root["detach_frees_bytes"], 2 * self.GRAPH + 2 * self.INPUT)
        self.assertEqual((root["first_step"], root["last_step"]), (1, 2))
        path = root["path"]
        self.assertEqual(path["nodes"][0], "AddBackward0")
        # the first convolution's output, which the pool after it saves: one node nearer than relu
        self.assertEqual((path["nodes"][-1], path["slot"]),
                         ("MaxPool2DWithIndicesBackward0", "self"))
        self.assertEqual(path["length"], len(path["nodes"]))

    def test_detach(self):
        document = self.document("detach.db")
        self.assertEqual([s["end_bytes"] for s in document["steps"]], 3 * [865062048])
        self.assertFalse(any(r["keeps_old_graphs"] for r in document["roots"]))
        self.assertEqual(document["nodes"], [])


if __name__ == "__main__":
    unittest.main()
