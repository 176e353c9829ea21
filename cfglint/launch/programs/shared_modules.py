"""What the top levels of modules make, for all programs of a project that import them.

A top level that depends on nothing but the modules that it imports is evaluated for the first of these programs. A program that changes
an object that others share is evaluated again, with modules of its own, and the module of that object is not shared any more.
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Choice, Unknown
from cfglint.launch.programs.context import Watched
from cfglint.launch.programs.interpreter import Import, Interpreter
from cfglint.launch.programs.modules import MOST_KEPT, MOST_MODULES, External, ProgramModule
from cfglint.launch.programs.objects import (
    PLAIN,
    Class,
    Container,
    FilePath,
    Frame,
    Function,
    Instance,
    Mapping,
    Method,
    ModuleObject,
    Opaque,
    Sequence,
    Slots,
    Value,
)
from cfglint.source.budget import Budget
from cfglint.source.record import Record

MOST_OWN = 256  # modules of which is remembered that they are not shared
MOST_VARIANTS = 4  # of one module, whose imports differ
OF_MODULES = ("frames", "entered", "imports", "journal")  # what each evaluation of a module adds to


class SharedModule(Record):
    """An evaluated module: the `frames` that it adds, its own included, those that it `needs`, and the modules that its code names."""

    frames: dict[str, Frame]
    needs: dict[str, Frame]
    named: dict[str, ProgramModule | None]
    imports: list[Import]
    stores: set[ast.AST]
    steps: int
    count: int

    def holds_in(self, run: Interpreter) -> bool:
        modules = run.modules
        budget: Budget | None = run.budget
        while budget is not None:
            if budget.left < self.steps:
                return False
            budget = budget.within
        if any(path in run.frames for path in self.frames) or any(run.frames.get(path) is not frame for path, frame in self.needs.items()):
            return False
        if modules.count != self.count and modules.count + len(self.named) > MOST_MODULES:
            return False
        return all(modules.named(name) is module for name, module in self.named.items())


class SharedModules:
    def __init__(self) -> None:
        self._known: dict[ProgramModule, list[SharedModule]] = {}
        self._size = 0  # characters of these modules
        self._own: dict[ProgramModule, None] = {}  # those whose objects a program has changed

    def frame(self, run: Interpreter, module: ProgramModule) -> Frame:
        known = self._known.get(module, [])
        shared = next((shared_module for shared_module in known if shared_module.holds_in(run)), None)
        if shared is None:
            return self._recorded(run, module) if module not in self._own and len(known) < MOST_VARIANTS else run.evaluated_module(module)
        run.budget.spend(shared.steps)
        run.frames.update(shared.frames)
        run.imports += shared.imports
        run.stores |= shared.stores
        run.entered += shared.needs
        return run.frames[module.path]

    def _recorded(self, run: Interpreter, module: ProgramModule) -> Frame:
        """The names of a module, evaluated, and kept if they depend on nothing else."""
        frames, others = {**run.frames}, state_of(run)
        entered, named, imports, changes = len(run.entered), len(run.modules.asked), len(run.imports), len(run.journal)
        steps, count = run.budget.spent, run.modules.count
        context, stores = run.context, run.stores
        watched = run.context = Watched(context)
        run.stores = set()
        try:
            frame = run.evaluated_module(module)
        finally:
            run.context, added = context, run.stores
            run.stores = stores | added
        outside = (run.environment.slots, run.system.slots)
        if watched.is_asked or state_of(run) != others or any(slots is each for slots, _, _ in run.journal[changes:] for each in outside):
            return frame
        shared = SharedModule(
            {path: each for path, each in run.frames.items() if path not in frames},
            {path: frames[path] for path in run.entered[entered:] if path in frames},
            {name: run.modules.named(name) for name in dict.fromkeys(run.modules.asked[named:])},
            run.imports[imports:],
            added,
            run.budget.spent - steps,
            count,
        )
        if any(each.slots.of is None for each in shared.needs.values()):
            return frame
        seen: dict[int, Slots] = {}
        if all(is_shareable(each, seen) for each in shared.frames.values()):
            for slots in seen.values():
                slots.of = module
            self._size += len(module.text) if module not in self._known else 0
            self._known.setdefault(module, []).append(shared)
            while self._size > MOST_KEPT:
                self._forget(next(iter(self._known)))
        return frame

    def _forget(self, module: ProgramModule) -> None:
        self._size -= len(module.text) if self._known.pop(module, None) is not None else 0

    def leave_out(self, module: ProgramModule) -> None:
        self._own[module] = None
        if len(self._own) > MOST_OWN:
            del self._own[next(iter(self._own))]
        self._forget(module)


SHARED = SharedModules()


def state_of(run: Interpreter) -> dict[str, object]:
    """What an evaluation has recorded, without what each module adds to."""
    every = ((name, value) for name, value in vars(run).items() if name not in OF_MODULES and name not in ("stores", "context"))
    return {name: len(value) if isinstance(value, (list, dict, set)) else id(value) for name, value in every}


def is_shareable(content: object, seen: dict[int, Slots]) -> bool:
    """Whether a content of a module is known by its parts alone; `seen` are the parts that can be changed."""
    if isinstance(content, Value):
        return is_shareable(content.data, seen)
    if isinstance(content, Choice):
        return all(is_shareable(option, seen) for option in content.options)
    if isinstance(content, Container):
        if content.slots.of is not None or id(content.slots) in seen:
            return True
        kinds = (Mapping, Sequence, Instance, Class, Frame)
        if not isinstance(content, kinds) and type(content) is not Opaque:
            return False
        seen[id(content.slots)] = content.slots
        parts = [*content.slots.values()]
        if isinstance(content, Class):
            parts += [*content.line, *around(content.frame)]
        elif isinstance(content, Frame):
            parts += around(content.closure)
        elif isinstance(content, Instance) and content.made_of is not None:
            parts.append(content.made_of)
        return all(is_shareable(part, seen) for part in parts)
    if isinstance(content, Function):
        marks = [value for calls in content.marks.values() for values, named in calls for value in (*values, *named.values())]
        parts = [*content.defaults.values(), *marks, *around(content.frame), content.bound, content.owner]
        return all(is_shareable(part, seen) for part in parts)
    if isinstance(content, (tuple, list)):
        return all(is_shareable(each, seen) for each in content)
    if isinstance(content, Method):
        return is_shareable(content.owner, seen)
    return isinstance(content, (*PLAIN, External, FilePath, Unknown, ModuleObject))


def around(frame: Frame | None) -> list[Frame]:
    return [frame] if frame is not None and frame.closure is not None else []
