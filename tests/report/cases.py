# SPDX-License-Identifier: MIT
"""Patterns that people really hit, each as a small program: (class, root, line) that the report must
name first, or None where it must stay quiet."""

from mini import Mini

CASES = []


def case(expected, **more):
    def add(function):
        CASES.append((function.__name__, function, expected, more))
        return function
    return add


def plain_step(p, i, keep=None):
    """x, forward, loss, backward, optimiser; keep(y, loss) before the temporaries go."""
    with p.step():
        p.input()
        y = p.forward()
        loss = p.loss(y)
        p.assign("loss", loss, 10)
        p.backward(loss)
        p.adam()
        if keep:
            keep(i, y, loss)
        p.settle()


def train(keep=None, steps=12, **options):
    p = Mini(**options)
    if keep is None:
        for i in range(steps):
            plain_step(p, i)
        return p.r
    for i in range(steps):
        plain_step(p, i, lambda i, y, loss: keep(p, i, y, loss))
    return p.r


def sum_of(p, name, tensor, line, size=512, op="AddBackward0"):
    """name = name + tensor"""
    old = p.variables.get(name)
    before = type(tensor)(old.storage, old.node) if old else None
    p.assign(name, p.op(op, [before, tensor], size, 0, line), line)


@case(("SKELETON", "y_sum", 21), nodes=6, bytes=0)
def running_sum_of_losses():
    return train(lambda p, i, y, loss: sum_of(p, "y_sum", loss, 21))


@case(("GRAPH", "y_sum", 21), nodes=5, bytes=4 << 20)
def running_sum_without_backward():
    p = Mini()
    for _ in range(10):
        with p.step():
            p.input()
            y = p.forward()
            sum_of(p, "y_sum", y, 21, p.output)
            p.settle()
    return p.r


@case(("SKELETON", "losses", 22), nodes=5)
def list_of_losses():
    return train(lambda p, i, y, loss: p.hold("losses", loss, 22))


@case(("SKELETON", "hist[*].loss", 23))
def logger_with_indices():
    return train(lambda p, i, y, loss: p.hold(f"hist[{i}].loss", loss, 23))


@case(("SKELETON", "outs", 24))
def log_dicts_until_epoch_end():
    """Cleared at each epoch's end: nothing to see at the end of the run."""
    p = Mini()
    for _ in range(3):
        kept = []
        for i in range(6):
            plain_step(p, i, lambda i, y, loss: kept.append(p.hold("outs", loss, 24)))
        with p.step():
            for handle in kept:
                p.r.release(handle)
    return p.r


@case(("TENSOR", "outs", 25), bytes=64 << 10, nodes=0)
def detached_but_on_the_device():
    def keep(p, i, y, loss):
        y.node, node = None, y.node
        p.hold("outs", y, 25)
        y.node = node
    return train(keep)


@case(None)
def validation_without_no_grad():
    p = Mini()
    for i in range(6):
        plain_step(p, i)
    for i in range(6):
        with p.step():
            p.input()
            p.assign("out", p.forward(line=30), 30)
            p.settle()
    return p.r


@case(("GRAPH", "val_losses", 31))
def validation_without_no_grad_kept():
    p = Mini()
    for _ in range(8):
        with p.step():
            p.r.scope_path = [("phase", "validation")]
            p.input()
            y = p.forward(line=30)
            p.hold("val_losses", p.loss(y, 31), 31)
            p.settle()
    return p.r


@case(("GRAPH", "h", 32), bytes=4 << 20)
def hidden_state_carried_over():
    p = Mini()
    hidden = None
    for _ in range(9):
        with p.step():
            p.input()
            y = p.forward(extra=[hidden] if hidden else ())
            hidden = p.op("TanhBackward0", [y], 2048, 0, 32)
            p.assign("h", hidden, 32)
            loss = p.assign("loss", p.loss(y), 10)
            p.assign("y", y, 9)
            p.backward(loss, retain=True)
            p.settle()
    return p.r


@case(None)
def truncated_back_propagation():
    """The state keeps its history for three steps; then one backward uses it and it is cut."""
    p = Mini()
    hidden = None
    for i in range(15):
        with p.step():
            p.input()
            y = p.forward(extra=[hidden] if hidden else ())
            hidden = p.op("TanhBackward0", [y], 2048, 0, 32)
            p.assign("h", hidden, 32)
            p.settle()
            if i % 3 == 2:
                loss = p.assign("loss", p.loss(hidden), 33)
                p.backward(loss)
                hidden = None
                p.drop("h")
                p.drop("loss")
    return p.r


@case(("GRAPH", "net.layer*.v", 34))
def state_in_modules():
    p = Mini()
    state = [None] * 5
    for _ in range(8):
        with p.step():
            p.input()
            value = p.forward()
            for k in range(5):
                state[k] = p.op("AddBackward0", [state[k], value], 4096, 8192, 33)
                p.assign(f"net.layer{k}.v", state[k], 34)
                value = state[k]
            p.settle()
    return p.r


