# SPDX-License-Identifier: MIT
"""Random training programs: clean ones must give no finding, and one retention planted in each must be
found, with its line. 20 + 20 programs; 200 + 200 with GRADPROF_TEST_LONG=1. GRADPROF_TEST_SEED: the
first seed. Prints the confusion table."""

import collections
import os
import random
import sys
import unittest

import harness
from mini import Mini

RUNS = 200 if os.environ.get("GRADPROF_TEST_LONG") else 20
SEED = int(os.environ.get("GRADPROF_TEST_SEED", "1"))
LEAK_LINE = 77


class Program:
    """Features that real loops have, each with even odds."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        r = self.random
        self.p = Mini(activation=r.choice([512, 4096, 1 << 20]), output=r.choice([512, 64 << 10]),
                      batch=r.choice([1024, 256 << 10]), layers=r.randint(1, 5))
        self.steps = r.randint(12, 60)
        self.epoch = r.randint(4, 15)
        self.shapes = [0.5 + 0.25 * k for k in range(r.randint(1, 6))]
        self.on = {name: r.random() < 0.5 for name in (
            "adam", "validation", "shape_cache", "data_cache", "accumulate", "previous", "average",
            "ring", "best", "epoch_outputs", "metrics", "workspace", "truncated")}
        self.cache, self.ring, self.outputs, self.total = {}, [], [], None
        self.hidden = None

    def keep(self, container, size, name, line, most=None):
        container.append(self.p.hold(name, self.p.tensor(size), line))
        if most and len(container) > most:
            self.p.r.release(container.pop(0))

    def clear(self, container):
        while container:
            self.p.r.release(container.pop())

    def caches(self, i, shape):
        p = self.p
        if self.on["shape_cache"] and shape not in self.cache:
            self.cache[shape] = p.hold("mask_cache", p.tensor(int(4096 * shape)), 60)
        if self.on["data_cache"] and i < self.epoch and self.steps >= 3 * self.epoch:
            self.keep([], 2048, f"dataset[{i}]", 61)
        if self.on["ring"]:
            self.keep(self.ring, 8192, "replay", 62, most=4)
        if self.on["average"]:
            p.assign("ema", p.tensor(16384), 63)
        if self.on["workspace"] and shape not in p.variables:
            p.at(64)
            p.assign(f"workspace{len(p.variables)}" if i == 0 else "scratch",
                     p.tensor(1 << 16, "workspace"), 64)

    def loss_of(self, i, y):
        """The step's loss and its backward, by one of three customs."""
        p = self.p
        loss = p.loss(y)
        if self.on["accumulate"]:
            old = self.total
            self.total = p.op("AddBackward0", [old, loss], 512, 0, 65)
            p.assign("total", self.total, 65)
            p.forget(loss)
            if i % 4 == 3:
                p.backward(self.total)
                p.drop("total")
                self.total = None
            return None
        p.assign("loss", loss, 10)
        p.backward(loss)
        return loss

    def step(self, i):
        p, r = self.p, self.random
        shape = r.choice(self.shapes)
        with p.step():
            p.input(size=max(512, int(p.batch * shape)))
            y = p.forward(scale=shape)
            loss = self.loss_of(i, y)
            if self.on["adam"]:
                p.adam()
            self.caches(i, shape)
            if loss and self.on["previous"] and "current" in p.variables:
                p.r.release(p.variables.pop("before", None))
                p.variables["before"] = p.variables.pop("current")
            if loss and self.on["previous"]:
                p.assign("current", loss, 66)
            if loss and self.on["best"] and (i == 0 or r.random() < 0.1):
                p.assign("best", loss, 67)
            if self.on["epoch_outputs"] and self.steps >= 2 * self.epoch:
                self.keep(self.outputs, 4096, "outputs", 68)
            self.leak(i, y, loss)
            p.settle()
        if i % self.epoch == self.epoch - 1:
            self.end_of_epoch(i)

    def end_of_epoch(self, i):
        p = self.p
        self.clear(self.outputs)
        if not self.on["validation"]:
            return
        for _ in range(self.random.randint(1, 3)):
            with p.step():
                p.input()
                p.assign("out", p.forward(line=69), 69)
                p.settle()
        p.drop("out")

    def leak(self, i, y, loss):
        pass

    def run(self):
        for i in range(self.steps):
            self.step(i)
        return self.p.r


class Leaking(Program):
    def __init__(self, seed):
        super().__init__(seed)
        r = self.random
        self.period = r.randint(1, 6)
        self.steps = max(self.steps, 30)
        self.start = r.randint(0, self.steps // 3)
        self.size = 512 << r.randint(0, 12)
        self.kind = r.choice(["tensor", "lost", "output", "sum", "list", "chain"])
        self.sum = None

    def leak(self, i, y, loss):
        p = self.p
        if i < self.start or (i - self.start) % self.period:
            return
        if self.kind == "tensor":
            p.hold(f"kept[{i}]", p.tensor(self.size), LEAK_LINE)
        elif self.kind == "lost":
            p.at(LEAK_LINE)
            p.r.allocate(self.size)
        elif self.kind == "output":
            p.hold("outs", y, LEAK_LINE)
        elif self.kind == "list":
            extra = p.op("MulBackward0", [y], 512, self.size, LEAK_LINE)
            p.hold("history", extra, LEAK_LINE)
        else:
            inputs = [self.sum, y] if self.kind == "sum" else [y, self.sum]
            op = "AddBackward0" if self.kind == "sum" else "TanhBackward0"
            self.sum = p.op(op, inputs, 512, self.size if self.kind == "chain" else 0, LEAK_LINE)
            p.assign("state", self.sum, LEAK_LINE)


class Generated(harness.ReportTest):
    def judged(self, program, name):
        program.run().write(self.folder / name)
        document = self.document("leaks", name)
        return document["findings"], document["judged"]["verdict"]

    def table(self, title, counts):
        print(f"{title}: " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items())),
              file=sys.stderr)

    def test_clean(self):
        counts = collections.Counter()
        for seed in range(SEED, SEED + RUNS):
            program = Program(seed)
            findings, verdict = self.judged(program, "clean.db")
            counts[verdict] += 1
            with self.subTest(seed=seed):
                self.assertEqual([(f["class"], f["root"], f["line"]) for f in findings], [],
                                 [name for name, on in program.on.items() if on])
                self.assertEqual(verdict, "CLEAN")
        self.table("clean programs judged", counts)

    def test_planted(self):
        counts = collections.Counter()
        for seed in range(SEED, SEED + RUNS):
            program = Leaking(seed)
            findings, _ = self.judged(program, "planted.db")
            lines = [f["line"] for f in findings if f["gate"] != "pass"]
            counts[f"{program.kind} {findings[0]['class'] if lines == [LEAK_LINE] else 'WRONG'}"] += 1
            with self.subTest(seed=seed):
                self.assertEqual(lines, [LEAK_LINE],
                                 (program.kind, program.period, program.start, program.steps,
                                  program.size, [n for n, on in program.on.items() if on],
                                  [(f["class"], f["root"], f["line"]) for f in findings]))
        self.table("planted retentions judged", counts)


if __name__ == "__main__":
    unittest.main()
