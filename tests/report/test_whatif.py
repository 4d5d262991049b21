# SPDX-License-Identifier: MIT
"""Replays: without a change the recorded run to the byte; with one, what the changed program does."""

import json
import unittest

import cases
import harness
from mini import Mini


class WhatIf(harness.ReportTest):
    def replay(self, name, *arguments):
        return json.loads(self.text("whatif", *arguments, "--format", "json", name))

    def ends(self, document, key="end_bytes"):
        return [step[key] for step in document["steps"]]

    def recorded(self, name):
        document = self.document(name)
        return [s["end_bytes"] for s in document["steps"] if s["completed"]], document["peak"]["bytes"]

    def test_no_change(self):
        """--limit alone: every step's end and the peak as the report has them."""
        names = [f"{name}.db" for name in ("accumulate_10", "detach", "losses_list", "shared")]
        for name, function, _, _ in cases.CASES:
            function().write(self.folder / f"{name}.db")
            names.append(f"{name}.db")
        for name in names:
            with self.subTest(name):
                document = self.replay(name, "--limit", "900GiB")
                ends, peak = self.recorded(name)
                by_id = {s["id"]: s["end_bytes"] for s in document["steps"]}
                self.assertEqual([by_id[i] for i in sorted(by_id)], ends)
                self.assertEqual(self.ends(document), self.ends(document, "recorded_end_bytes"))
                self.assertEqual(document["before"], document["after"])
                self.assertEqual(document["after"]["peak_bytes"], peak)

    def test_detach(self):
        for what in ("y_sum", "y_sum -> AddBackward0"):
            document = self.replay("accumulate_10.db", "--detach", what)
            ends, _ = self.recorded("detach.db")
            self.assertEqual(self.ends(document), [ends[0]] * 10)

    def test_limit(self):
        document = self.replay("accumulate_10.db", "--limit", "8GiB")
        self.assertEqual(document["after"]["fails_in_step"], 3)
        document = self.replay("accumulate_10.db", "--limit", "8GiB", "--detach", "y_sum")
        self.assertEqual((document["before"]["fails_in_step"], document["after"]["fails"]),
                         (3, False))
        text = self.text("whatif", "--limit", "8GiB", "--detach=y_sum", "accumulate_10.db")
        self.assertRegex(text, r"device +out in step 3 +fits")

    def test_refused_run(self):
        """It is recorded up to the refusal only; with the cut, that request fits."""
        document = self.replay("accumulate_8gib.db", "--detach", "y_sum")
        self.assertTrue(document["recorded_until_refusal"])
        self.assertEqual(document["before"]["fails_in_step"], 3)
        self.assertFalse(document["after"]["fails"])

    def loop(self, no_grad=False, kept=True):
        p = Mini()
        for _ in range(6):
            with p.step():
                p.input()
                p.r.scope_path = []
                if no_grad:
                    value = p.tensor(p.output)
                else:
                    value = p.op("FrozenBackward0", [], p.output, 3 << 20, 50)
                if kept:
                    p.hold("outs", value, 51)
                else:
                    p.assign("out", value, 51)
        return p.r

    def test_no_grad(self):
        self.loop().write(self.folder / "grad.db")
        self.loop(no_grad=True).write(self.folder / "no_grad.db")
        document = self.replay("grad.db", "--no-grad", "FrozenBackward0")
        self.assertEqual(self.ends(document), self.recorded("no_grad.db")[0])

    def test_checkpoint(self):
        """Three blocks save 4 MiB each. Of a's and b's nothing is there at the end of the forward; each
        comes back for its own backward, when the ones behind it are done: 4 MiB at a time."""
        p = Mini(layers=1)
        for _ in range(5):
            with p.step():
                value = None
                for block in ("a", "b", "c"):
                    new = p.op(f"{block}Backward0", [value], 512, 4 << 20, 60)
                    handle = p.r.handle(new.storage, new.node, None)
                    if value:
                        p.r.release(held)
                    value, held = new, handle
                loss = p.assign("loss", value, 61)
                p.r.release(held)
                p.backward(loss)
        p.r.write(self.folder / "blocks.db")
        document = self.replay("blocks.db", "--checkpoint", "aBackward0", "--checkpoint",
                               "bBackward0")
        before, after = document["before"]["peak_bytes"], document["after"]["peak_bytes"]
        self.assertEqual(before - after, 8 << 20)
        self.assertEqual(self.ends(document), self.ends(document, "recorded_end_bytes"))

    def test_bad_changes(self):
        self.assert_refused(["whatif", "detach.db"], "needs a change", "--detach")
        self.assert_refused(["whatif", "--detach", "nobody", "detach.db"], "'nobody'",
                            "no variable or edge")
        self.assert_refused(["whatif", "--no-grad", "nowhere", "accumulate_10.db"], "'nowhere'",
                            "no node was made")
        self.assert_refused(["whatif", "--limit", "0", "detach.db"], "bad --limit '0'")
        self.assert_refused(["whatif", "--limit", "8Gx", "detach.db"], "bad --limit '8Gx'")


if __name__ == "__main__":
    unittest.main()
