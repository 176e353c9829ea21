"""Evaluates the branches of a condition that is unknown: each by itself, and what they leave different is unknown afterwards.

A branch that ends the function, or the turn of a loop, leaves its state to what follows that: it is a way out, joined there.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from cfglint.evaluate import Reason
from cfglint.launch.programs.changes import Writes
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.expressions import Expressions
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import ABSENT, COUNT, ITEMS, OPEN, Frame, SharedChanged, Slots, Value, condition, one_of, same, unknown
from cfglint.launch.programs.scopes import FUNCTIONS, dotted
from cfglint.source.annotations import Any, Callable
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.python.nodes import children, walk

LEFT, LOOP_LEFT = -1, -2  # in the place of a branch: another one has ended the function or the program, or the turn of a loop
SPOILT = Reason("branch", "a condition or a loop")
CHANGES_PER_STEP = 50  # of the journal that are read again
EXITS = ("sys.exit", "exit", "quit", "os._exit")
REPORTS = frozenset(("debug", "info", "warning", "warn", "error", "critical", "exception", "log", "echo", "secho", "print", "write"))
MOST_FUNCTIONS = 1024  # of which is known whether they are generators
MOST_CONDITIONS = 1024  # of which is known what their sides set
IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")


class Signal(Exception):
    """A statement that ends a block."""


class Return(Signal):
    def __init__(self, value: Value) -> None:
        self.value = value


class Left(Signal):
    """Every branch of a condition has ended the function, or the turn of a loop; `side` stands in the conditions of what follows."""

    def __init__(self, side: int) -> None:
        self.side = side


class Break(Signal):
    """A `break`."""


class Continue(Signal):
    """A `continue`."""


class End(Signal):
    """An exception, or the end of the program."""


class Quit(End):
    """The end of the program that is no failure."""


class WayOut:
    """A branch of an unknown condition that has ended a function or the turn of a loop, as `kind` says.

    The state that it leaves is the one at `mark` in the journal with `writes`, its own changes; objects `born` later are none of it.
    """

    __slots__ = ("born", "kind", "mark", "writes")

    def __init__(self, kind: type[Signal], mark: int, writes: Writes) -> None:
        self.kind, self.mark, self.writes = kind, mark, writes
        self.born = next(COUNT)


QUIET = (Return, Left, Break, Continue, Quit)  # ends that are no failure


class Branches(Expressions):
    """The evaluation of branches; `Interpreter` adds statements."""

    def __init__(self, modules: Modules, budget: Budget, context: Context) -> None:
        super().__init__(modules, budget, context)
        self.conditions: list[tuple[ast.AST, int]] = []
        self.ways_out: list[WayOut] = []  # of the functions and loops that are being evaluated

    def _attempt(self, way: Callable[[], None]) -> tuple[Signal | None, Writes]:
        """Evaluate something, and undo what it changes: (the signal that ended it, its changes)."""
        mark, start, first = len(self.journal), next(COUNT), len(self.ways_out)
        leaves: Signal | None = None
        try:
            way()
        except Signal as signal:
            leaves = signal
        except (Exhausted, SharedChanged):
            self.undo(mark, start)
            raise
        for way_out in self.ways_out[first:]:
            state = self._state(way_out)
            earlier: Writes = {}
            for slots, key, _ in self.journal[mark : way_out.mark]:
                if slots.born < start:
                    earlier[id(slots), key] = state.get((id(slots), key), (slots, key, slots.get(key, ABSENT)))
            way_out.mark, way_out.writes = mark, {**earlier, **way_out.writes}  # told from the mark to which changes are undone
        return leaves, self.undo(mark, start)

    def branch(self, node: ast.AST, ways: list[Callable[[], None]], frame: Frame) -> None:
        """Evaluate the branches of an unknown condition, each by itself, and join what they leave."""
        ended: list[Signal] = []
        through: list[Writes] = []
        went_on = 0
        behind: list[tuple[ast.AST, int]] = []  # the conditions of what follows: some branch has left the function or the loop
        for side, way in enumerate(ways):
            before = len(self.conditions)
            if side or not isinstance(node, ast.Try):  # the body of a `try` is no alternative
                self.conditions.append((node, side))
            try:
                leaves, writes = self._attempt(way)
            finally:
                inside = self.conditions[before:]
                del self.conditions[before:]
            if leaves is None:
                through.append(writes)
                went_on = side
                behind += [each for each in inside if each[1] < 0]
                continue
            ended.append(leaves)
            if not isinstance(leaves, (End, Left)):
                self._way_out(leaves, writes, frame)
        sides = [side_of(signal) for signal in ended if isinstance(signal, QUIET)]
        if not through:
            raise End if all(isinstance(signal, End) for signal in ended) else Left(LEFT if LEFT in sides else LOOP_LEFT)
        self.join(through, condition(node, frame.module))
        gives_up = isinstance(node, ast.If) and any(len(body) > 1 and reports_and_leaves(body) for body in (node.body, node.orelse))
        if not isinstance(node, ast.Try) and not gives_up:  # what a handler ends has failed
            behind += [(node, side) for side in sides]
            if LEFT in sides and len(through) == 1:  # what follows is the other branch
                behind.append((node, went_on))
        self.conditions += behind

    def changed_since(self, mark: int) -> Writes:
        """What was changed since a mark, each with a content that it had: none, if there was none at one time."""
        found: Writes = {}
        for slots, key, before in self.journal[mark:]:
            if before is ABSENT or (id(slots), key) not in found:
                found[id(slots), key] = (slots, key, before if key in slots else ABSENT)
        return found

    def join(self, ways: list[Writes], reason: Reason = SPOILT) -> None:
        places = {place: (slots, key) for way in ways for place, (slots, key, _) in way.items()}
        for place, (slots, key) in places.items():
            current = slots.get(key, ABSENT)
            contents = [way[place][2] if place in way else current for way in ways]
            if all(same(contents[0], other) for other in contents[1:]):
                if contents[0] is ABSENT:
                    self.remove(slots, key)
                else:
                    self.write(slots, key, contents[0])
            else:
                self._spoil_one(slots, key, contents, reason)

    def _spoil(self, *ways: Writes) -> None:
        for slots, key, content in (each for writes in ways for each in writes.values()):
            self._spoil_one(slots, key, [content, slots.get(key, ABSENT)])

    def _spoil_one(self, slots: Slots, key: object, contents: list[Any], reason: Reason = SPOILT) -> None:
        """Make a part of an object unknown, which has one of several contents."""
        if key is OPEN:
            self.write(slots, OPEN, True)
        elif key == ITEMS and isinstance(slots.get(ITEMS, ()), tuple):
            self.write(slots, ITEMS, ())
            self.write(slots, OPEN, True)
        else:
            values = [
                content if isinstance(content, Value) else None for content in contents if content is ABSENT or isinstance(content, Value)
            ]
            self.write(slots, key, one_of(values, reason))

    def alternatives(self, node: ast.AST, made: list[Callable[[], Value]]) -> list[Value]:
        values: list[Value] = []
        ways: list[Writes] = []
        for side, each in enumerate(made):
            self.conditions.append((node, side))
            try:
                leaves, writes = self._attempt(lambda each=each: values.append(each()))  # type: ignore[misc]
            finally:
                self.conditions.pop()
            if leaves is None:
                ways.append(writes)
            else:
                values.append(unknown())
        if ways:
            self.join(ways)
        return values

    # -- ways out

    def _way_out(self, signal: Signal, writes: Writes, frame: Frame) -> None:
        self.ways_out.append(WayOut(type(signal), len(self.journal), writes))
        if isinstance(signal, Return):
            frame.returned.append(signal.value)

    def _taken(self, first: int, *kinds: type[Signal]) -> list[WayOut]:
        way_outs = [way_out for way_out in self.ways_out[first:] if way_out.kind in kinds]
        self.ways_out[first:] = [way_out for way_out in self.ways_out[first:] if way_out.kind not in kinds]
        return way_outs

    def _merge(self, ways: list[WayOut], goes_on: bool, but: Slots | None = None) -> None:
        """Make what branches leave different unknown, for what follows all of them; `goes_on`: the present state is one, too."""
        if not goes_on:
            self.join([self._state(way, but) for way in ways[:1]])
        for way_out in ways if goes_on else ways[1:]:
            self.join([self._state(way_out, but), {}])

    def _state(self, way: WayOut, but: Slots | None = None) -> Writes:
        """What a branch left, where it is not what is there now; without the parts of one object."""
        found: Writes = {}
        changes = self.journal[way.mark :]
        self.budget.spend(len(changes) // CHANGES_PER_STEP)
        for slots, key, before in changes:
            if slots.born < way.born:
                found.setdefault((id(slots), key), (slots, key, before))
        return {place: each for place, each in {**found, **way.writes}.items() if each[0] is not but}


def side_of(signal: Signal | None) -> int:
    """What stands in the conditions of what follows a branch that ended with a signal."""
    if isinstance(signal, Left):
        return signal.side
    return LEFT if isinstance(signal, (Return, Quit)) else LOOP_LEFT


def reports_and_leaves(body: list[ast.stmt]) -> bool:
    """Whether statements write messages, then end the function without a result, or the program."""
    last = body[-1]
    leaves = isinstance(last, ast.Return) and (last.value is None or (isinstance(last.value, ast.Constant) and not last.value.value))
    return (leaves or is_exit(last)) and all(isinstance(node, ast.Expr) and is_report(node.value) for node in body[:-1])


def is_report(node: ast.expr) -> bool:
    """Whether an expression only writes a message: `print(...)`, `logger.error(...)`, `console.print(...)`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Constant)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ".".join(dotted(node.func))
    return name in REPORTS or dotted(node.func) == ["print"]


