#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch on a GPU under gradprof: every block of the caching allocator, at marked moments, against
PyTorch's own memory_snapshot() and memory_allocated(); what the article's loop keeps; costs.

usage: torch_ledger.py LIBRARY REPORT [--batch N]     exit 77: no PyTorch with a GPU

Runs with the interpreter that has PyTorch. Figures go to stdout, one a line; it exits 1 when a
comparison fails."""
import argparse
import ctypes
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ALEXNET_SAVED_BYTES = 3_173_515_264  # one forward's graph at batch 1024, beyond parameters and input
LAYERS = "64k11s4p2 R P 192k5s1p2 R P 384k3s1p1 R 256k3s1p1 R 256k3s1p1 R P"


def alexnet(torch):
    """torchvision's AlexNet, without torchvision."""
    nn, parts, channels = torch.nn, [], 3
    for layer in LAYERS.split():
        if layer == "R":
            parts.append(nn.ReLU(inplace=True))
        elif layer == "P":
            parts.append(nn.MaxPool2d(3, 2))
        else:
            out, rest = layer.split("k")
            kernel, rest = rest.split("s")
            stride, padding = rest.split("p")
            parts.append(nn.Conv2d(channels, int(out), int(kernel), int(stride), int(padding)))
            channels = int(out)
    head = nn.Sequential(nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(inplace=True), nn.Dropout(),
                         nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 1000))
    return nn.Sequential(nn.Sequential(*parts), nn.AdaptiveAvgPool2d((6, 6)), nn.Flatten(), head)


def active_blocks(torch):
    found = []
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                found.append((block.get("address", address), block["size"]))
            address += block["size"]
    return sorted(found)


class Marks:
    """A moment in the recording that SQL can find again: a handle's create_seq."""
    def __init__(self, torch):
        self.torch, self.truth, self.library = torch, [], ctypes.CDLL(None)

    def mark(self):
        self.torch.cuda.synchronize()
        number = len(self.truth) + 1
        self.truth.append({"allocated": self.torch.cuda.memory_allocated(),
                           "blocks": active_blocks(self.torch)})
        if hasattr(self.library, "gradprof_handle_create"):
            self.library.gradprof_handle_create(ctypes.c_void_p(1 << 40 | number),
                                                f"mark {number}".encode(), None, None)


def accumulate(torch, batch):
    global y_sum  # as in a script: held to the end, where the report looks
    torch.manual_seed(0)
    marks, net, y_sum = Marks(torch), alexnet(torch).cuda(), 0
    for _ in range(3):
        x = torch.randn(batch, 3, 224, 224, device="cuda")
        y = net(x)
        y_sum = y_sum + y
        del y
        marks.mark()
    return marks.truth, float(y_sum.detach().sum())


