#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""AlexNet's output against PyTorch's: same weights, same input, dropout off.

compare_torch.py ALEXNET_FORWARD SAMPLE DEVICE [BATCH]

Weights go both ways in the raw format of docs/ENGINE.md: PyTorch's are written for alexnet_forward,
and a sample's --save-weights file is read back and handed to PyTorch.

Tolerance: both sides round every layer's result to float32 and add up to 9,216 products in an order of
their own. A relative error of sqrt(9216) * 2^-24 = 6e-6 per layer, over eight layers with weights,
comes to 2e-5 of the output's own size if all errors added up; 1e-4 of the largest output is allowed. A
wrong kernel position, a missing bias or a swapped axis changes the output by its own size.
"""
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 1e-4

try:
    import numpy
    import torch
    import torchvision
    from weight_file import read_weights, write_weights
except ImportError as error:
    print(f"PyTorch is not here: {error}")
    sys.exit(SKIPPED)


def compare(forward, device, net, weights, x, folder):
    """Largest difference between both outputs, relative to the largest output."""
    source, result = os.path.join(folder, "x"), os.path.join(folder, "y")
    x.numpy().astype("<f4").tofile(source)
    run = subprocess.run([forward, device, weights, source, str(len(x)), result])
    if run.returncode:
        sys.exit(run.returncode)
    ours = torch.from_numpy(numpy.fromfile(result, "<f4")).reshape(len(x), 1000)
    with torch.no_grad():
        theirs = net(x)
    error = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    assert theirs.abs().max() > 0 and torch.isfinite(ours).all()
    assert (ours.argmax(1) == theirs.argmax(1)).all(), "another class wins"
    return error


def main():
    forward, sample, device = sys.argv[1:4]
    batch = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    torch.manual_seed(1)
    net = torchvision.models.alexnet()
    net.eval()
    x = torch.randn(batch, 3, 224, 224)
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "weights")
        write_weights(weights, net.state_dict())
        theirs = compare(forward, device, net, weights, x, folder)
        subprocess.run([sample, f"--device={device}", "--batch=1", f"--save-weights={weights}"],
                       check=True, stdout=subprocess.DEVNULL)
        net.load_state_dict(read_weights(weights))  # strict: names and shapes must be the same
        ours = compare(forward, device, net, weights, x, folder)
    print(f"largest difference, relative: {theirs:.2e} with PyTorch's weights, {ours:.2e} with the sample's")
    sys.exit(0 if max(theirs, ours) <= TOLERANCE else 1)


main()
