# SPDX-License-Identifier: MIT
"""Two runs against each other, and the odd one of many."""

import json
import unittest

import cases
import harness


def leaking(line, name="outs"):
    return cases.train(lambda p, i, y, loss: p.hold(name, p.tensor(4096), line))


class Diff(harness.ReportTest):
    def diff(self, *names):
        return json.loads(self.text("diff", "--format", "json", *names))

    def test_cured(self):
        document = self.diff("accumulate_10.db", "detach.db")
        fingerprint = self.document("leaks", "accumulate_10.db")["findings"][0]["fingerprint"]
        self.assertEqual((document["gone"], document["new"], document["still"]),
                         ([fingerprint], [], []))
        self.assertEqual(self.diff("detach.db", "accumulate_10.db")["new"], [fingerprint])
        saved = [c for c in document["changes"] if c["what"].startswith("saved ReluBackward0")]
        self.assertEqual([c["change"] for c in saved], ["gone"])
        ends = [self.document(f"{n}.db")["end"]["bytes"] for n in ("accumulate_10", "detach")]
        self.assertEqual([run["end_bytes"] for run in document["runs"]], ends)
        self.assertEqual(sum(c["after_bytes"] - c["before_bytes"] for c in document["changes"]),
                         ends[1] - ends[0])
        self.assertIn("gone    GRAPH y_sum", self.text("diff", "accumulate_10.db", "detach.db"))

    def test_moved_lines(self):
        """The same program with its lines moved is the same."""
        leaking(22).write(self.folder / "a.db")
        leaking(122).write(self.folder / "b.db")
        document = self.diff("a.db", "b.db")
        self.assertEqual((document["new"], document["gone"], document["changes"]), ([], [], []))
        self.assertEqual(len(document["still"]), 1)
        self.assertIn("no difference", self.text("diff", "a.db", "b.db"))

    def test_ranks(self):
        names = []
        for rank in range(5):
            names.append(f"run.rank{rank}.db")
            (leaking(22) if rank == 3 else cases.train()).write(self.folder / names[-1])
        document = self.diff(*names)
        self.assertEqual([run["odd"] for run in document["runs"]],
                         [False, False, False, True, False])
        self.assertRegex(self.text("diff", *names), r"run\.rank3\.db .*ODD")
        leaking(22).write(self.folder / names[0])
        for name in names:
            leaking(22).write(self.folder / name)
        self.assertFalse(any(run["odd"] for run in self.diff(*names)["runs"]))

    def test_bad_input(self):
        self.assert_refused(["diff", "detach.db"], "needs two databases")
        self.assert_refused(["diff", "detach.db", "none.db"], "no such file")
        self.assert_refused(["diff", "--strict", "detach.db", "detach.db"], "'--strict'")


if __name__ == "__main__":
    unittest.main()
