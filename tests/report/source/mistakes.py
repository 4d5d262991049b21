# SPDX-License-Identifier: MIT
"""A training loop on CPU tensors with one mistake: mistakes.py MODE. Nothing in it knows of a profiler."""

import sys

import torch

mode = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
y_sum, losses, outs = 0, [], []
h = torch.zeros(32, 64)
for i in range(12):
    x = torch.randn(32, 64)
    if mode in ("sum_outputs", "sum_detached"):
        y = net(x)
        if mode == "sum_outputs":
            y_sum = y_sum + y
        else:
            y_sum = y_sum + y.detach()
        optimizer.step()
        continue
    if mode == "hidden":
        h = torch.tanh(net[0](x) + h)
        loss = h.mean()
        loss.backward(retain_graph=True)
    else:
        out = net(x)
        loss = out.pow(2).mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if mode == "sum_losses":
        y_sum = y_sum + loss
    elif mode == "list":
        losses.append(loss)
    elif mode == "outputs":
        outs.append(out.detach())
