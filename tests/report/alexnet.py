# SPDX-License-Identifier: MIT
"""The article's AlexNet programs as events: which storages exist, who saves them, when they go.
Shapes and slots are those of the published run (torchvision's AlexNet, float32)."""

from recorder import Refused

SAMPLE = "./sample_accumulate"
MAIN = "tests/report/source/accumulate.c"
ENGINE = "engine/ops.c"
LINE_NET, LINE_SCALAR, LINE_X, LINE_Y, LINE_SUM = 5, 6, 8, 9, 10

# (module, in channels, out channels, kernel, spatial size of the output, followed by a pool of size)
CONVOLUTIONS = [("features.0", 3, 64, 11, 55, 27), ("features.3", 64, 192, 5, 27, 13),
                ("features.6", 192, 384, 3, 13, None), ("features.8", 384, 256, 3, 13, None),
                ("features.10", 256, 256, 3, 13, 6)]
# (dropout module, linear module, inputs, outputs, relu)
LINEARS = [("classifier.0", "classifier.1", 9216, 4096, True),
           ("classifier.3", "classifier.4", 4096, 4096, True),
           (None, "classifier.6", 4096, 1000, False)]


class AlexNet:
    def __init__(self, recorder, batch):
        self.r, self.batch = recorder, batch
        self.parameters = {}
        self.accumulators = {}
        self.at(LINE_NET)
        for name, c_in, c_out, kernel, _, _ in CONVOLUTIONS:
            self.parameter(f"{name}.weight", 4 * c_out * c_in * kernel * kernel)
            self.parameter(f"{name}.bias", 4 * c_out)
        for _, name, n_in, n_out, _ in LINEARS:
            self.parameter(f"{name}.weight", 4 * n_out * n_in)
            self.parameter(f"{name}.bias", 4 * n_out)

    def at(self, line, *inner):
        """The stack: main at `line`, with engine functions inside it."""
        frames = [("main", MAIN, line, SAMPLE)]
        for function in inner:
            frames.insert(0, (function, ENGINE, 100, SAMPLE))
        self.r.stack = (("gradprof_record", None, None, "/usr/lib/libgradprof.so"), *frames)

    def parameter(self, name, size):
        storage = self.r.allocate(size, "parameter", name)
        self.parameters[name] = self.r.handle(storage, None, name)

    def accumulator(self, name):
        """One AccumulateGrad node a parameter, alive as long as any graph holds it."""
        node = self.accumulators.get(name)
        if node is None or node.refs == 0:
            node = self.accumulators[name] = self.r.node("AccumulateGrad")
        return node

    def op(self, module, op, size, inputs, storage=None):
        """Allocates the output (unless in place) and makes the node; returns a handle."""
        self.r.scope_path = ([("module", module)] if module else []) + [("op", op)]
        if storage is None:
            self.r.scope_path.append(("tensor", "output"))
            storage = self.r.allocate(size)
            self.r.scope_path.pop()
        node = self.r.node(op, inputs)
        return self.r.handle(storage, node)

    def extra(self, handle, slot, size):
        """A tensor made for the backward alone: indices, mask."""
        self.r.scope_path.append(("tensor", slot))
        storage = self.r.allocate(size)
        self.r.scope_path.pop()
        self.r.save(handle.node, slot, storage)

    def relu(self, module, value):
        result = self.op(module, "ReluBackward0", 0, [value.node], value.storage)
        self.r.save(result.node, "result", value.storage)
        self.r.release(value)
        return result

    def convolution(self, value, name, c_out, size):
        weight = self.parameters[f"{name}.weight"].storage
        result = self.op(name, "ConvolutionBackward0", 4 * self.batch * c_out * size * size,
                         [value.node, self.accumulator(f"{name}.weight"),
                          self.accumulator(f"{name}.bias")])
        self.r.save(result.node, "input", value.storage, value.node)
        self.r.save(result.node, "weight", weight)
        return result

    def pool(self, value, module, channels, size):
        count = self.batch * channels * size * size
        result = self.op(module, "MaxPool2DWithIndicesBackward0", 4 * count, [value.node])
        self.r.save(result.node, "self", value.storage, value.node)
        self.extra(result, "result1", 8 * count)
        self.r.release(value)
        return result

    def dropout(self, value, module, n):
        result = self.op(module, "NativeDropoutBackward0", 4 * self.batch * n, [value.node])
        self.extra(result, "result1", self.batch * n)
        self.r.release(value)
        return result

    def linear(self, value, name, n_out):
        weight = self.parameters[f"{name}.weight"].storage
        turned = self.op(name, "TBackward0", 0, [self.accumulator(f"{name}.weight")], weight)
        result = self.op(name, "AddmmBackward0", 4 * self.batch * n_out,
                         [self.accumulator(f"{name}.bias"), value.node, turned.node])
        self.r.save(result.node, "mat1", value.storage, value.node)
        self.r.save(result.node, "mat2", weight, turned.node)
        self.r.release(turned)
        self.r.release(value)
        return result

    def forward(self, x):
        value = x
        try:
            for name, _, c_out, _, size, pooled in CONVOLUTIONS:
                self.at(LINE_Y, "ag_alexnet_forward", "ag_conv2d")
                number = int(name.split(".")[1])
                result = self.convolution(value, name, c_out, size)
                if value is not x:
                    self.r.release(value)
                value = self.relu(f"features.{number + 1}", result)
                if pooled:
                    value = self.pool(value, f"features.{number + 2}", c_out, pooled)
            value = self.classify(value)
        finally:
            self.r.scope_path = []
        return value

    def classify(self, value):
        before = value
        value = self.op("avgpool", "AdaptiveAvgPool2DBackward0", before.storage.size,
                        [before.node])
        self.r.save(value.node, "self", before.storage, before.node)
        self.r.release(before)
        flat = self.op(None, "ViewBackward0", 0, [value.node], value.storage)
        self.r.release(value)
        value = flat
        for dropout, name, n_in, n_out, relu in LINEARS:
            if dropout:
                value = self.dropout(value, dropout, n_in)
            value = self.linear(value, name, n_out)
            if relu:
                value = self.relu(f"classifier.{int(name.split('.')[1]) + 1}", value)
        return value


