# SPDX-License-Identifier: MIT
"""sample_train under the preloaded profiler: each mistake in its loop is seen for what it is, and the loop
without one is flat. Everything attributed, everything adding up."""

import unittest

from real_run import RealRun, line_of

STEPS = 60
NODES_A_STEP = 7  # T, Addmm, Add of the state; T, Addmm, LogSoftmax, NllLoss of the loss
CONV, POOLED, INDICES, INPUT = 262144, 65536, 131072, 98304  # bytes of a batch of 32


class TrainingRuns(RealRun):
    def train(self, *mistake, steps=STEPS):
        self.sample("sample_train", f"--iterations={steps}", *mistake)
        self.documents = {at: self.checked("--at", at) for at in ("step:20", f"step:{steps - 1}", "end")}
        return self.documents["end"]

    def nodes(self, at):
        return self.documents[at]["graph"]["nodes"]

    def growth(self, first, last):
        """Bytes between the ends of two steps."""
        ends = self.step_bytes(self.documents["end"])
        return ends[last - 1] - ends[first - 1]

    def old(self, document):
        return [root["name"] for root in document["roots"] if root["keeps_old_graphs"]]

    def saved_bytes(self, document):
        return sum(row["bytes"] for row in document["nodes"])

    def assert_line(self, root, text):
        self.assertTrue(root["file"].endswith("sample_train.c"), root["file"])
        self.assertEqual(root["line"], line_of("sample_train", text))

    def assert_finding(self, document, kind, root, text, **more):
        [finding] = document["findings"]
        self.assertEqual((finding["class"], finding["root"]), (kind, root))
        self.assert_line(finding, text)
        for key, value in more.items():
            self.assertEqual(finding[key], value, key)

    def test_without_a_mistake(self):
        document = self.train()
        self.assertEqual((document["findings"], document["judged"]["verdict"]), ([], "CLEAN"))
        self.assertEqual([n["class"] for n in document["notes"]], ["ONE-OFF"])  # momentum
        self.assertEqual(self.old(document), [])
        self.assertEqual(self.growth(20, STEPS), 0)
        self.assertEqual(self.nodes("step:20"), self.nodes("end"))
        self.assertEqual(self.saved_bytes(document), 0)  # backward has released it
        classes = {owner["class"]: owner["bytes"] for owner in document["end"]["owners"]}
        trained = 4 * (512 * 64 + 64 + 64 * 10 + 10)
        self.assertEqual(classes["gradient"], trained)
        self.assertEqual(classes["optimizer-state"], trained)

    def test_adam_has_two_states(self):
        document = self.train("--optimizer=adam")
        classes = {owner["class"]: owner["bytes"] for owner in document["end"]["owners"]}
        self.assertEqual(classes["optimizer-state"], 2 * classes["gradient"])
        self.assertEqual(self.growth(20, STEPS), 0)

    def test_kept_losses(self):
        """Nodes grow, device bytes do not: 4 a step, the losses themselves."""
        document = self.train("--keep-loss=tensor")
        root = self.root(document, "losses[step]")
        self.assert_finding(document, "SKELETON", "losses[step]", "ag_assign(losses[step]",
                            nodes_per_step=NODES_A_STEP, bytes_per_step=4, since_step=1)
        self.assertEqual(self.old(document), ["losses[step]"])
        self.assert_line(root, "ag_assign(losses[step]")
        self.assertEqual(self.growth(20, STEPS), 4 * (STEPS - 20))
        self.assertEqual(self.nodes(f"step:{STEPS - 1}") - self.nodes("step:20"),
                         NODES_A_STEP * (STEPS - 21))
        self.assertEqual(self.saved_bytes(document), 0)
        self.assertEqual(root["graphs"], STEPS - 1)

    def test_validation_with_grad(self):
        """Nodes and bytes grow, by one validation's graph in ten steps."""
        document = self.train("--validation=grad")
        root = self.root(document, "val_loss")
        self.assert_finding(document, "GRAPH", "val_loss", "ag_assign(val_loss", since_step=10)
        self.assertEqual(self.old(document), ["val_loss"])
        self.assert_line(root, "ag_assign(val_loss")
        self.assertEqual(root["graphs"], STEPS // 10)
        one = INPUT + CONV + INDICES + POOLED + 8192 + 1280 + 4  # state, log_softmax, weight
        self.assertEqual(self.growth(20, 30), one)
        self.assertEqual(self.growth(20, STEPS), one * (STEPS - 20) // 10)
        # conv, relu, pool, view; T and Addmm twice; log_softmax, nll_loss and the sum
        self.assertEqual(self.nodes("end") - self.nodes("step:20"), 11 * (STEPS - 20) // 10)

    def test_retained_graph(self):
        """Nothing grows, but what backward should release stays until the next step."""
        document = self.train("--retain-graph")
        self.assertEqual(document["findings"], [])
        self.assertEqual(self.old(document), [])
        self.assertEqual(self.growth(20, STEPS), 0)
        self.assertGreater(self.saved_bytes(document), POOLED)
        self.assertGreater(self.root(document, "loss")["retained_bytes"], 4)

    def test_cached_features(self):
        """Grows with the number of batches, then no more."""
        document = self.train("--cache-features")
        self.assert_finding(document, "BOUNDED", "feature_cache[i]", "ag_assign(feature_cache[i]",
                            steps=16, gate="pass")
        self.assertEqual(self.old(document), ["feature_cache[i]"])
        self.assert_line(self.root(document, "feature_cache[i]"), "ag_assign(feature_cache[i]")
        # 4: the sum of the validations, from step 10 on
        self.assertEqual(self.growth(1, 16), 15 * (INPUT + CONV + INDICES + POOLED) + 4)
        self.assertEqual(self.growth(16, STEPS), 0)

    def test_carried_state(self):
        """Every step's features and nodes stay; the loss and the state lead there both."""
        document = self.train("--carry-state=attached")
        self.assert_finding(document, "GRAPH", "h", "ag_assign(h, next_state(loop, h, features))", nodes_per_step=4,
                            bytes_per_step=POOLED, also="loss")
        self.assertEqual(self.growth(20, STEPS), POOLED * (STEPS - 20))
        self.assertEqual(self.nodes(f"step:{STEPS - 1}") - self.nodes("step:20"), 4 * (STEPS - 21))
        together = self.text("s.db")
        self.assertIn("SEVERAL VARIABLES TOGETHER KEEP OLD GRAPHS ALIVE", together)
        self.assertIn("h, loss", together)


if __name__ == "__main__":
    unittest.main()