@case(None)
def retain_graph_alone():
    p = Mini()
    for _ in range(8):
        with p.step():
            p.input()
            y = p.forward()
            loss = p.assign("loss", p.loss(y), 10)
            p.backward(loss, retain=True)
            p.settle()
    return p.r


@case(("GRAPH", "log", 35), bytes=(4 << 20) + 512)
def retain_graph_and_a_list():
    p = Mini()
    for _ in range(8):
        with p.step():
            p.input()
            y = p.forward()
            loss = p.loss(y)
            p.backward(loss, retain=True)
            p.hold("log", loss, 35)
            p.settle()
    return p.r


@case(None)
def weight_average():
    """A constant copy of the weights, written anew in each step."""
    def keep(p, i, y, loss):
        for k in range(p.layers):
            p.assign(f"ema.{k}", p.tensor(4 << 20), 36)
    return train(keep)


@case(("SKELETON", "net.bn1.rm", 37))
def running_statistic_with_history():
    return train(lambda p, i, y, loss: sum_of(p, "net.bn1.rm", y, 37))


@case(("CYCLE-NATIVE", None, 38))
def cycle_of_nodes():
    def keep(p, i, y, loss):
        p.at(38)
        a, b = p.r.node("CopySlices"), p.r.node("AccumulateGradLike")
        p.r.edge(a, 0, b)
        p.r.edge(b, 0, a)
        p.r.save(a, "grad_input", p.r.allocate(1 << 20))
    return train(keep)


@case(("GRAPH", "buf", 39))
def replay_buffer_not_yet_full():
    p = Mini()
    for _ in range(10):
        with p.step():
            p.hold("buf", p.forward(), 39)
            p.settle()
    return p.r


@case(("BOUNDED", "buf", 39))
def replay_buffer_full():
    p = Mini()
    kept = []
    for _ in range(20):
        with p.step():
            kept.append(p.hold("buf", p.forward(), 39))
            p.settle()
            if len(kept) > 4:
                p.r.release(kept.pop(0))
    return p.r


@case(("TENSOR", "snapshots", 40))
def every_third_step():
    def keep(p, i, y, loss):
        if i % 3 == 0:
            p.hold("snapshots", p.tensor(512), 40)
    return train(keep, steps=24)


@case(("LOST", None, 41), bytes=4096)
def lost_allocation():
    def keep(p, i, y, loss):
        p.at(41)
        p.r.allocate(4096)
    return train(keep)


@case(("HOST", None, 42))
def pinned_host_memory():
    def keep(p, i, y, loss):
        p.at(42)
        p.r.allocate(1 << 20, kind="host")
    return train(keep)


@case(("GRAPH", "x", 43))
def sampling_chain_inside_one_call():
    """One outer step, a nested one for each time step."""
    p = Mini()
    value = None
    p.r.step_begin("sample")
    for _ in range(10):
        with p.step():
            value = p.op("SubBackward0", [value, p.forward()], 4096, 0, 43)
            p.assign("x", value, 43)
            p.settle()
    p.r.step_end()
    return p.r


@case(("SKELETON", "avg.sum", 44))
def clone_is_no_detach():
    def keep(p, i, y, loss):
        copy = p.op("CloneBackward0", [loss], 512, 0, 44)
        sum_of(p, "avg.sum", copy, 44)
        p.forget(copy)
    return train(keep)


@case(None)
def first_optimizer_step():
    return train()


@case(None)
def best_loss_so_far():
    """One old graph is kept, now and then another one."""
    return train(lambda p, i, y, loss: p.assign("best", loss, 45) if i in (0, 3, 7) else None)


@case(None)
def accumulated_gradients():
    """The sum of four losses is one backward's business."""
    p = Mini()
    for i in range(18):
        with p.step():
            p.input()
            y = p.forward()
            loss = p.loss(y)
            sum_of(p, "total", loss, 46)
            p.forget(loss)
            p.settle()
            if i % 4 == 3:
                total = p.variables["total"]
                p.backward(total)
                p.drop("total")
    return p.r


@case(None)
def cache_by_shape():
    shapes = {}

    def keep(p, i, y, loss):
        key = (i * 7) % 5
        if key not in shapes:
            shapes[key] = p.hold("cache", p.tensor(1000 * (key + 1)), 47)
    return train(keep, steps=24)


@case(None)
def loss_in_a_progress_bar():
    return train(lambda p, i, y, loss: p.assign("postfix", loss, 48))


@case(None)
def previous_loss():
    def keep(p, i, y, loss):
        if "current" in p.variables:
            p.r.release(p.variables.pop("previous", None))
            p.variables["previous"] = p.variables.pop("current")
        p.assign("current", loss, 49)
    return train(keep)
