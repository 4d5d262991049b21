# SPDX-License-Identifier: MIT
"""Verdicts on the samples under the preloaded profiler."""

import unittest

from real_run import RealRun, line_of


class SampleLeaks(RealRun):
    def verdict(self, *arguments, status=0):
        self.sample(*arguments, status=status)
        document = self.document("leaks", "s.db")
        self.status = self.run_report("check", "s.db").returncode
        finding = document["findings"][0] if document["findings"] else None
        return finding["class"] if finding else "CLEAN", finding

    def assert_finding(self, finding, root, program, text):
        self.assertEqual(finding["root"], root)
        self.assertEqual(finding["line"], line_of(program, text))
        self.assertIn(text.strip(), finding["source"])

    def test_accumulate_dies_in_its_third_step(self):
        verdict, finding = self.verdict("sample_accumulate", status=3)
        self.assertEqual((verdict, self.status), ("GRAPH", 1))
        self.assert_finding(finding, "y_sum", "sample_accumulate", "ag_add(y_sum, y)")
        self.assertEqual(finding["fails_in_step"], 3)
        self.assertEqual((finding["bytes_per_step"], finding["nodes_per_step"]), (3790077952, 26))
        self.assertEqual(finding["frees_bytes"], 7580155904)

    def test_accumulate_with_detach(self):
        self.assertEqual(self.verdict("sample_accumulate", "--detach=on", "--iterations=3"), ("CLEAN", None))
        self.assertEqual(self.status, 0)

    def test_the_training_loop(self):
        self.assertEqual(self.verdict("sample_train"), ("CLEAN", None))
        self.assertEqual(self.status, 0)
        self.assertEqual(self.verdict("sample_train", "--retain-graph"), ("CLEAN", None))

    def test_kept_losses(self):
        verdict, finding = self.verdict("sample_train", "--keep-loss=tensor")
        self.assertEqual((verdict, self.status), ("SKELETON", 0))
        self.assert_finding(finding, "losses[step]", "sample_train", "ag_assign(losses[step]")
        self.assertEqual((finding["bytes_per_step"], finding["nodes_per_step"]), (4, 7))
        self.assertIn(".item()", finding["advice"])

    def test_validation_with_grad(self):
        verdict, finding = self.verdict("sample_train", "--validation=grad")
        self.assertEqual((verdict, self.status), ("GRAPH", 1))
        self.assert_finding(finding, "val_loss", "sample_train", "ag_assign(val_loss")
        self.assertIn("detach()", finding["advice"])

    def test_carried_state(self):
        verdict, finding = self.verdict("sample_train", "--carry-state=attached", "--iterations=40")
        self.assertEqual((verdict, self.status), ("GRAPH", 1))
        self.assert_finding(finding, "h", "sample_train", "ag_assign(h, next_state(loop, h, features))")
        self.assertEqual((finding["bytes_per_step"], finding["nodes_per_step"]), (65536, 4))
        self.assertIn("between steps", finding["advice"])

    def test_cached_features(self):
        verdict, finding = self.verdict("sample_train", "--cache-features")
        self.assertEqual((verdict, self.status), ("BOUNDED", 0))
        self.assertEqual(finding["root"], "feature_cache[i]")


if __name__ == "__main__":
    unittest.main()
