# SPDX-License-Identifier: MIT
"""Runs inside the profiled program (see walker.py, which follows it in the same module): what the
program's variables hold. Goes by type(), never by __class__ or __getattr__, so that no code of the
program's runs."""
import gc
import sys
import time
import types

PARAMETER, GRADIENT, OPTIMIZER, INPUT, BUFFER = 1, 2, 3, 4, 6
OBJECTS_MAX = 200000  # looked at in one walk
DEPTH_MAX = 12
LEFT_MAX = 200000     # tracked objects among which tensors that no variable reaches are looked for
LEFT_GROUPS = 8       # lists or dicts in library code that are named in one walk
LEFT_SECONDS = 0.5
OWN = globals()

torch = None
members = {}  # a class with __slots__ -> its member descriptors by name
PLAIN = (str, bytes, int, float, complex, bool, type, type(None), types.ModuleType, types.CodeType,
         types.BuiltinFunctionType, types.FrameType)
REFERENTS = ("_lru_cache_wrapper", "_lru_list_elem", "_HashedSeq", "partial")
LIBRARIES = ("site-packages", "dist-packages", sys.prefix + "/lib/python", "/usr/lib/python",
             "<frozen", "<gradprof>")


def is_a(value, kinds):
    return issubclass(type(value), kinds)


def is_plain(value):
    return is_a(value, PLAIN)


def is_library(path):
    return not path or any(part in path for part in LIBRARIES)


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


def place(variable, function):
    """A variable of a function's: what it holds goes on at the end, as_text() puts it in order."""
    return f"{variable}\0{function}\0"


def as_text(name):
    """history\\0main\\0[3] -> history[3] in main"""
    variable, function, rest = name.split("\0") if "\0" in name else (name, "", "")
    return f"{variable}{rest} in {function}" if function else name


# --- where a walk begins ---

def local_values(frame):
    code = frame.f_code
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.items())
    if not HAVE_LAYOUT or sys.version_info < (3, 11):
        return []
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    names = list(code.co_varnames) + cells + list(code.co_freevars)
    return list(zip(names, locals_of(id(frame), len(names))))


def frame_values(frame):
    if frame.f_globals is not OWN and frame.f_code.co_name != "<module>":
        for key, value in local_values(frame):
            yield place(key, frame.f_code.co_name), value


def traceback_values(trace):
    while trace is not None:
        yield from frame_values(trace.tb_frame)
        trace = trace.tb_next


def class_values(name, module, kind):
    if kind.__module__ == module.__name__:
        for key, value in list(vars(kind).items()):
            if not key.startswith("__") and not is_a(value, types.FunctionType):
                yield f"{name}.{key}", value


def module_values(prefix, module):
    for key, value in list(vars(module).items()):
        if key.startswith("__"):
            continue
        yield prefix + key, value
        if is_a(value, type):
            yield from class_values(prefix + key, module, value)


def roots():
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or (path and not is_library(path)):
            yield from module_values("" if name == "__main__" else name + ".", module)
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield from frame_values(frame)
            frame = frame.f_back
    yield from traceback_values(sys.exc_info()[2])
    yield from traceback_values(getattr(sys, "last_traceback", None))


# --- what an object holds ---

def slot_values(name, value):
    kind = type(value)
    if kind not in members:
        if len(members) > OBJECTS_MAX:
            members.clear()
        members[kind] = {key: item for base in kind.__mro__ for key, item in vars(base).items()
                         if is_a(item, types.MemberDescriptorType)
                         and base.__module__ != "builtins"} if "__slots__" in dir(kind) else {}
    for key, member in members[kind].items():
        try:
            yield f"{name}.{key}", member.__get__(value)
        except AttributeError:  # not set
            continue


def attributes(name, value):
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        found = None
    if type(found) is dict:
        for key, item in list(found.items()):
            yield f"{name}.{key}", item
    yield from slot_values(name, value)


def function_values(name, function):
    code, cells = function.__code__, function.__closure__ or ()
    for variable, cell in zip(code.co_freevars, cells):
        yield place(variable, function.__qualname__), cell
    for i, item in enumerate(function.__defaults__ or ()):
        yield f"{name}.__defaults__[{i}]", item
    for key, item in (function.__kwdefaults__ or {}).items():
        yield f"{name}.__kwdefaults__[{key!r}]", item
    yield from attributes(name, function)


def dict_values(name, value):
    for i, (key, item) in enumerate(list(dict.items(value))):
        plain = is_a(key, (str, int, float, bool))
        yield f"{name}[{key!r}]" if plain else f"{name}[{type(key).__name__}]", item
        if not is_plain(key):
            yield f"{name}.keys()[{i}]", key


def sequence_values(name, value):
    for i, item in enumerate(list(value)):
        yield f"{name}[{i}]", item


def cell_values(name, cell):
    try:
        yield name, cell.cell_contents
    except ValueError:  # empty
        return


def exception_values(name, problem):
    yield from traceback_values(problem.__traceback__)
    yield f"{name}.args", problem.args
    yield f"{name}.__context__", problem.__context__
    yield from attributes(name, problem)


def generator_values(name, generator):
    frame = generator.gi_frame
    if frame is not None and not generator.gi_running:
        for key, value in local_values(frame):
            yield place(key, generator.__qualname__), value


def referents(name, value):
    for i, item in enumerate(gc.get_referents(value)):
        yield f"{name}.cache[{i}]", item


