# SPDX-License-Identifier: MIT
"""AlexNet's gradients, and its parameters after some steps of SGD and Adam, against PyTorch.

    compare_training.py ALEXNET_TRAIN DEVICE

Same weights, same images, same classes, dropout off. Measured per parameter as the distance of the two
vectors relative to the length of PyTorch's (of the change since the start, for parameters).

Tolerance. Both round all sums to float32 in orders of their own. The gradients come out 1.1e-6 apart,
as PyTorch's own are with its convolutions done by another of its libraries (1.0e-6); 1e-5 is allowed.
Then steps magnify it: where an input of a ReLU, or two candidates of a maximum, are closer together than
the difference, the two sides decide differently and one element's gradient goes another way. PyTorch
against itself, the other library: 5e-3 of the change after 20 steps of SGD, and 5e-2 after 20 of Adam,
which divides by the gradient's own size and so makes the smallest as loud as the largest. Seen here: SGD
6e-5 after one step, 1.1e-2 after 20; Adam 8e-5 after one, 5e-4 after two. A wrong factor, sign or order
in a formula gives 1e-1 and more from the first step on. Allowed: below.
"""
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
BATCH, IMAGES, CLASSES = 4, 16, 10
TOLERANCE_GRADIENT = 1e-5
STEPS_AND_TOLERANCE = (("sgd", 1, 3e-4), ("sgd", 20, 4e-2), ("adam", 2, 5e-3))

try:
    import numpy
    import torch
    import torchvision
    from weight_file import read_weights, write_weights
except ImportError as error:
    print(f"PyTorch is not here: {error}")
    sys.exit(SKIPPED)


def make_optimizer(name, net):
    if name == "sgd":
        return torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=5e-4)
    return torch.optim.Adam(net.parameters(), lr=1e-4, weight_decay=5e-4)


def train_torch(net, optimizer, x, target, steps):
    """The first step's gradients and every loss."""
    gradients, losses = None, []
    for step in range(steps):
        at = step * BATCH % len(x)
        loss = torch.nn.functional.cross_entropy(net(x[at:at + BATCH]), target[at:at + BATCH])
        optimizer.zero_grad()
        loss.backward()
        if gradients is None:
            gradients = [parameter.grad.clone() for parameter in net.parameters()]
        optimizer.step()
        losses.append(loss.item())
    return gradients, losses


def distance(ours, theirs):
    return ((ours - theirs).norm() / theirs.norm()).item()


def train_both(program, device, name, steps, tolerance, start, x, target, folder):
    paths = {key: os.path.join(folder, key) for key in ("weights", "x", "target", "gradients", "after")}
    net = torchvision.models.alexnet()
    net.load_state_dict(start)
    net.eval()
    write_weights(paths["weights"], start)
    x.numpy().astype("<f4").tofile(paths["x"])
    target.numpy().astype("<i8").tofile(paths["target"])
    run = subprocess.run([program, device, paths["weights"], paths["x"], paths["target"], str(BATCH),
                          str(steps), name, paths["gradients"], paths["after"]],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(run.returncode)
    gradients, losses = train_torch(net, make_optimizer(name, net), x, target, steps)
    flat = torch.from_numpy(numpy.fromfile(paths["gradients"], "<f4"))
    ours = flat.split([gradient.numel() for gradient in gradients])
    gradient = max(distance(a, b.flatten()) for a, b in zip(ours, gradients))
    after = read_weights(paths["after"])
    change = max(distance(after[key] - start[key], value - start[key])
                 for key, value in net.state_dict().items())
    loss = max(abs(float(a) - b) for a, b in zip(run.stdout.split(), losses))
    print(f"{name}, {steps} steps: gradients {gradient:.1e}, change of the parameters {change:.1e}, "
          f"loss {loss:.1e} apart; PyTorch's loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    assert all(torch.isfinite(value).all() for value in after.values())
    return gradient <= TOLERANCE_GRADIENT and change <= tolerance


def main():
    program, device = sys.argv[1:3]
    torch.manual_seed(2)
    start = {key: value.clone() for key, value in torchvision.models.alexnet().state_dict().items()}
    x = torch.randn(IMAGES, 3, 224, 224)
    target = torch.randint(CLASSES, (IMAGES,))
    with tempfile.TemporaryDirectory() as folder:
        good = [train_both(program, device, *case, start, x, target, folder)
                for case in STEPS_AND_TOLERANCE]
    sys.exit(0 if all(good) else 1)


main()
