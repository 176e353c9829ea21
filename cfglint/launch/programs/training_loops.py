"""Evaluates the training loops of a program: the objects that libraries make for them (data loaders, optimizers, schedules, engines,
`Accelerator`s and their plugins), what they go through, where gradients are computed, and when an optimizer steps.

Source: accelerate 1.15.0 accelerator.py (prepare, num_processes), deepspeed 0.19.8 deepspeed/__init__.py (initialize), transformers 5.24.0
optimization.py, diffusers 0.36.0 optimization.py.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from cfglint.evaluate import Choice, Reason
from cfglint.launch.accelerate_options import ACCUMULATION_VARIABLE
from cfglint.launch.programs.branches import is_generator
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import Modules, ProgramModule
from cfglint.launch.programs.objects import (
    ACCELERATOR,
    ENGINE,
    LOADER,
    NONE,
    OPTIMIZER,
    PIPELINE,
    PLUGIN,
    SCHEDULE,
    Frame,
    Function,
    Given,
    LoopObject,
    Mapping,
    Method,
    Named,
    Opaque,
    Sequence,
    Value,
    one_of,
    unknown,
)
from cfglint.launch.programs.scopes import dotted
from cfglint.source.annotations import Any, Iterator
from cfglint.source.budget import Budget
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record

Loop = ast.For | ast.AsyncFor | ast.While
RANGES = (["range"], ["trange"])
BACKWARD, STEP, TRAIN_BATCH, PREPARE = "backward", "step", "train_batch", "prepare"
EVENTS = (BACKWARD, STEP, TRAIN_BATCH, PREPARE)
MOST_LOOPS = 256  # of which is known whether they train
ENGINE_CALL = "deepspeed.initialize"
ACCELERATOR_CALLS = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
ACCUMULATE = "accelerate.Accelerator.accumulate"
SIZE = "batch_size"
LOADERS = (
    *("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torch_geometric.loader.DataLoader"),
    *("torchdata.stateful_dataloader.StatefulDataLoader", "torch_geometric.data.DataLoader"),
)
PLUGINS = ("DataLoaderConfiguration", "DeepSpeedPlugin", "GradientAccumulationPlugin")
COUNTED_BY_PLUGINS = ("gradient_accumulation_steps", "num_steps", "split_batches")  # attributes that a program may set afterwards
OPTIMIZER_PACKAGES = (
    *("torch.optim.", "bitsandbytes.optim.", "apex.optimizers.", "deepspeed.ops.", "torch_optimizer.", "colossalai.nn.optimizer."),
    *("transformers.optimization.Ada", "transformers.Ada", "lion_pytorch.", "prodigyopt.", "schedulefree.", "dadaptation.", "muon."),
)
SCHEDULE_PACKAGES = ("torch.optim.lr_scheduler.", "deepspeed.runtime.lr_schedules.")
OF_ACCELERATE = {**dict.fromkeys(PLUGINS, PLUGIN), "DummyOptim": OPTIMIZER, "DummyScheduler": SCHEDULE}  # in any of its modules
SCHEDULES = ("transformers.", "diffusers.")  # packages whose functions `get_*` make schedules
# The parameters that may be given by position, in order.
RATED = ("params", "lr")
WARMED = ("optimizer", "num_warmup_steps", "num_training_steps")
NAMED = ("name", "optimizer", *WARMED[1:])
SIGNATURES = {
    "DataLoader": ("dataset", SIZE),
    "DummyScheduler": ("optimizer", "total_num_steps", "warmup_num_steps"),
    "get_scheduler": NAMED,
    "diffusers.get_scheduler": ("name", "optimizer", "step_rules", *WARMED[1:]),
    "initialize": ("args", "model", "optimizer", "model_parameters", "training_data", "lr_scheduler"),
    "PipelineModule": ("layers", "num_stages", "topology"),
    "PipeModelDataParallelTopology": ("num_pp", "num_mp", "num_dp"),
    "PipeDataParallelTopology": ("num_pp", "num_dp"),
}
SAME = ("prepare_data_loader", "prepare_model", "prepare_optimizer", "prepare_scheduler", "skip_first_batches")
ENGINE_KEYS = ("gradient_accumulation_steps", "train_micro_batch_size_per_gpu", "train_batch_size")  # methods that return a key
TOGETHER = "zip"  # the kind of a sequence of data loaders that a loop goes through at the same time
PIPE_TOPOLOGIES = ("PipeModelDataParallelTopology", "PipeDataParallelTopology")
# Functions outside of the program that go through what they are given.
PASSING = (
    *("builtins.iter", "builtins.enumerate", "itertools.cycle", "itertools.islice", "itertools.chain", "accelerate.skip_first_batches"),
    *("deepspeed.utils.RepeatingLoader", "deepspeed.runtime.dataloader.RepeatingLoader", "rich.progress.track", "builtins.zip"),
    *("accelerate.utils.skip_first_batches", "accelerate.data_loader.skip_first_batches"),
)


class OpenLoop:
    """A loop that is evaluated: the data loaders that each of its turns takes a batch of, and how many conditions are around its body.

    `turns` is the number of its turns if it goes through a range, with the expression that gives it; of a `while` loop that a counter ends,
    the limit.
    """

    def __init__(self, node: Loop, module: ProgramModule, depth: int, loaders: list[LoopObject]) -> None:
        self.node, self.module, self.depth, self.loaders = node, module, depth, loaders
        self.turns: tuple[ast.expr, Value] | None = None


class Place(Record):
    """Where something is done in the loops of a program."""

    node: ast.AST
    module: ProgramModule
    loops: tuple[OpenLoop, ...]
    conditions: tuple[tuple[ast.AST, int], ...]


class Event(Record):
    """A call of `backward`, `step`, `train_batch` or `prepare` with the object whose method it is, and its arguments."""

    name: str
    owner: Value
    place: Place
    arguments: tuple[Value, ...] = ()


class Guard(Record):
    """A condition in a loop that is not known: `turns` is the number in `step % turns == 0`, with its expression, None without one.

    `limit` is the number in `step >= limit`, if that ends the loop, with what it is compared with; `full` that of a counter of batches,
    which may start again at 0.
    """

    node: ast.If
    source: ast.AST
    turns: tuple[ast.expr, Value] | None
    on_rest: bool = False
    limit: tuple[ast.expr, Value] | None = None
    counter: str = ""
    operation: ast.cmpop | None = None
    place: Place | None = None
    full: tuple[str, tuple[ast.expr, Value], bool] | None = None


class TrainingLoops(Interpreter):
    """The evaluation of loops; `ProgramEvaluation` adds what calls do."""

    def __init__(self, modules: Modules, budget: Budget, context: Context) -> None:
        super().__init__(modules, budget, context)
        self.loops: list[OpenLoop] = []
        self.made_accelerators: list[LoopObject] = []  # the `Accelerator`s
        self.accumulated: list[Place] = []  # the blocks of `accumulate()`
        self.events: list[Event] = []
        self.guards_of: dict[ast.AST, Guard] = {}
        self.counted: list[tuple[str, Place]] = []  # the variables that are counted up by one
        self.restarted: list[tuple[str, Place]] = []  # those that are set to 0 in a loop

    def place(self, node: ast.AST, frame: Frame) -> Place:
        return Place(node, frame.module, tuple(self.loops), tuple(self.conditions))

    def _for(self, node: ast.For | ast.AsyncFor, value: Value, frame: Frame) -> None:
        loop = OpenLoop(node, frame.module, len(self.conditions), list(loaders_in(value)))
        loop.turns = self._turns_of(node.iter, frame)
        self.loops.append(loop)
        try:
            of_loaders = any(True for each in self.iterated(value) or () for _ in loaders_in(each))
            if is_training_loop(node) and not of_loaders:  # its turns are many, and alike
                self._unknown_loop(node, frame, node.target)
            else:
                super()._for(node, value, frame)
        finally:
            self.loops.pop()

    def _do_while(self, node: ast.While, frame: Frame) -> None:
        loop = OpenLoop(node, frame.module, len(self.conditions), [])
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt):
            loop.turns = test.comparators[0], self.evaluate(test.comparators[0], frame)
        self.loops.append(loop)
        try:
            super()._do_while(node, frame)
        finally:
            self.loops.pop()

    def _turns_of(self, node: ast.expr, frame: Frame) -> tuple[ast.expr, Value] | None:
        """The number of turns of a loop through a range, at the expression that ends it."""
        found = next((each for each in walk(node) if isinstance(each, ast.Call) and dotted(each.func)[-1:] in RANGES), None)
        if found is None or not 0 < len(found.args) < 3 or any(isinstance(each, ast.Starred) for each in found.args):
            return None
        start, end = ([None, *found.args])[-2:]
        assert end is not None
        stop = self.evaluate(end, frame)
        first = self.evaluate(start, frame) if start is not None else None
        if first is None or first.data == 0:
            return end, stop
        if first.data == 1 and isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add):  # `range(1, turns + 1)`
            return end.left, self.evaluate(end.left, frame)
        return end, self.operated(ast.Sub(), stop, first)

    def _entered(self, node: ast.With | ast.AsyncWith, entered: list[Value], frame: Frame) -> None:
        if not self.trial and any(isinstance(value.data, Opaque) and value.data.name == ACCUMULATE for value in entered):
            self.accumulated.append(self.place(node, frame))

    def _undecided(self, node: ast.If, value: Value, frame: Frame) -> None:
        if not self.loops or self.trial:
            return

        source, is_negated = node.test, isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        named = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        if isinstance(named, (ast.Name, ast.Attribute, ast.Call)) and not value.known and value.node is not None:
            source = value.node  # what the variable was assigned, or the function has returned
        guard = Guard(node, source, None)
        rest = next(rests_in(source), None)
        if rest is not None:
            turns, on_rest = rest
            guard.on_rest = on_rest is not (is_negated and source is not node.test)
            guard.turns = turns, self.evaluate(turns, frame)
        elif isinstance(source, ast.Compare) and len(source.ops) == 1 and isinstance(source.ops[0], (ast.GtE, ast.Eq, ast.Lt, ast.NotEq)):
            number = source.comparators[0]
            guard.full = ast.unparse(source.left), (number, self.evaluate(number, frame)), isinstance(source.ops[0], (ast.Lt, ast.NotEq))
        compared = next(comparisons_in(source), None) if isinstance(node.body[-1], (ast.Break, ast.Return)) else None
        if compared is not None:
            guard.counter, guard.operation = ast.unparse(compared.left), compared.ops[0]
            guard.limit = compared.comparators[0], self.evaluate(compared.comparators[0], frame)
            guard.place = self.place(node, frame)
        self.guards_of[node] = guard

    def _do_augassign(self, node: ast.AugAssign, frame: Frame) -> None:
        is_one = isinstance(node.op, ast.Add) and isinstance(node.value, ast.Constant) and node.value.value == 1
        if is_one and self.loops and not self.trial:
            self.counted.append((ast.unparse(node.target), self.place(node, frame)))
        super()._do_augassign(node, frame)

    def _do_assign(self, node: ast.Assign, frame: Frame) -> None:
        if self.loops and not self.trial and isinstance(node.value, ast.Constant) and node.value.value == 0:
            self.restarted += [(ast.unparse(target), self.place(node, frame)) for target in node.targets]
        super()._do_assign(node, frame)

    def run_function(self, function: Function, given: Given, named: Named) -> Value:
        if is_generator(function.node):
            values = [value for value in (*given, *named.values()) if any(True for _ in loaders_in(value))]
            if len(values) == 1:
                return values[0]
        return super().run_function(function, given, named)

    def take(self, value: Value) -> None:
        if self.loops and not self.trial:
            self.loops[-1].loaders.extend(loaders_in(value))

    def note(self, node: ast.Call, function: Value, given: Given, named: Named, frame: Frame) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in EVENTS or self.trial or isinstance(function.data, Function):
            return
        owner = function  # the object whose method is called
        if isinstance(function.data, Method):
            owner = function.data.owner
        elif isinstance(function.data, Choice):
            owner = one_of([value.data.owner for value in function.objects if isinstance(value.data, Method)], *function.reasons)
        if name == STEP and isinstance(owner.data, Opaque) and owner.data.name.endswith("GradScaler") and given:
            owner = given[0]
        if name == TRAIN_BATCH:
            for value in (*given, *named.values()):
                self.take(value)
        if not (isinstance(owner.data, LoopObject) and owner.data.kind == SCHEDULE):
            self.events.append(Event(name, owner, self.place(node, frame), (*given, *named.values())))


@lru_cache(MOST_LOOPS)
def is_training_loop(node: ast.For | ast.AsyncFor) -> bool:
    calls = (each.func for line in node.body for each in walk(line) if isinstance(each, ast.Call))
    return any(isinstance(call, ast.Attribute) and call.attr in (BACKWARD, TRAIN_BATCH) for call in calls)


def rests_in(test: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The numbers of turns in a condition, each with whether it holds on the others: `step % turns == 0`, `step % turns`."""
    for node in walk(test):
        if isinstance(node, ast.Compare) and is_rest(node.left) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            yield node.left.right, isinstance(node.ops[0], ast.NotEq)  # type: ignore[attr-defined]
    if is_rest(test):
        yield test.right, True  # type: ignore[attr-defined]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and is_rest(test.operand):
        yield test.operand.right, False  # type: ignore[attr-defined]