KINDS = (  # the first that fits
    (dict, dict_values),
    ((list, tuple, set, frozenset), sequence_values),
    (types.CellType, cell_values),
    (types.FunctionType, function_values),
    (types.MethodType, lambda name, value: ((name, value.__self__), (name, value.__func__))),
    (BaseException, exception_values),
    (types.TracebackType, lambda name, value: traceback_values(value)),
    (types.GeneratorType, generator_values),
)


def children(name, value):
    for kinds, function in KINDS:
        if is_a(value, kinds):
            yield from function(name, value)
            if type(value).__flags__ & 1 << 9:  # a class of the program's own, in Python
                yield from attributes(name, value)
            return
    kind = type(value)
    if kind.__name__ == "deque" and kind.__module__ == "collections":
        yield from sequence_values(name, value)
    elif kind.__name__ in REFERENTS:
        yield from referents(name, value)
    else:
        yield from attributes(name, value)


class Walk:
    def __init__(self):
        self.seen, self.held, self.roles, self.nodes, self.problems = set(), {}, {}, [], 0

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
        self.roles.setdefault(address_of(grad), (GRADIENT, as_text(name)))

    def optimizer(self, name, optimizer):
        name = as_text(name)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.seen.add(id(parameter))
                self.roles.setdefault(address_of(parameter), (PARAMETER, f"{name} parameter"))
                if parameter.grad is not None:
                    self.gradient(f"{name} gradient", parameter.grad)
        for parameter, values in list(optimizer.state.items()):
            role = self.roles.get(address_of(parameter)) if is_a(parameter, torch.Tensor) else None
            if is_a(values, dict):
                self.optimizer_state(role[1] if role else name, values)

    def optimizer_state(self, owner, values):
        for key, value in list(values.items()):
            if is_a(value, torch.Tensor):
                self.seen.add(id(value))
                self.roles.setdefault(address_of(value), (OPTIMIZER, f"{owner}.{key}"))

    def hold(self, name, tensor):
        self.held.setdefault(as_text(name), (address_of(tensor), node_key(tensor.grad_fn)))
        if tensor.grad_fn is not None:
            self.nodes.append(tensor.grad_fn)

    def tensor(self, name, tensor):
        self.seen.add(id(tensor))
        if is_a(tensor, torch.nn.Parameter):
            self.roles.setdefault(address_of(tensor), (PARAMETER, as_text(name)))
        else:
            self.hold(name, tensor)
        if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
            self.gradient(f"{name}.grad", tensor.grad)

    def visit(self, name, value):
        """Returns whether to go on to what it holds."""
        if is_a(value, torch.Tensor):
            self.tensor(name, value)
            return type(value) is not torch.Tensor  # attributes of a subclass
        if is_a(value, torch.nn.Module):
            self.module(name, value)
        elif is_a(value, torch.optim.Optimizer):
            self.optimizer(name, value)
            return False
        return True

    def begin(self, name, value, kinds):
        try:
            if is_a(value, kinds):
                self.visit(name, value)
        except Exception:  # of the program's own classes
            self.problems += 1

    def run(self, found):
        queue, at = [(name, value, 0) for name, value in found], 0
        for kinds in (torch.nn.Module, torch.optim.Optimizer):  # names of models come first
            for name, value, _ in queue:
                self.begin(name, value, kinds)
        while at < len(queue) and at < OBJECTS_MAX:
            name, value, depth = queue[at]
            at += 1
            if is_plain(value) or id(value) in self.seen:
                continue
            self.seen.add(id(value))
            try:
                if self.visit(name, value) and depth < DEPTH_MAX:
                    queue += [(child, item, depth + 1) for child, item in children(name, value)
                              if not is_plain(item)]
            except Exception:
                self.problems += 1
        return at < len(queue)


# --- tensors that no variable reaches ---

def referrers(values, skipped):
    return [item for item in gc.get_referrers(*values) if id(item) not in skipped
            and not is_a(item, (types.FrameType, types.TracebackType))]


def global_name(namespace, value):
    """The name of `value` among a module's globals, or None."""
    if not is_a(namespace, dict) or "__name__" not in namespace or "__spec__" not in namespace:
        return None
    return next((f"{namespace['__name__']}.{key}" for key, held in list(namespace.items())
                 if held is value), None)


def holder_name(value, skipped):
    """How library code reaches `value`: from a module's global, by who refers to whom. None: by no
    way found; a cycle that was not collected yet, more often than not."""
    path, seen = "", {id(value)} | skipped
    for _ in range(4):
        above = referrers([value], seen)
        seen |= {id(above)}
        for item in above:
            name = global_name(item, value)
            if name:
                return name + path
        if not above:
            return None
        if is_a(above[0], dict):
            path = next((f"[{key!r}]" for key, held in list(above[0].items()) if held is value
                         and is_a(key, (str, int))), "[*]") + path
        elif is_a(above[0], (list, tuple, set)):
            path = "[*]" + path
        value = above[0]
        seen.add(id(value))
    return None


def leftovers(walk):
    """Names for tensors that are alive and that `walk` did not reach."""
    begin, objects = time.monotonic(), gc.get_objects()
    if len(objects) > LEFT_MAX:
        return
    left = [value for value in objects if is_a(value, torch.Tensor) and id(value) not in walk.seen]
    wanted, skipped = {id(value) for value in left}, {id(objects), id(left)}
    if not left:
        return
    holders = referrers(left, skipped)
    skipped.add(id(holders))
    for holder in holders[:LEFT_GROUPS]:
        if time.monotonic() - begin > LEFT_SECONDS:
            break
        name = holder_name(holder, skipped) or f"unreachable {type(holder).__name__}"
        for child, item in children(name, holder):
            if id(item) in wanted:
                wanted.discard(id(item))
                walk.tensor(child, item)
