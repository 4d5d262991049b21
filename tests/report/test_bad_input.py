# SPDX-License-Identifier: MIT
"""Bad input: one line that says what is wrong and what is allowed, exit 2."""

import os
import sqlite3
import unittest

import harness


class BadInput(harness.ReportTest):
    def write(self, name, content):
        (self.folder / name).write_bytes(content)
        return name

    def test_missing(self):
        self.assert_refused([], "run.db: no such file", "LD_PRELOAD", "gradprof run -- ")
        self.assert_refused(["/nonexistent/x.db"], "no such file", "gradprof run -- ")
        self.assert_refused(["recover"], "run.db: no such file")
        self.assert_refused(["leeks"], "unknown command 'leeks'", "summary, peak, nodes")

    def test_unreadable(self):
        path = self.folder / "secret.db"
        path.write_bytes((self.folder / "detach.db").read_bytes())
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("this user reads everything")
        self.assert_refused(["secret.db"], "secret.db", "ermission")

    def test_not_ours(self):
        self.assert_refused([self.write("text.db", b"hello\n" * 1000)], "text.db", "not a database")
        self.assert_refused([self.write("zero.db", b"")], "zero.db")
        self.assert_refused(["/"], "/")
        database = sqlite3.connect(self.folder / "other.db")
        database.execute("CREATE TABLE t(x)")
        database.commit()
        database.close()
        self.assert_refused(["other.db"], "other.db")

    def test_newer_schema(self):
        path = self.folder / "newer.db"
        path.write_bytes((self.folder / "detach.db").read_bytes())
        database = sqlite3.connect(path)
        database.execute("PRAGMA user_version = 999")
        database.commit()
        database.close()
        self.assert_refused(["newer.db"], "newer.db", "999")

    def test_damaged(self):
        """Cut or overwritten anywhere: a report or one line, never a crash or a hang."""
        content = (self.folder / "accumulate_8gib.db").read_bytes()
        for cut in range(0, len(content), len(content) // 16):
            self.write("cut.db", content[:cut] + bytes(len(content) - cut))
            result = self.run_report("cut.db")
            self.assertIn(result.returncode, (0, 2), (cut, result.stderr))
            if result.returncode == 2:
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        for page in range(0, len(content), 4096):
            self.write("hole.db", content[:page] + b"\xa5" * 4096 + content[page + 4096:])
            result = self.run_report("--format", "json", "hole.db")
            self.assertIn(result.returncode, (0, 2), (page, result.stderr))
            if result.returncode == 2:
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_rows_of_nonsense(self):
        """A valid file whose rows contradict each other is still reported on."""
        path = self.folder / "nonsense.db"
        path.write_bytes((self.folder / "accumulate_8gib.db").read_bytes())
        database = sqlite3.connect(path)
        for change in ("UPDATE allocation SET size_bytes = -5, stack_id = -1 WHERE id = 20",
                       "UPDATE allocation SET size_bytes = 9223372036854775807 WHERE id = 21",
                       "UPDATE node SET op_id = 9999, step_id = -1 WHERE id = 3",
                       "UPDATE saved SET node_id = 4611686018427387904 WHERE id = 2",
                       "UPDATE saved SET allocation_id = -7 WHERE id = 3",
                       "UPDATE edge SET input_node_id = node_id",
                       "UPDATE scope SET parent_id = id",
                       "UPDATE stack SET parent_id = id",
                       "UPDATE handle SET node_id = 1 WHERE id % 2",
                       "UPDATE meta SET value = 'soon' WHERE key LIKE '%seq'",
                       "UPDATE frame SET line = -3, function = NULL WHERE id = 1"):
            database.execute(change)
        database.commit()
        database.close()
        for command in ("summary", "peak", "nodes", "roots"):
            self.text(command, "nonsense.db")
        self.document("nonsense.db")

    def test_options(self):
        self.assert_refused(["--frobnicate", "detach.db"], "unknown option '--frobnicate'", "--help")
        self.assert_refused(["--at"], "--at", "needs a value")
        self.assert_refused(["--format", "xml", "detach.db"], "'xml'", "text or json")
        self.assert_refused(["--color", "red", "detach.db"], "'red'", "auto, always or never")
        for limit in ("0", "-1", "ten", "", "1e9", "99999999999"):
            self.assert_refused(["--limit", limit, "detach.db"], "bad --limit")
        self.assert_refused(["leeks", "detach.db"], "unknown command 'leeks'",
                            "summary, peak, nodes, roots, leaks")
        self.assert_refused(["peak", "a.db", "b.db"], "one argument too many", "'b.db'")

    def test_hostile_path(self):
        error = self.assert_refused(["no\033[2J\nsuch.db"], "no such file")
        self.assertNotIn("\033", error)

    def test_closed_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            import subprocess
            result = subprocess.run([harness.REPORT, "detach.db"], cwd=self.folder, stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot write", result.stderr)

    def test_help_and_version(self):
        text = self.text("--help")
        for word in ("summary", "peak", "nodes", "roots", "leaks", "recover", "--at", "--format", "--limit",
                     "--color", "run.db"):
            self.assertIn(word, text)
        self.assertNotIn("html", text)
        self.assertRegex(self.text("--version"), r"^gradprof-report \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