class Accumulate:
    """sample_accumulate: y_sum = y_sum + y, with or without detach."""

    def __init__(self, recorder, batch=1024, detach=False, steps=True):
        self.r, self.detach, self.steps = recorder, detach, steps
        self.net = AlexNet(recorder, batch)
        self.x_bytes = batch * 3 * 224 * 224 * 4
        self.x = self.y = None
        self.net.at(LINE_SCALAR)
        self.y_sum = recorder.handle(None, None, "y_sum")

    def assign(self, variable, value):
        self.r.name(value, variable)
        old = getattr(self, variable)
        setattr(self, variable, value)
        self.r.release(old)

    def iteration(self):
        r, net = self.r, self.net
        if self.steps:
            r.step_begin()
        net.at(LINE_X, "ag_randn")
        x = r.handle(r.allocate(self.x_bytes, "input", "x"))
        net.at(LINE_X)
        self.assign("x", x)
        y = net.forward(self.x)
        net.at(LINE_Y)
        self.assign("y", y)
        net.at(LINE_SUM, "ag_add")
        self.assign_sum()
        r.release(self.y)
        self.y = None
        if self.steps:
            r.step_end()

    def assign_sum(self):
        r = self.r
        r.scope_path = [("op", "AddBackward0"), ("tensor", "output")]
        storage = r.allocate(self.y.storage.size)
        r.scope_path = [("op", "AddBackward0")]
        node = None if self.detach else r.node("AddBackward0", [self.y_sum.node, self.y.node])
        total = r.handle(storage, node)
        r.scope_path = []
        self.net.at(LINE_SUM)
        self.assign("y_sum", total)

    def run(self, iterations):
        """False: the device was full."""
        try:
            for _ in range(iterations):
                self.iteration()
        except Refused:
            return False
        return True

    def finish(self):
        for handle in (self.y, self.y_sum, self.x, *self.net.parameters.values()):
            self.r.release(handle)
