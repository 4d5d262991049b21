# SPDX-License-Identifier: MIT
"""Runs inside the profiled program, at safe points only: which variables hold which tensors and
nodes, what the storages are for, and where a step ends. Functions that are not defined here come
from libgradprof/python/host.c. Touches no user hook, runs no unpack hook, starts no collection."""
import sys
import time

PARAMETER, GRADIENT, OPTIMIZER, INPUT, BUFFER = 1, 2, 3, 4, 6
OBJECTS_MAX = 200000  # looked at in one walk
DEPTH_MAX = 12
NODES_MAX = 20000       # of graphs, in search of slot names
FREE_SECONDS = 1.0    # walks may take this long in all, then one hundredth of the run

torch = None
state = {"installed": False, "step_open": False, "optimizer": None, "optimizers": 0, "manual": False, "depth": 0, "root": 0,
         "walk_seconds": 0.0, "start": time.monotonic(), "next_key": 1, "cut": 0}
handles = {}   # name -> (key, storage address, node)
paths = {}     # id of a module -> its place in the outermost one
slots = set()  # (op, offset) that have their name


# --- lines ---

def check_lines():
    """Compares one raw walk with Python's own view of the same stack."""
    frame, own = sys._getframe(), []
    raw = raw_lines()
    while frame is not None:
        code = frame.f_code
        own.append((code.co_qualname, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    # The line of this very frame moved on between the two looks.
    return [r[:2] for r in raw[:1]] == [o[:2] for o in own[:1]] and list(raw[1:]) == own[1:256]


# --- holders ---

def address_of(tensor):
    try:
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return 0
        storage = getattr(torch.Tensor, "untyped_storage", None)
        return storage(tensor).data_ptr() if storage else tensor.storage().data_ptr()
    except Exception:
        return 0


def node_key(grad_fn):
    return 0 if grad_fn is None else node_of(id(grad_fn), sys.getsizeof(grad_fn))


def local_values(frame):
    code = frame.f_code
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.items())
    if not HAVE_LAYOUT or sys.version_info < (3, 11):
        return []
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    names = list(code.co_varnames) + cells + list(code.co_freevars)
    return list(zip(names, locals_of(id(frame), len(names))))


def user_modules():
    skipped = ("site-packages", "dist-packages", sys.prefix + "/lib/python", "/usr/lib/python")
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or (path and not any(part in path for part in skipped)):
            yield name, module


def roots():
    for name, module in user_modules():
        prefix = "" if name == "__main__" else name + "."
        for key, value in list(vars(module).items()):
            if not key.startswith("__"):
                yield prefix + key, value
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if frame.f_globals is not globals() and frame.f_code.co_name != "<module>":
                for key, value in local_values(frame):
                    yield f"{key} in {frame.f_code.co_name}", value
            frame = frame.f_back


def children(name, value):
    kind = type(value)
    if kind is dict or isinstance(value, dict):
        for key, item in list(dict.items(value)):
            yield f"{name}[{key!r}]" if isinstance(key, (str, int, float, bool)) \
                else f"{name}[{type(key).__name__}]", item
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(list(value)):
            yield f"{name}[{i}]", item
    elif isinstance(value, (set, frozenset)) or kind.__module__ == "collections" \
            and kind.__name__ == "deque":
        for i, item in enumerate(list(value)):
            yield f"{name}[{i}]", item
    elif kind.__name__ == "cell":
        try:
            yield name, value.cell_contents
        except ValueError:
            return
    elif kind.__name__ == "function":
        for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            yield f"{variable} in {value.__qualname__}", cell
    elif kind.__name__ == "method":
        yield name, value.__self__
    else:
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            for key, item in list(attributes.items()):
                yield f"{name}.{key}", item


def is_plain(value):
    return value is None or isinstance(value, (str, bytes, int, float, complex, bool, type)) \
        or type(value).__name__ in ("module", "code", "builtin_function_or_method", "frame")


class Walk:
    def __init__(self):
        self.seen, self.held, self.roles, self.nodes = set(), {}, {}, []

    def module(self, name, module):
        for path, parameter in list(module.named_parameters()):
            self.roles.setdefault(address_of(parameter), (PARAMETER, path))
            self.seen.add(id(parameter))
            grad = parameter.grad
            if grad is not None:
                self.gradient(f"{path}.grad", grad)
        for path, buffer in list(module.named_buffers()):
            if buffer.grad_fn is None:
                self.roles.setdefault(address_of(buffer), (BUFFER, path))
                self.seen.add(id(buffer))

    def gradient(self, name, grad):
        self.seen.add(id(grad))
        if grad.grad_fn is not None:
            self.hold(name, grad)
        self.roles.setdefault(address_of(grad), (GRADIENT, name))

    def optimizer(self, name, optimizer):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.seen.add(id(parameter))
                self.roles.setdefault(address_of(parameter), (PARAMETER, f"{name} parameter"))
                if parameter.grad is not None:
                    self.gradient(f"{name} gradient", parameter.grad)
        for parameter, values in list(optimizer.state.items()):
            role = self.roles.get(address_of(parameter)) if isinstance(parameter, torch.Tensor) \
                else None
            if isinstance(values, dict):
                for key, value in list(values.items()):
                    if isinstance(value, torch.Tensor):
                        self.seen.add(id(value))
                        owner = role[1] if role else name
                        self.roles.setdefault(address_of(value), (OPTIMIZER, f"{owner}.{key}"))

    def hold(self, name, tensor):
        self.held.setdefault(name, (address_of(tensor), node_key(tensor.grad_fn)))
        if tensor.grad_fn is not None:
            self.nodes.append(tensor.grad_fn)

    def tensor(self, name, tensor):
        if isinstance(tensor, torch.nn.Parameter):
            self.roles.setdefault(address_of(tensor), (PARAMETER, name))
        else:
            self.hold(name, tensor)
        if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
            self.gradient(f"{name}.grad", tensor.grad)

    def run(self):
        queue = [(name, value, 0) for name, value in roots()]
        at = 0
        for kinds in (torch.nn.Module, torch.optim.Optimizer):  # names of models come first
            for name, value, _ in queue:
                if isinstance(value, kinds):
                    (self.module if kinds is torch.nn.Module else self.optimizer)(name, value)
        while at < len(queue) and at < OBJECTS_MAX:
            name, value, depth = queue[at]
            at += 1
            if is_plain(value) or id(value) in self.seen:
                continue
            self.seen.add(id(value))
            if isinstance(value, torch.Tensor):
                self.tensor(name, value)
                continue
            if isinstance(value, torch.nn.Module):
                self.module(name, value)
            elif isinstance(value, torch.optim.Optimizer):
                self.optimizer(name, value)
                continue
            if depth < DEPTH_MAX:
                for child, item in children(name, value):
                    if not is_plain(item):
                        queue.append((child, item, depth + 1))
        state["cut"] += at < len(queue)


def tell(walk):
    for address, (role, name) in walk.roles.items():
        if address:
            set_role(address, role, name)
    for name, (key, address, node) in list(handles.items()):
        if walk.held.get(name) != (address, node):
            end_handle(key)
            del handles[name]
    for name, (address, node) in walk.held.items():
        if name not in handles and (address or node):
            key = state["next_key"]
            state["next_key"] += 1
            add_handle(key, name, address, node)
            handles[name] = (key, address, node)


def filled_slots(node, names):
    """(offset, name) of the slots of one node; asks for the slot, never for the tensor in it."""
    for name in names:
        try:
            slot = getattr(node, "_raw_saved_" + name)
        except Exception:  # released, or never filled
            continue
        offset = slot_offset(id(slot), node_key(node))
        if offset:
            yield offset, name


def learn_slots(nodes):
    """PyTorch's node classes list their saved tensors in the order in which they lie in a node."""
    offsets, seen, queue = {}, set(), list(nodes)
    for op, offset in list_ops():
        if (op, offset) not in slots:
            offsets.setdefault(op, []).append(offset)
    while offsets and queue and len(seen) < NODES_MAX:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        queue += [following for following, _ in node.next_functions]
        kind = type(node)
        if kind.__name__ not in offsets:
            continue
        names = [key[len("_raw_saved_"):] for key in vars(kind) if key.startswith("_raw_saved_")]
        found = sorted(offsets.pop(kind.__name__))
        pairs = zip(found, names) if len(names) == len(found) else filled_slots(node, names)
        for offset, name in pairs:
            slots.add((kind.__name__, offset))
            name_slot(kind.__name__, offset, name)


def look(force=False):
    """A walk, unless walks have cost too much already."""
    if not is_recording():
        return
    begin = time.monotonic()
    allowance = FREE_SECONDS + (begin - state["start"]) / 100
    if not force and state["walk_seconds"] > allowance:
        return
    try:
        with torch.no_grad():
            walk = Walk()
            walk.run()
            tell(walk)
            learn_slots(walk.nodes)
    except Exception as problem:  # the program must not see it
        put_meta("walker_problem", f"{type(problem).__name__}: {problem}"[:200])
    state["walk_seconds"] += time.monotonic() - begin


# --- steps ---

def boundary(open_next=True):
    if state["step_open"] and is_recording():
        look()
        step(0)
        state["step_open"] = False
    if open_next and not state["step_open"]:
        step(1)
        state["step_open"] = True


def manual_step():
    """gradprof.step(), of the module gradprof.py."""
    state["manual"] = True
    boundary()


def before_forward(module, arguments):
    if state["depth"] and id(module) == state["root"]:  # the last one ended in an exception
        while state["depth"]:
            after_forward(module, arguments, None)
    if state["depth"] == 0:
        state["root"] = id(module)
        if id(module) not in paths:
            if len(paths) > OBJECTS_MAX:  # a program that makes modules all the time
                paths.clear()
            for path, part in module.named_modules():
                paths[id(part)] = path or type(module).__name__
        if not state["manual"] and (state["optimizers"] == 0 or not state["step_open"]) \
                and torch.is_grad_enabled():
            boundary()
    state["depth"] += 1
    scope(paths.get(id(module)) or type(module).__name__)


def after_forward(module, arguments, output):
    if state["depth"]:
        state["depth"] -= 1
        scope(None)


def after_optimizer(optimizer, *rest):
    if state["manual"]:
        return
    if state["optimizer"] is None:
        state["optimizer"] = id(optimizer)
    if state["optimizer"] == id(optimizer):
        boundary()


def wrap_step(kind):
    original = kind.step
    if getattr(original, "gradprof", False):
        return

    def step(self, *arguments, **named):
        result = original(self, *arguments, **named)
        after_optimizer(self)
        return result
    step.__name__, step.__qualname__, step.__doc__ = "step", original.__qualname__, original.__doc__
    step.__wrapped__ = original
    step.gradprof = True
    step.hooked = getattr(original, "hooked", None)
    kind.step = step


def watch_optimizers():
    optimizer = sys.modules["torch.optim.optimizer"]
    original = optimizer.Optimizer.__init__

    def __init__(self, *arguments, **named):
        original(self, *arguments, **named)
        state["optimizers"] += 1
        if not hasattr(optimizer, "register_optimizer_step_post_hook"):
            wrap_step(type(self))
    __init__.__wrapped__ = original
    optimizer.Optimizer.__init__ = __init__
    if hasattr(optimizer, "register_optimizer_step_post_hook"):
        optimizer.register_optimizer_step_post_hook(after_optimizer)


# --- life ---

def missing_parts():
    """What a whole recording has and this one lacks, with this build of PyTorch."""
    node, edge, save, release, end, storage, edges = capabilities()
    lacks = {"nodes": save and not node, "edges": node and not (edge and edges),
             "saved tensors": (node or release) and not save,
             "bytes of saved tensors": save and not storage,
             "ends of nodes": release and not end}
    return [name for name, lacking in lacks.items() if lacking]


def at_exit():
    missing = missing_parts()
    if missing:
        say(f"PyTorch {torch.__version__}: not recorded here: {', '.join(missing)}")
    if not is_recording():
        return
    put_meta("pytorch", torch.__version__)
    level = "PyTorch's nodes and variables"
    put_meta("level", level + (f", without {', '.join(missing)}" if missing else ""))
    put_meta("python", sys.version.split()[0])
    look(force=True)
    boundary(open_next=False)
    put_meta("walk_seconds", f"{state['walk_seconds']:.3f}")


def try_install():
    """1: done; 0: torch is still being imported, ask again."""
    global torch
    found = sys.modules.get("torch")
    spec = getattr(found, "__spec__", None)
    needed = ("torch.nn.modules.module", "torch.optim.optimizer", "torch.autograd")
    if found is None or getattr(spec, "_initializing", False) \
            or not all(name in sys.modules for name in needed):
        return 0
    torch = found
    if not HAVE_LAYOUT:
        say("lines of this Python version cannot be read (3.11 and 3.12 can): native stacks instead")
    elif check_lines():
        enable_lines(1)
    else:
        say("the check of Python's frames failed: native stacks instead")
    module = sys.modules["torch.nn.modules.module"]
    module.register_module_forward_pre_hook(before_forward)
    module.register_module_forward_hook(after_forward)
    watch_optimizers()
    sys._gradprof_step = manual_step
    import atexit
    atexit.register(at_exit)
    return 1
