#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden databases: make_golden.py FOLDER. Each function below is one of them."""

import pathlib
import sys

from alexnet import LINE_SUM, LINE_Y, Accumulate, AlexNet
from recorder import Recorder


def accumulate_8gib():
    """The article: the third iteration does not fit into 8 GiB."""
    r = Recorder(capacity=8 << 30)
    program = Accumulate(r)
    assert not program.run(10)
    program.finish()
    return r


def accumulate_10():
    """No detach on a device that is large enough."""
    r = Recorder(capacity=80 << 30)
    program = Accumulate(r)
    assert program.run(10)
    program.finish()
    return r


def detach():
    r = Recorder(capacity=8 << 30)
    program = Accumulate(r, detach=True)
    assert program.run(3)
    program.finish()
    return r


def empty():
    """A program that allocated nothing."""
    r = Recorder()
    r.meta["argv"] = "/bin/true"
    return r


def one_event():
    r = Recorder()
    r.allocate(4096)
    return r


def no_steps():
    """Annotated, but without steps."""
    r = Recorder(capacity=80 << 30)
    program = Accumulate(r, steps=False)
    assert program.run(2)
    return r


def plain():
    """No annotation at all, only allocation calls: nothing can be attributed."""
    r = Recorder(capacity=8 << 30)
    r.stack = (("main", "tests/report/source/accumulate.c", 8, "./plain"),)
    for size in (1 << 20, 3 << 20, 512):
        r.allocate(size)
    r.allocate(1 << 30, kind="host")
    r.allocate(1 << 30, kind="imported")
    return r


def killed():
    """SIGKILL in the second iteration's classifier."""
    r = Recorder(capacity=80 << 30)
    program = Accumulate(r)
    program.iteration()
    r.step_begin()
    program.assign("x", r.handle(r.allocate(program.x_bytes, "input", "x")))
    program.net.forward(program.x)
    r.counters["dropped_events"] = 3
    r.clean = False
    return r


HOSTILE = b"\x1b[31mred\x07\nline2 \xff\xfe \xe2\x80\xae" + "名前".encode()


def hostile():
    """Names with control characters, invalid UTF-8, direction marks, and far too long ones."""
    r = Recorder(capacity=1 << 30)
    r.meta["argv"] = "./evil \x1b]0;title\x07 " + "a" * 300
    r.stack = ((b"fn\x1b[2J", b"/tmp/\x1b[1m/" + b"d" * 200 + b".c", 3, "./evil"),)
    r.step_begin(HOSTILE)
    r.scope_path = [("module", HOSTILE), ("op", b"Op" * 200), ("tensor", b"\x00cut")]
    node = r.node(b"Op\x9b" + b"x" * 200)
    storage = r.allocate(123456789)
    handle = r.handle(storage, node, HOSTILE)
    r.save(node, HOSTILE, storage)
    r.release(r.handle(None, None, b""))
    r.step_end()
    r.step_begin(b"")
    r.handle(r.allocate(77), handle.node, b"n" * 1000)
    try:
        r.allocate(2 << 30)
    except Exception:
        pass
    r.counters["\x1b[5m"] = 7
    return r


def losses_list():
    """losses.append(loss): many handles named on one line are one root."""
    r = Recorder(capacity=80 << 30)
    program = Accumulate(r, batch=8)
    kept = []
    for _ in range(4):
        r.step_begin("epoch")
        program.net.at(8)
        program.assign("x", r.handle(r.allocate(program.x_bytes, "input", "x")))
        y = program.net.forward(program.x)
        program.net.at(LINE_SUM)
        r.name(y, "losses[]")
        kept.append(y)
        r.step_end()
    return r


def shared():
    """Two variables on the same old graph: neither retains it, both do."""
    r = Recorder(capacity=80 << 30)
    program = Accumulate(r, batch=8)
    program.iteration()
    program.net.at(LINE_Y)
    r.step_begin()
    other = r.handle(r.allocate(32000), r.node("MulBackward0", [program.y_sum.node]))
    r.name(other, "best")
    r.step_end()
    return r


def cyclic():
    """Nodes that hold each other, and a graph that nobody holds any more."""
    r = Recorder(capacity=8 << 30)
    net = AlexNet(r, 1)
    r.step_begin()
    net.at(LINE_Y)
    a, b = r.node("A"), r.node("B")
    r.edge(a, 0, b)
    r.edge(b, 0, a)
    r.save(b, "self", r.allocate(1000))
    r.handle(r.allocate(10), a, "y")
    c, d = r.node("C"), r.node("D")
    r.edge(c, 0, d)
    r.edge(d, 0, c)
    r.save(d, "self", r.allocate(500))
    r.step_end()
    return r


GOLDEN = [accumulate_8gib, accumulate_10, detach, empty, one_event, no_steps, plain, killed,
          hostile, losses_list, shared, cyclic]


def make(folder):
    for function in GOLDEN:
        recorder = function()
        recorder.write(pathlib.Path(folder) / f"{function.__name__}.db",
                       getattr(recorder, "clean", True))


if __name__ == "__main__":
    make(sys.argv[1])
