# SPDX-License-Identifier: MIT
"""Keeps graphs in a function until memory is refused, then: raise (nobody catches it), retry (and go
on), kill (at once), thread (refused in a second one), backward (refused inside a backward)."""
import os
import signal
import sys
import threading

import torch
from torch import nn

torch.set_num_threads(1)
how = sys.argv[1]
net = nn.Linear(256, 256)


class Refuse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        torch.empty(1 << 46)
        return grad


def attempt(history):
    for i in range(4):
        x = torch.ones(64, 256)
        history.append(net(x).tanh())
    if how == "backward":
        Refuse.apply(history[-1]).sum().backward()
    return torch.empty(1 << 46)  # the line


def main():
    history = []
    try:
        attempt(history)
    except RuntimeError as problem:
        if how == "raise":
            raise
        print(type(problem).__name__)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    history.clear()
    print(len(history), float(net(torch.ones(1, 256)).sum()) != 0)


if how == "thread":
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
else:
    main()
