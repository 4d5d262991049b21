# SPDX-License-Identifier: MIT
"""Bytes of a training step of AlexNet: the engine's count against PyTorch's own, on the CPU.

    compare_bytes.py ALEXNET_BYTES [BATCH]        (128; 1024 with GRADPROF_TEST_LONG=1)

SGD with momentum, the first step (gradients and momentum buffers appear) and a later one. PyTorch tells
every block its CPU allocator gives and takes through its profiler. Compared to the byte: what is alive
with the batch made, after forward and loss, after backward, after the optimizer's step. With dropout the
graphs differ in one thing, and by a known amount: PyTorch on a CPU keeps a float32 mask where the engine,
like PyTorch on a GPU, keeps a bool one, 3 bytes more for each of the 9,216 + 4,096 elements of an image.

The highest value on the way is a matter of temporaries, PyTorch's own and those of its libraries that go
through its allocator; the engine's must not be larger.
"""
import os
import subprocess
import sys

SKIPPED = 77
MASK_BYTES = 3 * (9216 + 4096)
MARKS = ("batch made", "forward done", "backward done", "step done")

try:
    import torch
    import torchvision
    from torch.profiler import ProfilerActivity, profile, record_function
except ImportError as error:
    print(f"PyTorch is not here: {error}")
    sys.exit(SKIPPED)


def mark(name):
    with record_function(name):
        pass


def one_step(net, optimizer, batch):
    x = torch.randn(batch, 3, 224, 224)
    target = torch.zeros(batch, dtype=torch.int64)
    mark(MARKS[0])
    loss = torch.nn.functional.cross_entropy(net(x), target)
    mark(MARKS[1])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    mark(MARKS[2])
    optimizer.step()
    mark(MARKS[3])


def account(events):
    """Bytes alive at each mark and the highest value up to it, both from the first mark on."""
    events = sorted(enumerate(events), key=lambda pair: (pair[1].start_us(), pair[0]))
    live, highest, alive, peaks = 0, 0, [], []
    for _, event in events:
        if event.name() == "[memory]":
            live += event.nbytes()
            highest = max(highest, live)
        elif event.name() in MARKS:
            alive.append(live)
            peaks.append(highest)
    return [value - alive[0] for value in alive], [value - alive[0] for value in peaks[1:]]


def torch_steps(batch, training):
    net = torchvision.models.alexnet()
    net.train(training)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            one_step(net, optimizer, batch)
        yield account(profiler.profiler.kineto_results.events())


def engine_steps(program, batch, training):
    text = subprocess.run([program, str(batch), "train" if training else "eval"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    for line in text.splitlines():
        numbers = [int(word) for word in line.split()]
        yield [n - numbers[0] for n in numbers[:4]], [n - numbers[0] for n in numbers[4:]]


def compare(program, batch, training):
    """The masks go with the rest of the graph in backward: only one mark sees them."""
    good = True
    extra = [0, MASK_BYTES * batch if training else 0, 0, 0]
    steps = zip(engine_steps(program, batch, training), torch_steps(batch, training))
    for number, ((ours, our_peaks), (theirs, their_peaks)) in enumerate(steps, 1):
        what = f"batch {batch}, dropout {'on' if training else 'off'}, step {number}"
        print(f"{what}: alive {ours[1:]}, highest {our_peaks} (PyTorch {their_peaks})")
        for name, mine, other, more in zip(MARKS, ours, theirs, extra):
            if mine + more != other:
                print(f"{what}, {name}: {mine:,} and {more:,} for the masks; PyTorch has {other:,}")
                good = False
        if our_peaks[2] > their_peaks[2]:
            print(f"{what}: highest is {our_peaks[2]:,}, PyTorch's {their_peaks[2]:,}")
            good = False
    return good


def main():
    long = os.environ.get("GRADPROF_TEST_LONG") == "1"
    batches = [int(sys.argv[2])] if len(sys.argv) > 2 else [128, 1024] if long else [128]
    good = [compare(sys.argv[1], batch, training) for batch in batches for training in (False, True)]
    sys.exit(0 if all(good) else 1)


main()