def train(torch, _):
    torch.manual_seed(0)
    marks, net = Marks(torch), alexnet(torch).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    for _ in range(20):
        x = torch.randn(32, 3, 224, 224, device="cuda")
        t = torch.randint(0, 1000, (32,), device="cuda")
        loss = loss_of(net(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        marks.mark()
    return marks.truth, float(loss.detach())


def deep(depth, function):
    return function() if depth == 0 else deep(depth - 1, function)


def costs(torch, batch):
    def ops():
        b = torch.ones(4, device="cuda")
        for _ in range(2000):
            b = b * 1.0001
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(20000):
            b = b * 1.0001
        spent = time.perf_counter() - begin
        torch.cuda.synchronize()
        return spent / 20000 * 1e6

    figures = {}
    modes = ["plain"] if "GRADPROF_DB" in os.environ else ["plain", "python", "all"]
    for mode in modes:
        if mode != "plain":
            torch.cuda.memory._record_memory_history("all", stacks=mode)
        for depth in (0, 30):
            figures[f"{mode} depth {depth} us/op"] = min(deep(depth, ops) for _ in range(5))
        if mode != "plain":
            torch.cuda.memory._record_memory_history(None)
    net = alexnet(torch).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    x, steps = torch.randn(128, 3, 224, 224, device="cuda"), []
    for _ in range(60):
        begin = time.perf_counter()
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        steps.append(time.perf_counter() - begin)
    figures["AlexNet batch 128 ms/step"] = sorted(steps[10:])[25] * 1e3
    return figures, 0.0


def child(name, batch):
    import torch
    truth, value = {"accumulate": accumulate, "train": train, "costs": costs}[name](torch, batch)
    pathlib.Path("truth.json").write_text(json.dumps({"truth": truth, "value": value}))


def run(arguments, name, folder, profiled):
    folder = pathlib.Path(folder) / (name + ("-gradprof" if profiled else ""))
    folder.mkdir()
    variables = dict(os.environ)
    if profiled:
        variables |= {"LD_PRELOAD": os.path.abspath(arguments.library), "GRADPROF_DB": "run.db"}
    result = subprocess.run([sys.executable, os.path.abspath(__file__), "--child", name, "--batch",
                             str(arguments.batch), "-", "-"], cwd=folder, env=variables,
                            timeout=280, capture_output=True, text=True, check=False)
    print(result.stderr.strip()[-2000:])
    if result.returncode:
        print(f"FAIL {name}: exit status {result.returncode}")
        return None, folder
    return json.loads((folder / "truth.json").read_text()), folder


def compare(name, truth, folder):
    """Blocks in run.db at each mark against PyTorch's."""
    failures = 0
    with sqlite3.connect(folder / "run.db") as connection:
        for i, expected in enumerate(truth["truth"], 1):
            seq, = connection.execute("SELECT max(create_seq) FROM handles WHERE name = ?",
                                      (f"mark {i}",)).fetchone()
            rows = connection.execute(
                "SELECT address, size_bytes FROM allocation WHERE traits >> 16 != 7 AND "
                "traits & 255 = 0 AND traits >> 10 & 63 = 1 AND alloc_seq < ?1 AND "
                "(free_seq IS NULL OR free_seq > ?1)", (seq or 0,)).fetchall()
            found = sorted(map(tuple, rows))
            wanted = [tuple(block) for block in expected["blocks"]]
            same = found == wanted and sum(size for _, size in found) == expected["allocated"]
            failures += not same
            print(f"{'ok  ' if same else 'FAIL'} {name} mark {i}: {len(found)} blocks, "
                  f"{sum(size for _, size in found):,} bytes; PyTorch {len(wanted)} blocks, "
                  f"{expected['allocated']:,} bytes")
        print(name, "counters", connection.execute(
            "SELECT name, value FROM counter WHERE value > 0").fetchall())
        print(name, "meta", connection.execute(
            "SELECT key, value FROM meta WHERE key IN ('level', 'pytorch', 'python', "
            "'walk_seconds', 'walker_problem')").fetchall())
    return failures


def check_article(arguments, folder):
    with sqlite3.connect(folder / "run.db") as connection:
        per_slot = connection.execute(
            "SELECT op, slot, count(*), sum(size_bytes) FROM saves GROUP BY 1, 2").fetchall()
    for row in per_slot:
        print("slot", *row)
    text = subprocess.run([arguments.report, folder / "run.db"], capture_output=True, text=True,
                          check=False).stdout
    print(text)
    document = json.loads(subprocess.run(
        [arguments.report, folder / "run.db", "--format", "json"], capture_output=True,
        text=True, check=True).stdout)
    root = document["roots"][0] if document["roots"] else {}
    named = root.get("name", "").startswith("y_sum") and root.get("graphs") == 3
    print("ok  " if named else "FAIL", "root", root.get("name"), root.get("graphs"), "graphs,",
          f"{root.get('retained_bytes', 0):,} bytes")
    print("attribution", document["attribution"])
    if arguments.batch == 1024:
        print(f"expected by the article: {ALEXNET_SAVED_BYTES:,} bytes a graph")
    return not named


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library")
    parser.add_argument("report")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child, arguments.batch)
    probe = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                           capture_output=True, check=False)
    if probe.returncode:
        print("no PyTorch with a GPU")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory(prefix="gradprof-gpu-") as folder:
        for name in ("accumulate", "train"):
            plain, _ = run(arguments, name, folder, False)
            truth, place = run(arguments, name, folder, True)
            if truth is None or plain is None:
                failures += 1
                continue
            print("values", name, plain["value"], truth["value"])
            failures += compare(name, truth, place)
            if name == "accumulate":
                failures += check_article(arguments, place)
        for profiled in (False, True):
            figures, _ = run(arguments, "costs", folder, profiled)
            failures += figures is None
            if figures:
                print("costs", "gradprof" if profiled else "without", json.dumps(figures["truth"]))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
