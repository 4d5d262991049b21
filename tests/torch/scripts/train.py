# SPDX-License-Identifier: MIT
"""A healthy training loop; `leak`: it keeps every loss, graph and all."""
import sys

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Linear(128, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
losses = []


def train(batch):
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for i in range(5):
    loss = train(torch.randn(32, 64))
    losses.append(loss if "leak" in sys.argv else loss.item())
    print(f"{float(loss):.17g}")
