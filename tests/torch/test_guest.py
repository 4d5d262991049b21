# SPDX-License-Identifier: MIT
"""The program does not notice: same results, no file where there is nothing to record."""
import os

import harness


class GuestTest(harness.TorchTest):
    def test_training_is_bit_identical_and_steps_are_the_optimizers(self):
        plain = self.run_script("train.py", profiled=False)
        self.assertEqual(self.run_script("train.py"), plain)
        # The variable `loss` holds the last iteration's nodes while the next one runs: one step.
        self.assertLessEqual(self.meta("retained_graph_steps") or 0, 1)
        self.assertEqual(int(self.meta("completed_steps")), 5 + 1)  # and what follows the last one
        roles = dict(self.rows("SELECT role, count(DISTINCT name) FROM allocations GROUP BY role"))
        self.assertEqual(roles["parameter"], 6)
        self.assertEqual(roles["gradient"], 6)
        self.assertEqual(roles["optimizer-state"], 6)
        self.assertEqual(roles["buffer"], 3)

    def test_kept_losses_are_named(self):
        self.run_script("train.py", "leak")
        names = {name for name, in self.rows("SELECT name FROM handles WHERE node_id NOT NULL")}
        self.assertLessEqual({f"losses[{i}]" for i in range(4)}, names)
        self.assertGreater(self.meta("retained_graph_steps"), 2)

    def test_every_kind_of_node(self):
        plain = self.run_script("features.py", profiled=False)
        self.assertEqual(self.run_script("features.py"), plain)
        self.assertEqual(self.stderr.count("\n"), 1, self.stderr)
        bad = self.rows("SELECT name, value FROM counter WHERE value > 0")
        self.assertEqual(bad, [])
        left = self.one("SELECT count(*) FROM node WHERE destroy_seq IS NULL AND op_id NOT IN "
                        "(SELECT id FROM string WHERE text = 'AccumulateGrad')")
        self.assertLess(left, self.one("SELECT count(*) FROM node") / 2)

    def test_tensors_without_a_graph_leave_no_file(self):
        for method in ("fork", "spawn"):
            plain = self.run_script("workers.py", method, profiled=False)
            self.assertEqual(self.run_script("workers.py", method), plain)
            self.assertEqual(self.stderr, "")
            self.assertEqual(os.listdir(self.folder), [])

    def test_disabled_records_nothing(self):
        self.run_script("train.py", GRADPROF_DISABLE="1")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    harness.main()
