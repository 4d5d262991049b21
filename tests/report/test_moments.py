# SPDX-License-Identifier: MIT
"""--at: which point of the run each form means."""

import sqlite3
import unittest

import harness


class Moments(harness.ReportTest):
    def seq(self, name, at):
        return self.document(f"{name}.db", "--at", at)["moment"]["seq"]

    def sql(self, name, text):
        return sqlite3.connect(self.folder / f"{name}.db").execute(text).fetchone()[0]

    def test_default_is_the_failure_else_the_end(self):
        self.assertEqual(self.document("accumulate_8gib.db")["moment"]["moment"], "oom")
        self.assertEqual(self.document("detach.db")["moment"]["moment"], "end")

    def test_named(self):
        name = "accumulate_8gib"
        self.assertEqual(self.seq(name, "oom"), self.sql(name, "SELECT max(seq) FROM failure"))
        self.assertEqual(self.seq(name, "end"), self.sql(name, "SELECT max(end_seq) FROM step"))
        self.assertEqual(self.seq(name, "step:1"),
                         self.sql(name, "SELECT end_seq FROM step WHERE id = 1"))
        self.assertEqual(self.document(f"{name}.db", "--at", "exit")["moment"]["bytes"], 0)
        self.assertEqual(self.document(f"{name}.db", "--at", "peak")["moment"]["step"], 3)
        self.assertEqual(self.document(f"{name}.db", "--at", "step:2")["moment"]["moment"],
                         "step:2")

    def test_time(self):
        """One event a millisecond in the golden databases."""
        self.assertEqual(self.seq("detach", "+0.1"), 100)
        self.assertEqual(self.seq("detach", "+0"), 0)
        self.assertEqual(self.document("detach.db", "--at", "+0")["moment"]["bytes"], 0)

    def test_without_help_of_the_store(self):
        """Moments that meta does not name are found from the rows."""
        path = self.folder / "bare.db"
        path.write_bytes((self.folder / "accumulate_8gib.db").read_bytes())
        expected = {at: self.seq("accumulate_8gib", at) for at in ("peak", "end", "exit", "oom")}
        database = sqlite3.connect(path)
        database.execute("DELETE FROM meta")
        database.commit()
        database.close()
        # the last events of a run (releases of handles without a storage) leave no row behind
        for at, seq in expected.items():
            self.assertAlmostEqual(self.seq("bare", at), seq, delta=2 if at == "exit" else 0)

    def test_refused(self):
        self.assert_refused(["--at", "oom", "detach.db"], "no allocation was refused")
        self.assert_refused(["--at", "step:4", "detach.db"], "steps 1 to 3")
        self.assert_refused(["--at", "step:3", "accumulate_8gib.db"], "never completed", "--at oom")
        self.assert_refused(["--at", "step:1", "no_steps.db"], "no steps")
        self.assert_refused(["--at", "+100", "detach.db"], "lasted")
        for nonsense in ("", "yesterday", "step:", "step:0", "step:-1", "+x", "+-1", "-5", "peak,end"):
            self.assert_refused(["--at", nonsense, "detach.db"], "bad --at", "step:N", "+SECONDS")


if __name__ == "__main__":
    unittest.main()
