# SPDX-License-Identifier: MIT
"""Runs inside the profiled program, at safe points only: which variables hold which tensors and
nodes, what the storages are for, and where a step ends. Functions that are not defined here come
from holders.py and libgradprof/python/calls.c. Touches no user hook, runs no unpack hook, starts no
collection."""
import atexit

NODES_MAX = 20000     # of graphs, in search of slot names
FREE_SECONDS = 1.0    # walks may take this long in all, then one hundredth of the run
REFUSALS_MAX = 20     # looked at whatever it costs
AT_REFUSAL, AT_LOOP_END = 1, 2  # since when what a look finds has been there; 0: as of now

state = {"step_open": False, "optimizer": None, "optimizers": 0, "manual": False, "depth": 0,
         "root": 0, "walk_seconds": 0.0, "start": time.monotonic(), "next_key": 1, "cut": 0,
         "refusals": 0, "loop": None, "problems": 0, "looking": False, "inputs": False}
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


# --- telling ---

def tell(walk, late):
    for address, (role, name) in walk.roles.items():
        if address:
            set_role(address, role, name)
    for name, (key, address, node) in list(handles.items()):
        if walk.held.get(name) != (address, node):
            end_handle(key, late if late == AT_LOOP_END and is_alive(address, node) else 0)
            del handles[name]
    for name, (address, node) in walk.held.items():
        if name not in handles and (address or node):
            key = state["next_key"]
            state["next_key"] += 1
            add_handle(key, name, address, node, late)
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


def walk_now(leftover, late):
    with torch.no_grad():
        walk = Walk()
        state["cut"] += walk.run(roots())
        if leftover:
            leftovers(walk)
        tell(walk, late)
        learn_slots(walk.nodes)
        state["problems"] += walk.problems


def look(force=False, late=0):
    """A walk, unless walks have cost too much already."""
    if state["looking"] or not is_recording():
        return
    begin = time.monotonic()
    allowance = FREE_SECONDS + (begin - state["start"]) / 100
    if not force and state["walk_seconds"] > allowance:
        return
    state["looking"] = True
    try:
        walk_now(force, late)
    except Exception as problem:  # the program must not see it
        put_meta("walker_problem", f"{type(problem).__name__}: {problem}"[:200])
    state["looking"] = False
    state["walk_seconds"] += time.monotonic() - begin


# --- refused memory ---

def look_at_refusal(late):
    """From C, at a refusal of an allocator's or (`late`) soon after one."""
    state["refusals"] += 1
    look(force=state["refusals"] <= REFUSALS_MAX, late=late)


def on_cuda_refusal(device, asked, total, free):
    try:
        look_at_refusal(0)
    finally:
        tell_refused()


def watch_cuda():
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer",
                     getattr(torch._C, "_cuda_attachOutOfMemoryObserver", None))
    if attach is not None:
        attach(on_cuda_refusal)
        observe()


# --- steps ---

def user_frames():
    """Of the calling thread, outermost first, without PyTorch's own at its end."""
    frame, found = sys._getframe(1), []
    own = torch.__file__.rpartition("/")[0]
    while frame is not None:
        if frame.f_globals is not OWN and (found or not frame.f_code.co_filename.startswith(own)):
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def watch_loop():
    """Which function runs the loop? The innermost that is still running one step later. When it ends
    the last step is over, though nothing closes it before the process exits."""
    if not HAVE_LAYOUT:
        return
    frames = user_frames()
    if state["loop"] is None or state["loop"] >= len(frames):
        state["loop"] = len(frames) - 1
    elif loop_ended():
        state["loop"] -= 1
    place = state["loop"]
    if 0 < place < len(frames) and frames[place].f_code.co_name != "<module>":
        watch_frame(id(frames[place]), id(frames[place].f_code))


def boundary(open_next=True):
    if state["step_open"] and is_recording():
        look()
        step(0)
        state["step_open"] = False
    if open_next:
        if not state["step_open"]:
            step(1)
            state["step_open"] = True
        watch_loop()


def manual_step():
    """gradprof.step(), of the module gradprof.py."""
    state["manual"] = True
    boundary()


def take_inputs(name, arguments):
    """What the program made and gives to a whole model is its input."""
    for i, value in enumerate(arguments):
        if is_a(value, torch.Tensor) and value.grad_fn is None \
                and not is_a(value, torch.nn.Parameter):
            set_role(address_of(value), INPUT, f"input {i} of {name}")


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
        take_inputs(type(module).__name__, arguments)
    state["depth"] += 1
    scope(paths.get(id(module)) or type(module).__name__)


def after_forward(module, arguments, output):
    if state["depth"]:
        state["depth"] -= 1
        scope(None)
    if not state["inputs"] and state["depth"] == 0 and is_recording():
        state["inputs"] = True  # the recording may have begun inside this very call
        take_inputs(type(module).__name__, arguments)


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


def modes():
    """What the program switched that matters to memory."""
    put_meta("python_gc", "on" if gc.isenabled() else "off")
    if torch.is_anomaly_enabled():
        put_meta("anomaly_mode", "on")


def at_exit():
    missing = missing_parts()
    if missing:
        say(f"PyTorch {torch.__version__}: not recorded here: {', '.join(missing)}")
    if is_recording():
        put_meta("pytorch", torch.__version__)
        level = "PyTorch's nodes and variables"
        put_meta("level", level + (f", without {', '.join(missing)}" if missing else ""))
        put_meta("python", sys.version.split()[0])
        modes()
        look(force=True, late=AT_LOOP_END if loop_ended() else 0)
        if state["step_open"]:
            step(2)
            state["step_open"] = False
        put_meta("walk_seconds", f"{state['walk_seconds']:.3f}")
        if state["problems"]:
            put_meta("objects_not_walked", str(state["problems"]))
    finished()


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
    lazily = getattr(sys.modules.get("torch.cuda"), "_lazy_call", None)
    if lazily is not None:
        lazily(watch_cuda)
    atexit.register(at_exit)
    return 1
