# SPDX-License-Identifier: MIT
"""Out of memory: the report at the failing moment names who holds the memory, whatever the program
does next."""
import harness

LINE = harness.HERE.joinpath("scripts/refused.py").read_text().split("\n")


class RefusedTest(harness.TorchTest):
    def check(self, how, line="# the line", **ending):
        plain = self.run_script("refused.py", how, profiled=False, **ending)
        self.assertEqual(self.run_script("refused.py", how, **ending), plain)
        document = self.document("--at", "oom")
        failure, = document["failures"]
        self.assertEqual(failure["asked_bytes"], 4 << 46)
        self.assertEqual(failure["api"], "PyTorch's CPU allocator")
        self.assertIn(line, LINE[failure["line"] - 1])
        names = {root["name"]: root for root in document["roots"]}
        held = [name for name in names if name.startswith("history[")]
        self.assertEqual(len(held), 4, names)
        self.assertEqual(names[held[0]]["nodes"], 3)
        self.assertEqual(document["attribution"]["percent"], 100.0)
        return document

    def test_nobody_catches_it(self):
        document = self.check("raise", code=1)
        self.assertIn("history", str(document["roots"]))
        self.assertIn("OUT OF MEMORY", self.report())

    def test_caught_and_retried(self):
        self.check("retry")
        left = self.rows("SELECT count(*) FROM handles WHERE name LIKE 'history[%' AND "
                         "destroy_seq IS NULL")
        self.assertEqual(left, [(0,)])  # the variables are gone, and known to be

    def test_killed_right_after(self):
        self.check("kill", code=-9)

    def test_another_thread(self):
        self.check("thread")

    def test_inside_a_backward(self):
        self.check("backward", line="torch.empty(1 << 46)")


if __name__ == "__main__":
    harness.main()
