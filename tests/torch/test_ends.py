# SPDX-License-Identifier: MIT
"""Whatever way the program ends, what it kept is in the report."""

import harness

MODULE = str(harness.HERE.parents[1] / "libgradprof/python")


class EndsTest(harness.TorchTest):
    def kept_nodes(self, at="end"):
        return self.document("--at", at)["graph"]["nodes"]

    def test_exit_without_handlers(self):
        self.run_script("ends.py", "exit", code=3)
        self.assertGreaterEqual(self.kept_nodes("exit"), 4)  # nothing was torn down

    def test_interrupt(self):
        self.run_script("ends.py", "interrupt", code=-2)
        self.assertGreaterEqual(self.kept_nodes(), 4)

    def test_refused_and_caught(self):
        self.assertEqual(self.run_script("ends.py", "refused"),
                         self.run_script("ends.py", "refused", profiled=False))
        self.assertGreaterEqual(self.kept_nodes(), 4)

    def test_both_sides_of_a_fork_have_their_own_file(self):
        self.run_script("ends.py", "fork")
        files = sorted(path.name for path in self.folder.glob("*.db"))
        self.assertEqual(len(files), 2, files)
        for name in files:
            self.assertEqual(self.rows("SELECT count(*) FROM handles WHERE name LIKE 'kept[%'"
                                       " AND node_id NOT NULL", database=name)[0][0] >= 4, True)

    def test_steps_that_the_program_marks(self):
        out = self.run_script("ends.py", "steps", profiled=False, PYTHONPATH=MODULE)
        self.assertEqual(self.run_script("ends.py", "steps", PYTHONPATH=MODULE), out)
        self.assertEqual(int(self.meta("completed_steps")), 4)

    def test_unmarked_steps_are_forwards(self):
        self.run_script("ends.py", "plain")
        self.assertEqual(int(self.meta("completed_steps")), 8)


if __name__ == "__main__":
    harness.main()
