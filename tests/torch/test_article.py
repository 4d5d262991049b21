# SPDX-License-Identifier: MIT
"""Running sums of a network's outputs: every byte, node, name and line."""
import os

import harness

SAVED_BY_ONE_FORWARD = 100450304 if os.path.exists("/etc/debian_version") else None  # batch 32


class ArticleTest(harness.TorchTest):
    def saved_bytes(self):
        """Distinct storages that live nodes save at the end, parameters not counted."""
        return self.one("""
            SELECT sum(size_bytes) FROM allocation WHERE (traits >> 16) != 1 AND id IN (
                SELECT allocation_id FROM saved,
                    (SELECT value AS at FROM meta WHERE key = 'end_seq')
                WHERE save_seq <= at AND (release_seq IS NULL OR release_seq > at))""")

    def test_bytes_and_nodes_equal_pytorchs_own_view(self):
        plain = self.run_script("accumulate.py", 32, 1, "walk", profiled=False).split()
        profiled = self.run_script("accumulate.py", 32, 1).split()
        self.assertEqual(profiled[0], plain[0])  # the result, bit for bit
        # The walk counts x, which the first convolution saves.
        self.assertEqual(self.saved_bytes(), int(plain[2]))
        if SAVED_BY_ONE_FORWARD:
            self.assertEqual(int(plain[2]) - 32 * 3 * 224 * 224 * 4, SAVED_BY_ONE_FORWARD)
        self.assertEqual(self.one("""SELECT count(*) FROM node, (SELECT value AS at FROM meta
            WHERE key = 'end_seq') WHERE destroy_seq IS NULL OR destroy_seq > at"""), int(plain[1]))

    def test_names_the_variable_and_its_line(self):
        plain = self.run_script("accumulate.py", 4, 3, "walk", profiled=False).split()
        profiled = self.run_script("accumulate.py", 4, 3).split()
        self.assertEqual(profiled[0], plain[0])
        self.assertEqual(self.saved_bytes(), int(plain[2]))
        document = self.document()
        self.assertEqual(document["attribution"]["percent"], 100.0)
        root = document["roots"][0]
        self.assertEqual((root["name"], root["file"].split("/")[-1], root["line"], root["function"],
                          root["source"].strip(), root["graphs"], root["keeps_old_graphs"]),
                         ("y_sum", "accumulate.py", 16, "<module>", "y_sum = y_sum + y", 3, True))
        slots = {(row["op"], row["slot"]) for row in document["nodes"]}
        self.assertLessEqual({("ConvolutionBackward0", "input"), ("ReluBackward0", "result"),
                              ("MaxPool2DWithIndicesBackward0", "result1"),
                              ("AddmmBackward0", "mat1"), ("MulBackward0", "other")}, slots)
        self.assertEqual(document["problems"], [])
        self.assertIn("y_sum KEEPS OLD GRAPHS ALIVE", self.report())
        self.assertIn("cpu", self.report())

    def test_every_live_parameter_has_its_name(self):
        self.run_script("accumulate.py", 2, 1)
        names = {name for name, in self.rows("SELECT name FROM allocations WHERE role='parameter'")}
        self.assertEqual(len(names), 16)
        self.assertIn("features.3.weight", names)


if __name__ == "__main__":
    harness.main()
