# SPDX-License-Identifier: MIT
"""Findings of unmodified PyTorch scripts on CPU tensors. Skipped without PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import harness

LIBRARY = os.environ.get("GRADPROF_LIBRARY", "")
SCRIPT = harness.HERE / "source/mistakes.py"


def line_of(text):
    lines = SCRIPT.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


class TorchFindings(harness.ReportTest):
    @classmethod
    def setUpClass(cls):
        if subprocess.run([sys.executable, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            raise unittest.SkipTest("PyTorch is missing (python3-torch)")
        if not pathlib.Path(LIBRARY).exists():
            raise unittest.SkipTest("libgradprof.so is not built")
        super().setUpClass()

    def record(self, mode):
        own = ("GRADPROF_LIBRARY", "GRADPROF_REPORT")
        environment = {key: value for key, value in os.environ.items() if key not in own}
        environment.update(LD_PRELOAD=LIBRARY, GRADPROF_QUIET="1",
                           GRADPROF_DB=str(self.folder / f"{mode}.db"))
        subprocess.run([sys.executable, SCRIPT, mode], env=environment, check=True, timeout=100)
        return f"{mode}.db"

    def finding(self, mode):
        [finding] = self.document("leaks", self.record(mode))["findings"]
        return finding

    def assert_finding(self, mode, kind, root, line, **more):
        finding = self.finding(mode)
        self.assertEqual((finding["class"], finding["root"], finding["line"]),
                         (kind, root, line_of(line)), finding)
        for key, value in more.items():
            self.assertEqual(finding[key], value, key)
        return finding

    def test_clean(self):
        document = self.document("leaks", self.record("clean"))
        self.assertEqual((document["findings"], document["judged"]["verdict"]), ([], "CLEAN"))

    def test_sum_of_losses(self):
        self.assert_finding("sum_losses", "SKELETON", "y_sum", "y_sum = y_sum + loss",
                            nodes_per_step=8, bytes_per_step=0)

    def test_list_of_losses(self):
        finding = self.finding("list")
        self.assertEqual((finding["class"], finding["root"]), ("SKELETON", "losses[*]"))

    def test_outputs_kept(self):
        finding = self.finding("outputs")
        self.assertEqual((finding["class"], finding["root"], finding["bytes_per_step"]),
                         ("TENSOR", "outs[*]", 128))

    def test_hidden_state(self):
        self.assert_finding("hidden", "GRAPH", "h", "h = torch.tanh(net[0](x) + h)")

    def test_sum_of_outputs_and_its_cut(self):
        finding = self.assert_finding("sum_outputs", "GRAPH", "y_sum", "y_sum = y_sum + y",
                                      bytes_per_step=16384)
        self.assertNotIn("retain_graph", finding["advice"])  # no backward ran
        document = json.loads(self.text("whatif", "--detach", "y_sum", "--format", "json",
                                        "sum_outputs.db"))
        recorded = self.document(self.record("sum_detached"))
        for predicted, real in zip(document["steps"], recorded["steps"]):
            # 4: the number 0 as a tensor, which no recorded object holds
            self.assertIn(predicted["end_bytes"] - real["end_bytes"], (0, 4), predicted)


if __name__ == "__main__":
    unittest.main()
