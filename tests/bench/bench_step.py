#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time AlexNet's forward, and its backward, in the engine and in PyTorch, side by side in one run.

Both keep their graph (training mode). The two processes take turns, so that other load on the
machine hits both alike; the medians and their ratio are told.

    bench_step.py PATH/TO/bench_step [--backward] [--batch N] [--rounds N] [--threads N]
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time


def blas_in_use():
    """Debian's PyTorch takes whatever libblas.so.3 is; without OpenBLAS its products are 20 x slower."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return "OpenBLAS" if "openblas" in maps.read() else "netlib BLAS (install libopenblas0)"


def torch_worker(batch, threads, backward):
    import torch
    import torchvision

    torch.set_num_threads(threads)
    net = torchvision.models.alexnet()
    net.train()
    x = torch.randn(batch, 3, 224, 224)
    target = torch.zeros(batch, dtype=torch.int64)
    print("ready: PyTorch %s, %s" % (torch.__version__, blas_in_use()), flush=True)
    for _ in sys.stdin:
        start = time.monotonic()
        y = net(x)
        middle = time.monotonic()
        if backward:
            loss = torch.nn.functional.cross_entropy(y, target)
            loss.backward()
        end = time.monotonic()
        print("%.1f %.1f %d" % ((middle - start) * 1e3, (end - middle) * 1e3,
                                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), flush=True)
        net.zero_grad(set_to_none=True)
        y = loss = None


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.name = self.read().partition(": ")[2].strip()
        self.times_ms = []  # (forward, backward)
        self.peak_kib = 0

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench_step: a worker ended early")
        return line

    def turn(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        forward_ms, backward_ms, peak_kib = self.read().split()
        self.peak_kib = int(peak_kib)
        return float(forward_ms), float(backward_ms)

    def median_ms(self, part):
        return statistics.median(times[part] for times in self.times_ms)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(arguments):
    numbers = [str(arguments.batch), str(arguments.threads)]
    backward = ["backward"] if arguments.backward else []
    ours = Worker([arguments.program, numbers[0], "host", numbers[1], *backward])
    torch = Worker([sys.executable, __file__, "--torch-worker", *numbers, *backward])
    for worker in (ours, torch):
        worker.turn()  # a first round warms up: kernels are made then
    for number in range(arguments.rounds):
        for worker in (ours, torch) if number % 2 else (torch, ours):
            worker.times_ms.append(worker.turn())
        print("round %d: engine %.0f and %.0f ms, PyTorch %.0f and %.0f ms"
              % (number + 1, *ours.times_ms[-1], *torch.times_ms[-1]))
    for worker in (ours, torch):
        worker.close()
        print("%-60s peak resident %.2f GiB" % (worker.name, worker.peak_kib / 2**20))
    for part, name in enumerate(["forward", "backward"][: 2 if arguments.backward else 1]):
        print("%s, batch %d, %d threads: engine %.0f ms, PyTorch %.0f ms (medians), ratio %.2f"
              % (name, arguments.batch, arguments.threads, ours.median_ms(part),
                 torch.median_ms(part), ours.median_ms(part) / torch.median_ms(part)))


def main():
    if len(sys.argv) >= 4 and sys.argv[1] == "--torch-worker":
        torch_worker(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] == ["backward"])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built bench_step")
    parser.add_argument("--backward", action="store_true", help="time the backward too")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
