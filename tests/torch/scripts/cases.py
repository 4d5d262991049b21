# SPDX-License-Identifier: MIT
"""Loops that people wrote, eight steps each: what they keep, and controls that keep nothing. NAME"""
import sys

import torch
from torch import nn

STEPS = 8
torch.manual_seed(3)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))
data = [torch.randn(16, 32) for _ in range(STEPS)]


def running_sum_after_backward():
    y_sum = 0
    for x in data:
        loss = net(x).square().mean()
        loss.backward()
        y_sum = y_sum + loss
    return y_sum


class Logger:
    def __init__(self):
        self.history = []

    def log(self, values):
        self.history.append(values)


def logger_keeps_the_loss():
    logger = Logger()
    for x in data:
        loss = net(x).square().mean()
        loss.backward()
        logger.log({"loss": loss})
    return logger


def outputs_until_the_end_of_the_epoch():
    outs = []
    for x in data:
        pred = net(x)
        outs.append({"pred": pred})
    return outs


def detached_but_kept():
    outs = []
    for x in data:
        outs.append(net(x).detach())
    return outs


def validation_without_no_grad():
    hits = 0.0
    for x in data:
        out = net(x)
        hits += out.argmax(1).eq(0).sum().item()
    return hits


def hidden_state_carried_over():
    cell = nn.RNNCell(32, 32)
    h = torch.zeros(16, 32)
    for x in data:
        h = cell(x, h)
        h.mean().backward(retain_graph=True)
    return h


class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = 0

    def forward(self, x):
        self.v = self.v + x
        return self.v.tanh()


def state_inside_a_module():
    spiking = nn.Sequential(nn.Linear(32, 32), Neuron())
    for x in data:
        spiking(x)
    return spiking


def retain_graph_alone():
    for x in data:
        loss = net(x).square().mean()
        loss.backward(retain_graph=True)
    return None


def retain_graph_and_a_list():
    kept = []
    for x in data:
        loss = net(x).square().mean()
        loss.backward(retain_graph=True)
        kept.append(loss)
    return kept


def replay_buffer_with_graph():
    replay = []
    for x in data:
        state = net(x)
        replay.append((state, 1.0))
    return replay


def closure_keeps_the_output():
    outs = []
    for x in data:
        out = net(x)

        def later():
            return out.sum()
        outs.append(later)
        out = net(x)
    return outs


kept = globals()[sys.argv[1]]()
