# SPDX-License-Identifier: MIT
"""Findings of the cases: class, root, line, slope; the controls stay quiet. Prints the confusion table."""

import sys
import unittest

import cases
import harness


class Leaks(harness.ReportTest):
    def findings(self, name):
        return self.document("leaks", f"{name}.db")["findings"]

    def check_case(self, name, function, expected, more):
        function().write(self.folder / f"{name}.db")
        document = self.document("leaks", f"{name}.db")
        findings = document["findings"]
        got = [(f["class"], f["root"], f["line"]) for f in findings]
        print(f"{name:36} {str(expected or 'quiet'):44} {got or 'quiet'}", file=sys.stderr)
        if expected is None:
            self.assertEqual(got, [])
            self.assertEqual(document["judged"]["verdict"], "CLEAN")
            return
        self.assertEqual(got, [expected])
        finding = findings[0]
        for key, field in (("nodes", "nodes_per_step"), ("bytes", "bytes_per_step")):
            if key in more:
                self.assertEqual(finding[field], more[key], finding)
        self.assertTrue(finding["advice"] and finding["cut"] and finding["fingerprint"])
        if expected[0] != "BOUNDED":
            self.assertLess(finding["since_step"], 4)

    def test_cases(self):
        for name, function, expected, more in cases.CASES:
            with self.subTest(name):
                self.check_case(name, function, expected, more)

    def test_article(self):
        """Dies in step 3 of 8 GiB: judged by structure, after two completed steps."""
        [finding] = self.findings("accumulate_8gib")
        self.assertEqual((finding["class"], finding["root"], finding["line"]),
                         ("GRAPH", "y_sum", 10))
        self.assertEqual(finding["bytes_per_step"], 3790077952)
        self.assertEqual(finding["nodes_per_step"], 26)
        self.assertEqual(finding["frees_bytes"], 2 * 3790077952)
        self.assertEqual(finding["fails_in_step"], 3)
        self.assertEqual(finding["capacity_bytes"], 8 << 30)
        self.assertEqual(finding["since_step"], 1)
        self.assertIn("structural", finding["evidence"])
        self.assertIn("ag_add(y_sum", finding["source"])
        self.assertEqual(finding["path"][:2], ["y_sum", "AddBackward0 x 2"])
        text = self.text("leaks", "accumulate_8gib.db")
        self.assertIn("out of 8.00 GB in step 3", text)
        self.assertEqual(self.findings("detach"), [])
        self.assertIn("CLEAN", self.text("leaks", "detach.db"))

    def test_too_few_steps(self):
        for name in ("no_steps", "plain", "empty"):
            document = self.document("leaks", f"{name}.db")
            self.assertEqual(document["judged"]["verdict"], "CANNOT-JUDGE", name)
            self.assertEqual(document["findings"], [])

    def test_fingerprint(self):
        """The same when everything moves down by 100 lines; another variable is another leak."""
        def signed(line, name):
            recorder = cases.train(lambda p, i, y, loss: p.hold(name, loss, line))
            recorder.write(self.folder / "signed.db")
            [finding] = self.findings("signed")
            return finding["fingerprint"]
        first = signed(22, "losses")
        self.assertEqual(first, signed(122, "losses"))
        self.assertNotEqual(first, signed(22, "outputs"))


if __name__ == "__main__":
    unittest.main()
