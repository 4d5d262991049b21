# SPDX-License-Identifier: MIT
"""Holders that are hard to name, four steps of each: in a function that has ended, a closure, a class,
an object with __slots__, a generator, a cached function, an exception that was kept, a list of a
library's, a proxy whose __class__ raises. NAME"""
import functools
import logging
import sys

import torch
from torch import nn

torch.manual_seed(4)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(32, 32), nn.Tanh())


def outputs():
    for _ in range(4):
        yield net(torch.ones(8, 32))


def ended_function():
    y_sum = 0
    for y in outputs():
        y_sum = y_sum + y
    print(float(y_sum.sum()))


def helper_that_makes_one():
    return net(torch.ones(8, 32))


def ended_function_with_helper():
    rows = []
    for _ in range(8):
        rows.append(helper_that_makes_one())
    print(len(rows))


def closure():
    y_sum = 0

    def add(y):
        nonlocal y_sum
        y_sum = y_sum + y
    for y in outputs():
        add(y)
    return add


class Store:
    rows = []


def class_attribute():
    Store.rows.extend(outputs())


class Slotted:
    __slots__ = ("rows", "never_set")


def slots():
    held = Slotted()
    held.rows = list(outputs())
    return held


def running_generator():
    def batches():
        kept_rows = []
        for y in outputs():
            kept_rows.append(y)
            yield len(kept_rows)
    running = batches()
    for _ in range(4):
        next(running)
    return running


@functools.lru_cache(maxsize=None)
def features(i):
    return net(torch.ones(8, 32) * i)


def cached_function():
    for i in range(4):
        features(i)


def exception():
    rows = list(outputs())
    try:
        raise ValueError(len(rows))
    except ValueError as problem:
        return problem


def library_list():
    for y in outputs():
        logging.kept_for_later = getattr(logging, "kept_for_later", []) + [y]


class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("not connected")

    def __getattr__(self, name):
        raise RuntimeError("not connected")


def proxy():
    return [Proxy(), list(outputs())]


def unreachable_cycle():
    for y in outputs():
        ring = [y]
        ring.append(ring)


kept = globals()[sys.argv[1]]()
