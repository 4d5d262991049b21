# SPDX-License-Identifier: MIT
"""Every holder has the name by which its program's author would look for it."""
import re

import harness

HOLDERS = {
    "ended_function": r"y_sum in ended_function",
    "ended_function_with_helper": r"rows\[\d\] in ended_function_with_helper",
    "closure": r"y_sum in closure\.<locals>\.add",
    "class_attribute": r"Store\.rows\[\d\]",
    "slots": r"kept\.rows\[\d\]",
    "running_generator": r"kept_rows\[\d\] in running_generator\.<locals>\.batches",
    "cached_function": r"features\.cache.*",
    "exception": r"rows\[\d\] in exception",
    "library_list": r"logging\.kept_for_later\[\d\]",
    "proxy": r"kept\[1\]\[\d\]",
    "unreachable_cycle": r"unreachable list\[0\]",
}
AT = "(SELECT value AS at FROM meta WHERE key = 'end_seq')"


class NamesTest(harness.TorchTest):
    def holders(self):
        """Names of variables that hold a node at the end."""
        return {name for name, in self.rows(f"""SELECT h.name FROM handles h
            JOIN node n ON n.id = h.node_id, {AT} WHERE h.create_seq <= at AND
            (h.destroy_seq IS NULL OR h.destroy_seq > at) AND n.create_seq <= at AND
            (n.destroy_seq IS NULL OR n.destroy_seq > at)""")}

    def check(self, name, pattern):
        out = self.run_script("names.py", name)
        if name in ("ended_function", "proxy"):
            self.assertEqual(out, self.run_script("names.py", name, profiled=False))
        names = self.holders()
        self.assertTrue([held for held in names if re.fullmatch(pattern, held)], names)
        self.assertIsNone(self.meta("walker_problem"))
        self.assertIsNone(self.meta("objects_not_walked"))

    def test_holders(self):
        for name, pattern in HOLDERS.items():
            with self.subTest(name):
                self.check(name, pattern)

    def test_a_look_after_the_refusal(self):
        """A GPU's allocator without an observer: told at once, looked at between two bytecodes."""
        self.run_script("late.py")
        document = self.document("--at", "oom")
        self.assertEqual(document["failures"][0]["api"], "PyTorch's GPU allocator")
        self.assertIn("kept[0] in main", {root["name"] for root in document["roots"]})


if __name__ == "__main__":
    harness.main()
