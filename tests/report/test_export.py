#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports by call stack and by row: read by other means, and equal to the JSON report to the byte."""

import collections
import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import unittest

import jsonschema

from foreign_pprof import Profile
from harness import HERE, NAMES, REPORT, ReportTest
from recorder import Recorder

MOMENTS = [(), ("--at", "peak"), ("--at", "exit")]
FORMATS = ["speedscope", "folded", "pprof", "csv"]


def hostile_names():
    """Everything that separates something in one of the formats, and 10,000 characters."""
    r = Recorder(capacity=1 << 30)
    r.meta["argv"] = "./a \"b\" <c>\n\x1b[2J"
    text = b"a;b,c\"d'e\nf\tg\\h <i>&\x1b[31m\xff{j}|k" + "名".encode()
    for name in (text, b"n" * 10000, b"-1+2=3", b"\xff\xfe", b" "):
        r.stack = ((name, b"/src/" + name, 3, "./evil;module"), ("main", None, None, "./evil"))
        r.step_begin(name)
        r.scope_path = [("module", name)]
        node = r.node(name)
        storage = r.allocate(1000 + len(name), name=name)
        r.save(node, name, storage)
        r.handle(r.allocate(10), node, name)
        r.step_end()
    return r


class Exports(ReportTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mask = os.umask(0)
        os.umask(cls.mask)
        hostile_names().write(cls.folder / "names.db")

    def export(self, form, database, *arguments):
        result = self.run_report("export", "--as", form, database, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""), (form, database))
        return result.stdout

    def each(self):
        """(database, arguments, the moment's account in the JSON report)"""
        for name in NAMES + ["names"]:
            for at in MOMENTS:
                database = f"{name}.db"
                document = self.document(database, *at)
                owners = {o["class"]: o["bytes"] for o in document["moment"]["owners"]}
                with self.subTest(database=database, at=at):
                    yield database, at, document["moment"], owners

    def check_owners(self, found, owners):
        self.assertEqual({k: v for k, v in found.items() if v}, owners)

    def test_folded(self):
        for database, at, account, owners in self.each():
            found = collections.Counter()
            for line in self.export("folded", database, *at).decode("utf-8").splitlines():
                self.assertTrue(line.isprintable(), line)
                frames, size = re.fullmatch(r"(.+) (\d+)", line).groups()
                self.assertGreaterEqual(frames.count(";"), 1)
                found[re.fullmatch(r".*;\[([a-z-]+)\]", frames).group(1)] += int(size)
            self.check_owners(found, owners)
            self.assertEqual(sum(found.values()), account["bytes"])

    def test_folded_frames_are_outermost_first(self):
        first = self.export("folded", "accumulate_8gib.db").decode().splitlines()[0]
        self.assertTrue(first.startswith("main (accumulate.c:9);"), first)

    def test_speedscope(self):
        schema = json.loads((HERE / "speedscope-1.25.0.schema.json").read_text())
        for database, at, account, owners in self.each():
            document = json.loads(self.export("speedscope", database, *at))
            jsonschema.validate(document, schema)
            frames = document["shared"]["frames"]
            keys = [(f["name"], f.get("file"), f.get("line")) for f in frames]
            self.assertEqual(len(set(keys)), len(keys))
            by_bytes, by_count = document["profiles"]
            found = collections.Counter()
            for sample, weight in zip(by_bytes["samples"], by_bytes["weights"], strict=True):
                self.assertLess(max(sample), len(frames))
                found[frames[sample[-1]]["name"].strip("[]")] += weight
            self.check_owners(found, owners)
            self.assertEqual(by_bytes["endValue"], account["bytes"])
            self.assertEqual(by_bytes["unit"], "bytes")
            self.assertEqual(sum(by_count["weights"]), account["allocations"])

    def test_pprof(self):
        for database, at, account, owners in self.each():
            profile = Profile(self.export("pprof", database, *at))
            self.assertEqual(profile.types, [("inuse_objects", "count"), ("inuse_space", "bytes")])
            found = collections.Counter()
            for _, values, label in profile.samples:
                found[label["owner"]] += values[1]
            self.check_owners(found, owners)
            self.assertEqual(sum(values[0] for _, values, _ in profile.samples),
                             account["allocations"])

    def test_pprof_stacks_are_innermost_first(self):
        profile = Profile(self.export("pprof", "accumulate_8gib.db"))
        largest = max(profile.samples, key=lambda sample: sample[1][1])
        self.assertEqual(profile.stack(largest)[-1], "main")

    def rows(self, database, *at):
        text = self.export("csv", database, *at).decode("utf-8")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        for row in rows:
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values())
        return rows

    def test_csv(self):
        for database, at, account, owners in self.each():
            found = collections.Counter()
            for row in self.rows(database, *at):
                found[row["owner"]] += int(row["moment_bytes"])
            self.assertEqual(found.pop("", 0), 0)
            self.check_owners(found, owners)
            self.assertEqual(sum(found.values()), account["bytes"])

    def test_csv_has_every_allocation(self):
        rows = self.rows("accumulate_8gib.db")
        self.assertEqual([int(row["id"]) for row in rows], list(range(1, len(rows) + 1)))
        live = peak = 0
        events = []
        for row in rows:
            events.append((int(row["alloc_seq"]), int(row["size_bytes"])))
            if row["free_seq"]:
                events.append((int(row["free_seq"]), -int(row["size_bytes"])))
                self.assertGreater(int(row["free_ns"]), int(row["alloc_ns"]))
        for _, size in sorted(events):
            live += size
            peak = max(peak, live)
        self.assertEqual(peak, self.document("accumulate_8gib.db")["peak"]["bytes"])

    def test_names_come_through(self):
        """The same text in every format that can carry it; no format lets a terminal obey it."""
        name = "a;b,c\"d'e\nf\tg\\h <i>&\x1b[31m\ufffd{j}|k名"
        frames = json.loads(self.export("speedscope", "names.db"))["shared"]["frames"]
        self.assertIn(name, [frame["name"] for frame in frames])
        self.assertIn("n" * 10000, [frame["name"] for frame in frames])
        strings = Profile(self.export("pprof", "names.db")).strings
        self.assertIn(name, strings)
        self.assertIn("n" * 10000, strings)
        rows = self.rows("names.db")
        self.assertIn(name.replace("\x1b", "\\x1b"), [row["name"] for row in rows])
        self.assertIn("n" * 10000, [row["name"] for row in rows])
        folded = self.export("folded", "names.db").decode()
        self.assertIn("a,b,c\"d'e\\x0af\\x09g\\h <i>&\\x1b[31m\ufffd{j}|k名 (", folded)

    def test_file(self):
        for form in FORMATS:
            target = self.folder / f"out.{form}"
            target.write_text("before")
            result = self.run_report("export", "--as", form, "-o", target.name,
                                     "accumulate_8gib.db")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
            self.assertEqual(target.read_bytes(), self.export(form, "accumulate_8gib.db"))
            self.assertEqual(target.stat().st_mode & 0o777, 0o666 & ~self.mask)
            target.unlink()

    def test_nothing_half_written(self):
        """A file that cannot grow: the old one stays, and nothing else does."""
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        target = self.folder / "half.csv"
        target.write_text("before")
        before = sorted(path.name for path in self.folder.iterdir())
        result = subprocess.run([REPORT, "export", "--as", "csv", "-o", target, "detach.db"],
                                cwd=self.folder, capture_output=True, check=False, timeout=60,
                                preexec_fn=small_files)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"half.csv: File too large", result.stderr)
        self.assertEqual(target.read_text(), "before")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        target.unlink()

    def test_standard_output_full(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([REPORT, "export", "--as", "folded", "detach.db"], stdout=full,
                                    stderr=subprocess.PIPE, cwd=self.folder, check=False,
                                    timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"standard output: No space left", result.stderr)

    def test_refusals(self):
        database = "detach.db"
        self.assert_refused(("export", database), "--as FORMAT", "speedscope", "csv")
        self.assert_refused(("export", "--as", "pdf", database), "'pdf'", "folded")
        self.assert_refused(("export", "--as", "csv", "-o", "no/such/x", database),
                            "no/such/x: No such file or directory")
        self.assert_refused(("export", "--as", "csv", "-o", ".", database), ".: Is a directory")
        self.assert_refused(("export", "--as", "csv", "--at", "oom", database), "--at oom")
        self.assert_refused(("export", "--as", "csv", "nothing.db"), "nothing.db")
        self.assert_refused(("peak", "--as", "csv", database), "--as", "not one of this command's")

    def test_every_format_is_in_the_help(self):
        text = self.text("--help")
        for form in FORMATS:
            self.assertRegex(text, rf"\n    {form} +\w")


if __name__ == "__main__":
    unittest.main()