def is_rest(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def comparisons_in(test: ast.AST) -> Iterator[ast.Compare]:
    """The comparisons of a counter with a limit that end a loop by themselves: `step >= limit`, `a or step >= limit`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for value in test.values:
            yield from comparisons_in(value)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.GtE, ast.Gt, ast.Eq)):
        yield test


def kind_of(name: str) -> str:
    last = name.rpartition(".")[2]
    if name == ENGINE_CALL:
        return ENGINE
    if name in ACCELERATOR_CALLS:
        return ACCELERATOR
    if name in LOADERS:
        return LOADER
    if name.startswith("accelerate.") and last in OF_ACCELERATE:
        return OF_ACCELERATE[last]
    is_function = last == "get_scheduler" or (last.startswith("get_") and "_schedule" in last)
    if name.startswith(SCHEDULE_PACKAGES) or (name.startswith(SCHEDULES) and is_function):
        return SCHEDULE if last[:1].isupper() or last.startswith("get_") else ""
    if name.startswith(OPTIMIZER_PACKAGES) and last[:1].isupper() and last != "Optimizer":
        return OPTIMIZER
    return PIPELINE if name.startswith("deepspeed.") and last in ("PipelineModule", *PIPE_TOPOLOGIES) else ""


def parameters_of(name: str, kind: str) -> tuple[str, ...]:
    last = name.rpartition(".")[2]
    if last == "get_scheduler" and name.startswith("diffusers."):
        return SIGNATURES["diffusers.get_scheduler"]
    if last in SIGNATURES:
        return SIGNATURES[last]
    return RATED if kind == OPTIMIZER else WARMED if kind == SCHEDULE and last.startswith("get_") else ()


def counted(gpus: int | None) -> Value:
    """The number of processes or GPUs of a launch, as a value."""
    return Value(gpus) if gpus is not None else unknown(Reason("machine", "the number of GPUs"))


def made(name: str, kind: str, call: Any, named: Named, context: Context) -> Value:
    loop_object = LoopObject(name, kind, call)
    if call is not None:
        call.results.append(loop_object)
    if kind == ACCELERATOR:
        outside = context.variable(ACCUMULATION_VARIABLE)
        steps = Value(int(outside)) if outside is not None and outside.isdigit() else named.get("gradient_accumulation_steps", Value(1))
        processes = counted(context.gpus)
        precision = named.get("mixed_precision", NONE)
        loop_object.initial = {"num_processes": processes, "gradient_accumulation_steps": steps, "mixed_precision": precision}
    if kind == LOADER and SIZE in named:
        loop_object.initial = {SIZE: named[SIZE]}
    if kind == PLUGIN:
        loop_object.initial = {name: named.get(name, unknown()) for name in COUNTED_BY_PLUGINS}
    if kind != ENGINE:
        return Value(loop_object)
    data = LoopObject(f"{name}.loader", LOADER, None) if "training_data" in named else Opaque(f"{name}.loader")
    parts = (loop_object, Opaque(f"{name}.optimizer"), data, Opaque(f"{name}.lr_scheduler"))
    return Value(Sequence([Value(part) for part in parts], "tuple"))


def method(data: LoopObject, name: str, given: Given) -> Value:
    if data.kind == ENGINE and name in ENGINE_KEYS and data.made is not None:
        config = data.made.engine_config
        slot = config.data.slots.get(name) if config is not None and isinstance(config.data, Mapping) else None
        return slot if isinstance(slot, Value) else unknown(Reason("program", "what DeepSpeed computes"))
    if data.kind != ACCELERATOR:
        return unknown(Reason("program", f"`{name}()`", "it is outside of the program"))
    for value in given if name in ("prepare", "prepare_scheduler") else ():
        if isinstance(value.data, LoopObject) and value.data.made is not None:
            value.data.made.is_prepared = True
    if name == "prepare" and given:
        return given[0] if len(given) == 1 else Value(Sequence(given, "tuple"))
    if name == "accumulate":
        return Value(Opaque(ACCUMULATE))
    return given[0] if name in SAME and given else unknown(Reason("program", f"`{name}()`", "it is outside of the program"))


def loaders_in(value: Value) -> Iterator[LoopObject]:
    if isinstance(value.data, LoopObject):
        yield from (value.data,) if value.data.kind == LOADER else ()
    elif isinstance(value.data, Choice):
        for each in value.objects:
            yield from loaders_in(each)
    elif isinstance(value.data, Sequence) and value.data.kind == TOGETHER:
        for item in value.data.items:
            yield from loaders_in(item)


def passed_on(name: str, given: Given) -> Value | None:
    if name not in PASSING:
        return None
    values = [value for value in given if any(True for _ in loaders_in(value))]
    if not values:
        return None
    return values[0] if len(values) == 1 else Value(Sequence(values, TOGETHER, is_open=True))
