# SPDX-License-Identifier: MIT
"""Keeps graphs, then ends as it is told: exit, interrupt, fork, refused, steps."""
import os
import signal
import sys

import torch
from torch import nn

torch.set_num_threads(1)
how = sys.argv[1]
if how == "steps":
    import gradprof
net = nn.Linear(16, 4)
kept = []


def loop():
    for _ in range(4):
        if how == "steps":
            gradprof.step()
        kept.append(net(torch.ones(8, 16)))
        net(torch.ones(2, 16))


if how != "fork":
    loop()
print("looped", flush=True)
if how == "exit":
    os._exit(3)
if how == "interrupt":
    os.kill(os.getpid(), signal.SIGINT)
if how == "refused":
    try:
        torch.empty(1 << 46)
    except RuntimeError:
        print("caught")
    loop()
if how == "fork":
    child = os.fork()
    loop()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
