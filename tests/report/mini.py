# SPDX-License-Identifier: MIT
"""A training program in miniature, on top of the recorder: tensors, a small network, backward, an
optimiser. Lines are those of an imaginary source file, one for each statement of the loop."""

from recorder import Recorder

SOURCE = "train.py"


class Tensor:
    def __init__(self, storage, node=None):
        self.storage, self.node = storage, node


class Mini:
    def __init__(self, activation=1 << 20, output=64 << 10, batch=256 << 10, layers=4,
                 capacity=80 << 30):
        self.r = Recorder(capacity=capacity)
        self.activation, self.output, self.batch, self.layers = activation, output, batch, layers
        self.variables = {}
        self.parameters = []
        self.at(1)
        for i in range(layers):
            storage = self.r.allocate(4 << 20, "parameter", f"layer{i}.weight")
            self.parameters.append(storage)
            self.r.handle(storage, None, f"layer{i}.weight")

    def at(self, line, function="train"):
        self.r.stack = ((function, SOURCE, line, "./train"),)

    # --- tensors ---

    def tensor(self, size, role=None, node=None):
        return Tensor(self.r.allocate(size, role), node)

    def hold(self, name, tensor, line):
        """A new handle on the tensor under that name."""
        self.at(line)
        return self.r.handle(tensor.storage, tensor.node, name)

    def assign(self, name, tensor, line):
        """name = tensor: the old value goes after the new one is there."""
        handle = self.hold(name, tensor, line) if tensor else None
        self.r.release(self.variables.pop(name, None))
        if handle:
            self.variables[name] = handle
        return tensor

    def drop(self, name):
        self.r.release(self.variables.pop(name, None))

    def forget(self, tensor):
        """A result that was never held: its storage and node go unless something keeps them."""
        self.r.release(self.r.handle(tensor.storage, tensor.node, None))

    def op(self, name, inputs, size, saves=0, line=0):
        """Result of an operation whose node saves `saves` bytes."""
        self.at(line)
        self.r.scope_path = [("op", name)]
        node = self.r.node(name, [t.node for t in inputs if t is not None and t.node])
        result = Tensor(self.r.allocate(size), node)
        if saves:
            self.r.save(node, "result", self.r.allocate(saves))
        self.r.scope_path = []
        return result

    # --- the network ---

    def input(self, line=8, size=None):
        return self.assign("x", self.tensor(size or self.batch, "input"), line)

    def forward(self, line=9, extra=(), scale=1.0, name="ReluBackward0"):
        value, temporary = None, None
        for i in range(self.layers):
            inputs = [value, *(extra if i == 0 else ())]
            new = self.op(name if i else "LinearBackward0", inputs, int(self.output * scale) or 512,
                          int(self.activation * scale) or 512, line)
            holder = self.r.handle(new.storage, new.node, None)
            self.r.release(temporary)
            value, temporary = new, holder
        self.floating = temporary
        return value

    def settle(self):
        """The last forward's own reference goes: what is held by name stays."""
        self.r.release(self.floating)
        self.floating = None

    def loss(self, value, line=10):
        result = self.op("MeanBackward0", [value], 512, 0, line)
        return result

    def nodes_below(self, node):
        seen, work = [], [node]
        known = set()
        while work:
            n = work.pop()
            if id(n) in known:
                continue
            known.add(id(n))
            seen.append(n)
            work += n.inputs + [s for _, _, s in n.saved if s]
        return seen

    def backward(self, tensor, retain=False):
        for node in self.nodes_below(tensor.node):
            node.row[7] = self.r.tick()
            if retain:
                continue
            for row, storage, source in node.saved:
                row[6] = self.r.tick()
                self.r.drop_storage(storage)
                if source:
                    self.r.drop_node(source)
            node.saved.clear()

    def adam(self, line=12):
        """Two states a parameter, made in the first step."""
        if "adam" in self.variables:
            return
        self.at(line)
        for parameter in self.parameters * 2:
            storage = self.r.allocate(parameter.size, "optimizer", "exp_avg")
            self.r.handle(storage, None, "exp_avg")
        self.variables["adam"] = self.r.handle(None, None, "step")

    def step(self):
        return Step(self.r)


class Step:
    def __init__(self, recorder):
        self.r = recorder

    def __enter__(self):
        self.r.step_begin()

    def __exit__(self, *_):
        self.r.step_end()