def is_exit(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ".".join(dotted(node.value.func)) in EXITS


def ends(body: list[ast.stmt]) -> bool:
    """Whether a handler certainly ends the program, or the function with an exception."""
    return isinstance(body[-1], ast.Raise) or is_exit(body[-1])


def is_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for a package that is not installed; packages are taken as installed."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(node, ast.Name) and node.id in IMPORT_ERRORS for node in types)


@lru_cache(MOST_CONDITIONS)
def stores_below(node: ast.If | ast.match_case, side: bool) -> tuple[ast.AST, ...]:
    """The assignments to attributes, and the calls of `setattr`, on one side of a condition."""
    nodes = [inner for line in (node.body if side or isinstance(node, ast.match_case) else node.orelse) for inner in walk(line)]
    calls = [inner for inner in nodes if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "setattr"]
    return (*calls, *(inner for inner in nodes if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)))


@lru_cache(MOST_FUNCTIONS)
def only_counts(node: ast.While) -> bool:
    """Whether a loop does nothing but assign what it computes, as one that halves a batch until it fits."""
    inner = [each for line in node.body for each in walk(line)]
    statements = (each for each in inner if isinstance(each, ast.stmt))
    return not any(isinstance(each, ast.Call) for each in inner) and all(
        isinstance(each, (ast.Assign, ast.AugAssign, ast.If, ast.Pass)) for each in statements
    )


@lru_cache(MOST_FUNCTIONS)
def is_generator(node: ast.AST) -> bool:
    stack = list(getattr(node, "body", [])) if not isinstance(node, ast.Lambda) else []
    while stack:
        each = stack.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(each, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            stack.extend(children(each))
    return False
