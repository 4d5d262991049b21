# SPDX-License-Identifier: MIT
"""Loops that people wrote: the data that a verdict needs is in run.db: holders by name, nodes, steps,
saved bytes. Each row below says what the last step's close must show."""
import re

import harness

# name, pattern of a holder (None: nothing may hold an old graph), fewest earlier steps with living
# nodes, whether these keep saved tensors
CASES = (
    ("running_sum_after_backward", r"y_sum in running_sum_after_backward|kept", 6, False),
    ("logger_keeps_the_loss", r"(logger|kept)\.history\[\d\]\['loss'\]( in .*)?", 6, False),
    ("outputs_until_the_end_of_the_epoch", r"(outs|kept)\[\d\]\['pred'\]( in .*)?", 6, True),
    ("detached_but_kept", None, 0, False),
    ("validation_without_no_grad", None, 0, False),
    ("hidden_state_carried_over", r"h in hidden_state_carried_over|kept", 6, True),
    ("state_inside_a_module", r"(spiking|kept)\..*v( in .*)?", 6, True),
    ("retain_graph_alone", None, 0, False),
    ("retain_graph_and_a_list", r"kept.*\[\d\]", 6, True),
    ("replay_buffer_with_graph", r"(replay|kept)\[\d\]\[0\]( in .*)?", 6, True),
)

AT = "(SELECT value AS at FROM meta WHERE key = 'end_seq')"


class CasesTest(harness.TorchTest):
    def old_steps(self):
        """Steps before the last two that still have nodes."""
        return self.one(f"""SELECT count(DISTINCT step_id) FROM node, {AT}
            WHERE create_seq <= at AND (destroy_seq IS NULL OR destroy_seq > at)
            AND step_id < (SELECT max(id) - 1 FROM step)""")

    def old_saved_bytes(self):
        return self.one(f"""SELECT coalesce(sum(a.size_bytes), 0) FROM allocation a, {AT}
            WHERE a.traits >> 16 != 1 AND a.id IN (
                SELECT s.allocation_id FROM saved s JOIN node n ON n.id = s.node_id
                WHERE save_seq <= at AND (release_seq IS NULL OR release_seq > at)
                AND n.step_id < (SELECT max(id) - 1 FROM step))""")

    def holders(self):
        return {name for name, in self.rows(f"""SELECT name FROM handles, {AT}
            WHERE node_id NOT NULL AND create_seq <= at
            AND (destroy_seq IS NULL OR destroy_seq > at)""")}

    def check(self, name, pattern, steps, keeps_bytes):
        self.run_script("cases.py", name)
        self.assertEqual(int(self.meta("completed_steps")), 8)
        self.assertGreaterEqual(self.document()["attribution"]["percent"], 99.9)
        self.assertEqual(self.rows("SELECT name FROM counter WHERE value > 0"), [])
        if pattern is None:
            self.assertEqual((self.old_steps(), self.old_saved_bytes()), (0, 0))
            return
        self.assertGreaterEqual(self.old_steps(), steps)
        self.assertEqual(self.old_saved_bytes() > 0, keeps_bytes)
        found = {holder for holder in self.holders() if re.fullmatch(pattern, holder)}
        self.assertTrue(found, self.holders())

    def test_cases(self):
        for name, pattern, steps, keeps_bytes in CASES:
            with self.subTest(name):
                self.check(name, pattern, steps, keeps_bytes)

    def test_detached_tensors_are_held_by_the_list(self):
        self.run_script("cases.py", "detached_but_kept")
        names = {name for name, in self.rows(f"""SELECT name FROM handles, {AT} WHERE
            allocation_id NOT NULL AND create_seq <= at AND (destroy_seq IS NULL OR destroy_seq > at)
            """)}
        self.assertEqual(len([name for name in names if re.search(r"\[\d\]$", name)
                              and not name.startswith("data")]), 8, names)


if __name__ == "__main__":
    harness.main()
