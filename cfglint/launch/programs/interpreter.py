"""Evaluates the statements of a program: its top level, its functions and classes.

A condition that is known decides; `branches` evaluates what one that is unknown leaves open. A loop whose turns are unknown is evaluated
once, with what it changes unknown.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from functools import partial

from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import any_or_all
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs import data_sets
from cfglint.launch.programs.branches import (
    LEFT,
    LOOP_LEFT,
    Branches,
    Break,
    Continue,
    End,
    Left,
    Quit,
    Return,
    Signal,
    WayOut,
    ends,
    is_generator,
    is_import_error,
    only_counts,
    side_of,
    stores_below,
)
from cfglint.launch.programs.changes import Writes
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.expressions import SETTER
from cfglint.launch.programs.modules import FRAMEWORKS, UNSLOTH, External, Modules, ProgramModule, external, imported
from cfglint.launch.programs.objects import (
    ABSENT,
    ITEMS,
    MOST_TURNS,
    NONE,
    OPEN,
    Built,
    Class,
    Frame,
    Function,
    Given,
    Instance,
    Mapping,
    Marks,
    Method,
    ModuleObject,
    Named,
    Opaque,
    OpenFile,
    Sequence,
    Value,
    one_of,
    same,
    slots_of,
    unknown,
)
from cfglint.launch.programs.row_functions import lists_filled, parses_lines
from cfglint.launch.programs.scopes import dotted
from cfglint.source.annotations import Any, Callable, Truth
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record

NOWHERE = ast.Pass()
DEEPEST = 30  # calls within calls
MOST_RECURSIVE = 8  # calls of one function within itself with known arguments, as one that goes through a config does
SCHEDULES = "SchedulerType"  # an Enum of transformers and diffusers, whose members are strings in lower case
CONSTANTS: dict[str, str | bool] = {  # of the standard library
    "sys.executable": "python",
    **dict.fromkeys(("os.pardir", "os.path.pardir"), ".."),
    **dict.fromkeys(("os.curdir", "os.path.curdir"), "."),
    **dict.fromkeys(("os.sep", "os.path.sep"), "/"),
    **dict.fromkeys(("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"), False),
}
STATEMENTS = {
    each: f"_do_{each.__name__.lower()}" for each in ast.stmt.__subclasses__()
}  # the methods that evaluate those with a body or a target
BUILTINS = frozenset(dir(builtins))


class Import(Record):
    """An import of a framework; `is_certain`: the program makes it, and nothing catches what it raises.

    `tests` are the conditions that it, or the import of its module, is made under.
    """

    node: ast.Import | ast.ImportFrom
    module: ProgramModule
    is_certain: bool
    tests: tuple[ast.AST, ...]


class Interpreter(Branches):
    """The evaluation of statements; `ProgramEvaluation` adds what calls do."""

    called: Callable[[Value, Given, Named, ast.AST], Value]
    instance: Callable[[Class, Given, Named, ast.AST], Value]
    _entered: Callable[[ast.With | ast.AsyncWith, list[Value], Frame], None]  # before the body of a `with` statement is evaluated
    _undecided: Callable[[ast.If, Value, Frame], None]  # before the branches of an unknown condition are evaluated
    take: Callable[[Value], None]  # `next()` takes something of a value

    def __init__(self, modules: Modules, budget: Budget, context: Context) -> None:
        super().__init__(modules, budget, context)
        self.frames: dict[str, Frame] = {}  # of the modules, by their paths
        self.entered: list[str] = []  # the modules that are imported again
        self.imports: list[Import] = []  # of packages
        self.guards = 0  # how many `try` statements, and branches that import the module, are around what is evaluated
        self.importing: list[ast.AST] = []  # the conditions under which the module itself is imported
        self.is_complete = False
        self.is_ended = True  # by an exception or an exit, as long as it has not come to its last statement
        self.goes_on = False  # whether an exception that the program raises does not end it
        self.trial = 0  # depth of evaluations that are repeated, in which calls are not recorded
        self.active: list[ast.AST] = []  # the functions that are evaluated at the moment
        self.left_out: set[ast.AST] = set()  # the functions that are not evaluated
        self.costs: dict[ast.AST, int] = {}  # the steps that functions took
        self.costly: ast.AST | None = None  # the innermost function that took most of a budget that is spent
        self.site: tuple[ast.Call, Frame] | None = None  # the call that is evaluated
        self.hydra_folder = NONE
        self.parsers: dict[ast.AST, list[Any]] = {}  # of the launch line, by the calls that make them
        self.filled: list[Any] = []  # the arguments that parsers of classes fill
        self.patched: set[str] = set()  # the classes of packages whose making the program replaces
        self.commands: tuple[str, ...] = ()  # the subcommands of a parser, if the line names none of them

    # -- the call that is evaluated

    def here(self) -> ast.AST:
        return self.site[0] if self.site is not None else NOWHERE

    def post_init(self, made_of: Class | None, made: Value) -> Value:
        """A new object, with what `__post_init__` of the program's own class does to it."""
        after = self.of_class(made_of, "__post_init__", made) if made_of is not None else None
        if after is not None and isinstance(after.data, Function):
            self.run_function(after.data, [], {})
        if isinstance(made.data, Built):
            made.data.initial = dict(made.data.slots)
        return made

    def here_frame(self) -> Frame:
        assert self.site is not None
        return self.site[1]

    # -- modules

    def run_main(self, module: ProgramModule, entry: str = "") -> bool:
        """Evaluate the top level of the program, then its `entry`, a function that a command calls, if it has one; whether to the end."""
        frame = self.frames[module.path] = self._frame(module, module.path if entry else "__main__")
        try:
            with contextlib.suppress(Signal, RecursionError):
                self.block(module.tree.body, frame)
                if entry in frame.slots:
                    self.called(frame.slots[entry], [], {}, module.tree)
                self.is_ended = False
        except Exhausted:
            return False
        self.is_complete = True
        return True

    def _frame(self, module: ProgramModule, name: str) -> Frame:
        frame = Frame(module)
        frame.slots["__name__"], frame.slots["__file__"] = Value(name), Value("\0/" + module.path.removeprefix("./"))
        return frame

    def module_frame(self, module: ProgramModule) -> Frame:
        if module.path in self.frames:
            self.entered.append(module.path)
            return self.frames[module.path]
        return self.evaluated_module(module)

    def evaluated_module(self, module: ProgramModule) -> Frame:
        frame = self.frames[module.path] = self._frame(module, module.path)
        conditions, self.conditions = self.conditions, []
        around, self.importing = self.importing, [*self.importing, *(node for node, _ in conditions)]
        self.guards += bool(conditions)
        try:
            self.block(module.tree.body, frame)
        except Signal:
            pass
        finally:
            self.conditions, self.importing = conditions, around
            self.guards -= bool(conditions)
        return frame

    def of_package(self, name: str) -> Value:
        first = name.partition(".")[0]
        if name == "sys.argv":
            return self.words()
        if name in CONSTANTS:
            return Value(CONSTANTS[name])
        if first in FRAMEWORKS or first == "builtins":
            owner, _, member = name.rpartition(".")
            return Value(member.lower()) if owner.endswith(SCHEDULES) and member.isupper() else Value(External(name))
        module = self.modules.named(name)
        if module is not None:
            return Value(ModuleObject(self.module_frame(module)))
        parent, _, last = name.rpartition(".")
        inside = self.modules.named(parent) if parent else None
        if inside is not None:
            frame = self.module_frame(inside)
            return frame.slots.get(last) or self.global_name(last, frame) or unknown(Reason("program", f"`{name}`", "it is not found"))
        return Value(external(name))

    def global_name(self, name: str, frame: Frame) -> Value | None:
        for star in frame.top.module.stars:
            module = self.modules.named(star) if star.partition(".")[0] not in FRAMEWORKS else None
            if module is not None and module is not frame.top.module:
                slot = self.module_frame(module).slots.get(name)
                if slot is not None:
                    return slot  # type: ignore[no-any-return]
            elif module is None and name[:1].isupper() and star.partition(".")[0] in FRAMEWORKS:
                return Value(External(f"{star}.{name}"))
        return Value(External(f"builtins.{name}")) if name in BUILTINS else None

    # -- statements

    def block(self, body: list[ast.stmt], frame: Frame) -> None:
        for node in body:
            self.budget.spend()
            match node:
                case ast.Expr():
                    self.evaluate(node.value, frame)
                case ast.AnnAssign():
                    if node.value is not None:
                        self.assign(node.target, self.evaluate(node.value, frame), frame)
                case ast.Global():
                    frame.globals.update(node.names)
                case ast.Return():
                    raise Return(self.evaluate(node.value, frame) if node.value is not None else NONE)
                case ast.Break():
                    raise Break
                case ast.Continue():
                    raise Continue
                case ast.Raise():
                    if isinstance(node.exc, ast.Call) and dotted(node.exc.func) == ["SystemExit"]:
                        self.evaluate(node.exc, frame)  # `raise SystemExit(main())`
                    if not self.goes_on:
                        raise End
                case ast.Assert():
                    if self.holds(node.test, frame) is False and not self.goes_on:
                        raise End
                case _:
                    method = getattr(self, STATEMENTS[type(node)], None)
                    if method is not None:
                        method(node, frame)

    def _do_assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.evaluate(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def _do_augassign(self, node: ast.AugAssign, frame: Frame) -> None:
        before = self.evaluate(node.target, frame)
        added = self.evaluate(node.value, frame)
        if isinstance(before.data, Sequence) and isinstance(node.op, ast.Add) and isinstance(added.data, Sequence):
            self.add_all(before, added)
            return
        self.opened_objects(before)
        if isinstance(before.data, Mapping) and isinstance(node.op, ast.BitOr):
            self.update(before.data, added)
            return
        self.assign(node.target, self.operated(node.op, before, added), frame)

    def _do_delete(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in frame.slots:
                self.remove(frame.slots, target.id)
            elif isinstance(target, ast.Attribute):
                owner = self.evaluate(target.value, frame)
                if isinstance(owner.data, Instance) and target.attr in owner.data.slots:
                    self.remove(owner.data.slots, target.attr)
                else:
                    self.opened(owner)
            elif isinstance(target, ast.Subscript):
                owner, key = self.evaluate(target.value, frame), self.evaluate(target.slice, frame)
                if isinstance(owner.data, Mapping) and key.is_plain and key.data in owner.data.slots:
                    self.remove(owner.data.slots, key.data)
                elif isinstance(owner.data, Sequence) and owner.data.has_place(key):
                    self.write(owner.data.slots, ITEMS, owner.data.without(key.data))
                else:
                    self.opened(owner)

    def _do_nonlocal(self, node: ast.Nonlocal, frame: Frame) -> None:
        for name in node.names:
            above = frame.closure
            while above is not None and name not in above.slots:
                above = above.closure
            if above is not None:
                self.write(above.slots, name, unknown())

    def _do_if(self, node: ast.If, frame: Frame) -> None:
        value = self.evaluate(node.test, frame)
        holds = self.truth(value)
        if not isinstance(holds, Unknown):
            self.stores.update(stores_below(node, not holds))  # it is known that they change nothing
            self.block(node.body if holds else node.orelse, frame)
            return
        self._undecided(node, value, frame)
        self.branch(node, [lambda: self.block(node.body, frame), lambda: self.block(node.orelse, frame)], frame)

    def _do_match(self, node: ast.Match, frame: Frame) -> None:
        subject = self.evaluate(node.subject, frame)
        ways: list[Callable[[], None]] = []
        for case in node.cases:
            fits = self.fits(case.pattern, subject, frame)
            if fits is not False and case.guard is not None:
                fits = any_or_all(False, (fits, self.holds(case.guard, frame)))
            if fits is False:
                self.stores.update(stores_below(case, True))  # it is known that they change nothing
                continue
            ways.append(partial(self.block, case.body, frame))
            if fits is True:
                break
        else:
            ways.append(lambda: None)  # none of them fits
        if len(ways) == 1:
            ways[0]()
        else:
            self.branch(node, ways, frame)

    def fits(self, pattern: ast.pattern, subject: Value, frame: Frame) -> Truth:
        """Whether a value fits the pattern of a `case`, whose names are bound."""
        match pattern:
            case ast.MatchValue():
                return self.compared(ast.Eq(), subject, self.evaluate(pattern.value, frame))
            case ast.MatchSingleton():
                return self.compared(ast.Is(), subject, Value(pattern.value))
            case ast.MatchOr():
                return any_or_all(True, [self.fits(one, subject, frame) for one in pattern.patterns])
            case ast.MatchAs():
                holds = self.fits(pattern.pattern, subject, frame) if pattern.pattern is not None else True
                if pattern.name is not None:
                    self.bind(pattern.name, subject, frame)
                return holds
        for inner in walk(pattern):  # a sequence, a mapping, an object of a class
            name = getattr(inner, "rest" if isinstance(inner, ast.MatchMapping) else "name", None)
            if isinstance(name, str):
                self.bind(name, unknown(), frame)
        return Unknown()

    def _do_with(self, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
        entered: list[Value] = []
        exits: list[Function] = []
        for item in node.items:
            value = self.evaluate(item.context_expr, frame)
            enter, leave = self.own_method(value, "__enter__"), self.own_method(value, "__exit__")
            entered.append(self.run_function(enter, [], {}) if enter is not None else value)
            exits += [leave] if leave is not None else []
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered[-1], frame)
        self._entered(node, entered, frame)
        self.block(node.body, frame)
        for leave in reversed(exits):
            self.run_function(leave, [NONE, NONE, NONE], {})

    _do_asyncwith = _do_with

    def _do_try(self, node: ast.Try, frame: Frame) -> None:
        # Packages are taken as installed, and what a handler ends has failed.
        handlers = [handler for handler in node.handlers if not is_import_error(handler) and not ends(handler.body)]
        first = len(self.ways_out)
        changes: Writes = {}
        ended: Signal | None = None

        def body() -> None:
            mark = len(self.journal)
            self.guards += bool(node.handlers)
            try:
                try:
                    self.block(node.body, frame)
                finally:
                    self.guards -= bool(node.handlers)
                self.block(node.orelse, frame)
            finally:
                changes.update(self.changed_since(mark) if handlers else {})

        def handle(statements: list[ast.stmt]) -> None:
            self._spoil(changes)  # of which a part is made when the exception comes
            self.block(statements, frame)

        try:
            if handlers:
                self.branch(node, [body, *(partial(handle, handler.body) for handler in handlers)], frame)
            else:
                body()
        except Signal as signal:
            ended = signal
        # What `finally` changes is unknown if branches have left before, as it may depend on them.
        ways, mark = self.ways_out[first:], len(self.journal)
        self.block(node.finalbody, frame)
        later = self.changed_since(mark) if ways else {}
        self._spoil(later)
        for way in ways:
            way.writes.update((place, (slots, key, slots.get(key, ABSENT))) for place, (slots, key, _) in later.items())
        if ended is not None:
            raise ended

    def _do_for(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        self._for(node, self.evaluate(node.iter, frame), frame)

    _do_asyncfor = _do_for

    def _for(self, node: ast.For | ast.AsyncFor, value: Value, frame: Frame) -> None:
        items = self.iterated(value)
        if items is None:
            filled = self._lists_filled(node, value, frame)
            self._unknown_loop(node, frame, node.target)
            for sequence, recipe in filled:
                self.write(sequence.slots, ITEMS, ())
                self.write(sequence.slots, OPEN, recipe)
            return
        before, first = len(self.conditions), len(self.ways_out)
        signal: Signal | None = None
        steps = self.budget.left
        for number, item in enumerate(items):
            start = len(self.ways_out)
            if number == 1 and (steps - self.budget.left) * len(items) > self.budget.left:  # more than may be spent
                self._unknown_loop(node, frame, node.target)
                break
            self.assign(node.target, item, frame)
            signal = self._signal(node.body, frame)
            try:
                self._leave(signal, signal is None or isinstance(signal, Continue), self._taken(start, Continue), node, frame)
                signal = None
            except Signal as end:
                signal = end
                break
        self.conditions[before:] = [condition for condition in self.conditions[before:] if condition[1] != LOOP_LEFT]
        ways, goes_on = self._taken(first, Break), isinstance(signal, Break)
        if signal is None:
            signal = self._signal(node.orelse, frame)
            goes_on = signal is None
        self._leave(signal, goes_on, ways, node, frame)

    def _lists_filled(self, node: ast.For | ast.AsyncFor, value: Value, frame: Frame) -> list[tuple[Sequence, DataRecipe]]:
        parsed = isinstance(value.data, OpenFile) and parses_lines(*node.body)
        rows = data_sets.rows_through(value, parsed)
        if rows is None:
            return []
        lists: list[tuple[Sequence, DataRecipe]] = []
        calls = [call.func for call in walk(node) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)]
        for name, always in lists_filled(node, parsed).items():
            owner, _, attribute = name.rpartition(".")
            methods = (self.evaluate(call, frame).data for call in calls if owner and ast.unparse(call.value) == owner)
            names = (part for method in methods if isinstance(method, Function) for part in walk(method.node))
            if any(getattr(part, "attr", "") == attribute for part in names):
                continue  # a method of the object that has the list may add to it as well
            filled = self.evaluate(ast.parse(name, mode="eval").body, frame)
            before = data_sets.recipe_of(filled)
            if isinstance(filled.data, Sequence) and before is not None:
                added = rows if always else rows.then("filter", None)
                lists.append((filled.data, added if before == data_sets.EMPTY else data_sets.joined(before, added)))
        return lists

    def _signal(self, body: list[ast.stmt], frame: Frame) -> Signal | None:
        try:
            self.block(body, frame)
        except Signal as signal:
            return signal
        return None

    def _leave(self, signal: Signal | None, goes_on: bool, ways: list[WayOut], node: ast.AST, frame: Frame) -> None:
        """Go on behind the turn of a loop, or behind a loop, that ended with a signal, or in some branches.

        Raises:
            Signal: It ends more than that, and so does every branch.
        """
        if signal is not None and not goes_on:
            if not ways or isinstance(signal, Quit):
                raise signal
            if isinstance(signal, (Return, Break, Continue)):
                self._way_out(signal, {}, frame)
                self.conditions.append((node, side_of(signal)))
        self._merge(ways, goes_on)

    def _do_while(self, node: ast.While, frame: Frame) -> None:
        turns = MOST_TURNS if only_counts(node) else 0
        while turns and self.holds(node.test, frame) is True:
            self.block(node.body, frame)
            turns -= 1
        if self.holds(node.test, frame) is not False:
            self._unknown_loop(node, frame, None)
        else:
            self.block(node.orelse, frame)

    def _unknown_loop(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, target: ast.expr | None) -> None:
        """Evaluate a loop whose turns are unknown: what it changes is unknown before, in and after it."""

        def turn() -> None:
            if target is not None:
                self.assign(target, unknown(Reason("branch", "the turn of a loop")), frame)
            self.block(node.body, frame)

        before, first = len(self.conditions), len(self.ways_out)
        self.trial += 1
        try:
            writes = self._attempt(turn)[1]
        finally:
            self.trial -= 1
            del self.conditions[before:]
        self._spoil(writes, *(way_out.writes for way_out in self._taken(first, Return, Break, Continue)))
        self.conditions.append((node, 0))
        try:
            leaves, writes = self._attempt(turn)
        finally:
            left = any(side == LEFT for _, side in self.conditions[before:])
            del self.conditions[before:]
        ways = self._taken(first, Break, Continue)
        self._spoil(writes, *(way.writes for way in ways))
        if left or side_of(leaves) == LEFT:
            self.conditions.append((node, LEFT))
        if isinstance(leaves, Return):
            self._way_out(leaves, {}, frame)
        if isinstance(leaves, Break) or any(way.kind is Break for way in ways):
            self.branch(node, [lambda: self.block(node.orelse, frame), lambda: None], frame)
        else:
            self.block(node.orelse, frame)

    # -- definitions and imports

    def _note_import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        origin = node.names[0].name if isinstance(node, ast.Import) else (node.module or "") if not node.level else ""
        package = origin.partition(".")[0]
        if not self.trial and (package in FRAMEWORKS or package == UNSLOTH):
            tests = (*self.importing, *(each for each, _ in self.conditions))
            self.imports.append(Import(node, frame.module, is_certain=not self.conditions and not self.guards, tests=tests))

    def _do_import(self, node: ast.Import, frame: Frame) -> None:
        self._note_import(node, frame)
        for alias in node.names:
            whole = alias.asname is not None
            name = alias.name if whole else alias.name.partition(".")[0]
            if not whole and "." in alias.name:
                self.of_package(alias.name)
            self.bind(alias.asname or name, self.of_package(name), frame)

    def _do_importfrom(self, node: ast.ImportFrom, frame: Frame) -> None:
        self._note_import(node, frame)
        stars: list[str] = []
        for name, path in imported(node, frame.module.package, stars):
            self.bind(name, self.of_package(path), frame)
        for star in stars:  # replaces names that are bound
            module = self.modules.named(star) if star.partition(".")[0] not in FRAMEWORKS else None
            if module is not None and module is not frame.module:
                names = self.module_frame(module).slots
                for name in [slot for slot in frame.slots if isinstance(slot, str) and not slot.startswith("_") and slot in names]:
                    self.bind(name, names[name], frame)

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        function = self.function(node, frame)
        read = frame.slots[node.name].data if node.name in frame.slots else None
        if isinstance(read, Function) and any(isinstance(each, ast.Attribute) and each.attr == SETTER for each in node.decorator_list):
            read.marks[SETTER] = [([Value(function)], {})]
            return
        self.bind(node.name, self._decorated(node, Value(function), function.marks, frame), frame)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, value: Value, marks: Marks, frame: Frame) -> Value:
        """What a function or class is with its decorators: those of libraries are noted, those of the program are called."""
        for decorator in reversed(node.decorator_list):
            call = decorator if isinstance(decorator, ast.Call) else None
            made = self.evaluate(call.func if call is not None else decorator, frame)
            name, is_own = self.name_of(made), isinstance(made.data, Function)
            values, named = self.given(call, frame) if call is not None and (name or is_own) else ([], {})
            if name:
                marks.setdefault(name.removeprefix("builtins."), []).append((values, named))
            elif is_own:
                made = self.called(made, values, named, decorator) if call is not None else made
                value = self.called(made, [value], {}, decorator) if made.known else made
        return value

    _do_asyncfunctiondef = _do_functiondef

    def name_of(self, value: Value) -> str:
        data = value.data
        if isinstance(data, Method) and isinstance(data.owner.data, Opaque):
            return f"{data.owner.data.name}.{data.name}"
        return data.name if isinstance(data, External) else ""

    def given(self, call: ast.Call, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
        """The arguments of a call. The key None among the named ones stands for further, unknown names."""
        values: list[Value] = []
        for node in call.args:
            value = self.evaluate(node.value if isinstance(node, ast.Starred) else node, frame)
            if not isinstance(node, ast.Starred):
                values.append(value)
            elif isinstance(value.data, Sequence) and not value.data.is_open:
                values.extend(value.data.items)
            else:
                values.append(Value(STARRED))
        named: Named = {}
        for word in call.keywords:
            value = self.evaluate(word.value, frame)
            inner = value.data if word.arg is None else None
            if isinstance(inner, Mapping):
                named.update({key: self.interpolated(each, inner) for key, each in inner.items.items()})
            if not isinstance(inner, Mapping) or inner.is_open:
                named[word.arg] = value
        return values, named

    def _do_classdef(self, node: ast.ClassDef, frame: Frame) -> None:
        made = Class(node, frame, [self.evaluate(base, frame) for base in node.bases])
        inside = Frame(frame.module, frame)
        inside.slots, inside.is_class = made.slots, True
        with contextlib.suppress(Signal):
            self.block(node.body, inside)
        decorated = self._decorated(node, Value(made), {}, frame)
        self.bind(node.name, decorated if isinstance(decorated.data, (Class, Function)) else Value(made), frame)  # most return the class

    # -- functions

    def run_function(self, function: Function, given: Given, named: Named) -> Value:
        most = MOST_RECURSIVE if all(each.known for each in (*given, *named.values())) else 1
        is_left_out = function.node in self.left_out or is_generator(function.node)
        if is_left_out or len(self.active) >= DEEPEST or self.active.count(function.node) > most:
            for value in (*given, *named.values()):
                self.opened(value)
            return unknown(Reason("program", f"`{getattr(function.node, 'name', 'lambda')}()`", "it is not evaluated"))
        frame = Frame(function.frame.module, function.frame)
        if function.bound is not None:
            given = [function.bound, *given]
            frame.owner = (function.owner, function.bound) if function.owner is not None else None
        self._bind_parameters(function, frame, given, named)
        if isinstance(function.node, ast.Lambda):
            return self.evaluate(function.node.body, frame)
        self.active.append(function.node)
        before, first, start = len(self.conditions), len(self.ways_out), self.budget.spent
        try:
            signal = self._signal(function.node.body, frame)
            ways = self._taken(first, Return)
            if isinstance(signal, End) and not ways:  # else a branch has returned before, and the end is that of the other ones
                raise signal
            goes_on = not isinstance(signal, (End, Left))
            if goes_on:
                frame.returned.append(signal.value if isinstance(signal, Return) else NONE)
            self._merge(ways, goes_on, frame.slots)
        except Exhausted:
            taken = self.costs.get(function.node, 0) + self.budget.spent - start
            if self.costly is None and len(self.active) > 1 and 2 * taken > self.budget.spent:
                self.costly = function.node
            raise
        finally:
            self.active.pop()
            self.costs[function.node] = self.costs.get(function.node, 0) + self.budget.spent - start
            del self.conditions[before:], self.ways_out[first:]
        results = frame.returned or [unknown()]
        if all(same(results[0], result) for result in results[1:]):
            return results[0]
        for result in results:
            self.opened(result)
        return one_of(results, Reason("branch", f"the branches of `{getattr(function.node, 'name', 'lambda')}()`"))

    def _bind_parameters(self, function: Function, frame: Frame, given: Given, named: Named) -> None:
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        cut = next((place for place, each in enumerate(given) if each.data is STARRED), len(given))
        names = {node.arg for node in (*positional, *arguments.kwonlyargs)}
        for place, parameter in enumerate((*positional, *arguments.kwonlyargs)):
            name = parameter.arg
            if place < len(positional) and place < cut:
                frame.slots[name] = given[place]
            elif name in named:
                frame.slots[name] = named[name]
            elif cut < len(given) or None in named or name not in function.defaults:
                frame.slots[name] = unknown(Reason("argument", f"`{name}` of `{getattr(function.node, 'name', 'lambda')}()`"))
            else:
                frame.slots[name] = function.defaults[name]
        if arguments.vararg is not None:
            frame.slots[arguments.vararg.arg] = Value(Sequence(given[len(positional) : cut], "tuple", cut < len(given)))
        if arguments.kwarg is not None:
            rest = {name: value for name, value in named.items() if name not in names}
            frame.slots[arguments.kwarg.arg] = Value(Mapping(slots_of(rest)))


STARRED = Unknown(Reason("argument", "further arguments of a call"))
