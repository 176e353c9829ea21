"""The code that a program runs: its top level, and the functions of the project that it names; the literals and constants in it."""

from __future__ import annotations

import ast
from functools import cached_property
from itertools import takewhile

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.kinds import ENGINE, LAUNCH, LAUNCHER
from cfglint.launch.programs.modules import Definition, External, Modules, ProgramModule, imported, targets_of
from cfglint.launch.programs.objects import calculated
from cfglint.source.annotations import Any, Collection, Iterable, Iterator
from cfglint.source.python.nodes import children, walk

MOST_SCOPES = 300
CAUGHT = (["Exception"], ["BaseException"], ["TypeError"], ["ValueError"])
ENDS = (["exit"], ["_exit"], ["quit"])
RUNNERS = ("spawn", "start_processes", "notebook_launcher", "debug_launcher", "Process", "Thread", "Fire", "run", "launch", "partial")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPUTED = Unknown(Reason("program", "the value"))
LONGEST = 10_000  # characters of the source of a literal
EXACT = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)


class Scope:
    """The statements of a function, or of the top level of a module, with the names that they bind."""

    def __init__(self, modules: Modules, module: ProgramModule, node: ast.AST, *, is_main: bool = False) -> None:
        self.modules, self.module, self.node = modules, module, node
        self.nodes = list(inside(node, is_main))
        self.imports: dict[str, str] = {}
        self.values: dict[str, ast.expr] = {}
        arguments = node.args if isinstance(node, FUNCTIONS) else ast.arguments([], [], None, [], [], None, [])
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.bound = {parameter.arg for parameter in parameters if parameter is not None}
        self._calls: dict[str, list[ast.Call]] = {}  # by the last part of the name of what they call
        for each in self.nodes:
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                self.imports.update(imported(each, module.package, []))
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                value = (
                    getattr(module.parent(each), "value", None) if isinstance(module.parent(each), (ast.Assign, ast.AnnAssign)) else None
                )
                if each.id in self.bound or value is None:  # of those that are assigned once, and unconditionally
                    self.values.pop(each.id, None)
                else:
                    self.values[each.id] = value
                self.bound.add(each.id)

    def is_conditional(self, node: ast.AST) -> bool:
        around = takewhile(lambda each: each is not self.node, self.module.above(node))
        return any(isinstance(each, (ast.If, ast.IfExp, ast.For, ast.While, ast.Try)) and not is_main_guard(each) for each in around)

    def resolve(self, node: ast.expr) -> Definition | External | None:
        parts = dotted(node)
        if len(parts) < 2:
            return self._named(parts[0]) if parts else None
        first = self.modules.lookup(self.module, parts[0]) if parts[0] not in self.bound else None
        name = self.imports.get(parts[0]) or (first.name if isinstance(first, External) else "")
        return self.modules.dotted(".".join([name, *parts[1:]])) if name else None

    def _named(self, name: str) -> Definition | External | None:
        later = self.module.names.get(name) if self.node is self.module.tree and name not in self.module.ambiguous else None
        if name in self.imports and not isinstance(later, ast.ClassDef):  # such as one that derives from the class that it replaces
            again = self.modules.bound_again(self.module, name) if self.node is self.module.tree else None
            return again or self.modules.dotted(self.imports[name])
        if name in self.bound and self.node is not self.module.tree:
            return Definition(self.module, self.values[name]) if name in self.values else None
        return self.modules.lookup(self.module, name)

    @cached_property
    def reads(self) -> dict[str, list[ast.Name]]:
        """Where the code below it reads a name, that of functions and classes within it, too."""
        found: dict[str, list[ast.Name]] = {}
        for node in walk(self.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @cached_property
    def named(self) -> list[Definition]:
        """What the names in it refer to."""
        nodes = (node for node in self.nodes if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load))
        whole = (node for node in nodes if not isinstance(self.module.parent(node), ast.Attribute))  # not a part of a longer path
        return [found for found in map(self.resolve, whole) if isinstance(found, Definition)]

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in self.nodes if isinstance(node, ast.Call))

    def calls_of(self, name: str) -> list[ast.Call]:
        if not self._calls:
            self._calls[""] = []  # so that a scope without calls is not searched again
            for call in self.calls():
                self._calls.setdefault("".join(dotted(call.func)[-1:]), []).append(call)
        return self._calls.get(name, [])


def top_level(modules: Modules, module: ProgramModule) -> Scope:
    """The top level of a module, as one that another imports."""
    if module not in modules.top_levels:
        modules.top_levels[module] = Scope(modules, module, module.tree)
    scope: Scope = modules.top_levels[module]
    return scope


class BuiltCall:
    """A call that builds what a run is configured with: `name` is what it calls, `node` the expression that a document stands for.

    `settable` are the attributes of its result that are settings; None if any may be one. `is_computed`: only an evaluation knows the class
    that it calls, which may be another one under another line.
    """

    kind = ""
    package = ""  # whose release decides about the call, if its kind does not
    settable: Collection[str] | None = None
    trainer: str | None = None
    is_computed = False

    def __init__(self, name: str, call: ast.Call, scope: Scope, node: ast.expr | None = None) -> None:
        self.name, self.call, self.scope = name, call, scope
        self.node = node or call

    @property
    def is_conditional(self) -> bool:
        return self.scope.is_conditional(self.node)


class EngineConfig(BuiltCall):
    """A call of `deepspeed.initialize` with a mapping, `node` (0.19.8 deepspeed/__init__.py: `config`, else `config_params`)."""

    kind = ENGINE


class AcceleratorCall(BuiltCall):
    kind = LAUNCH
    package = LAUNCHER


def inside(node: ast.AST, is_main: bool) -> Iterator[ast.AST]:
    """The nodes of a scope: of a module without its functions and classes, of a function with nested ones."""
    stack = children(node)[::-1]
    nested = not isinstance(node, ast.Module)
    while stack:
        each = stack.pop()
        if not nested and isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            continue
        if is_main_guard(each) and not is_main:
            continue
        yield each
        stack.extend(children(each)[::-1])


def called(scopes: list[Scope], entry: str = "") -> set[Scope]:
    """The scopes that run: the top levels, the `entry`, the functions that these call, or pass to one that runs them in processes."""
    by_name: dict[str, list[Scope]] = {}
    for scope in scopes:
        by_name.setdefault(getattr(scope.node, "name", ""), []).append(scope)
    left = [*by_name.pop("", []), *(by_name.pop(entry, []) if entry else [])]
    found = {*left}
    while left:
        names: list[str] = []
        for call in left.pop().calls():
            name = dotted(call.func)[-1:]
            names += name
            if name and name[0] in RUNNERS:  # runs others in processes
                arguments = (*call.args, *(word.value for word in call.keywords))
                names += [part for node in arguments for part in dotted(node)[-1:]]
        new = [scope for name in names for scope in by_name.pop(name, ())]
        found.update(new)
        left += new
    return found


def is_caught(node: ast.AST, scope: Scope, scopes: Iterable[Scope], deepest: int = 4) -> bool:
    """Whether an exception raised in a node may be caught, so that the program goes on: there, or by a caller of its function."""
    inside = node
    for above in takewhile(lambda each: each is not scope.node, scope.module.above(node)):
        if isinstance(above, ast.Try) and inside in above.body and any(map(goes_on, above.handlers)):
            return True
        inside = above
    name: str = getattr(scope.node, "name", "")
    others = (each for each in scopes if each is not scope) if name and deepest else ()
    return any(is_caught(call, other, scopes, deepest - 1) for other in others for call in other.calls_of(name))


def goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches the exceptions of a constructor and does not end the program."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    catches = any(node is None or dotted(node)[-1:] in CAUGHT for node in types)
    ends = (isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and dotted(node.func)[-1:] in ENDS) for node in walk(handler))
    return catches and not any(ends)


def is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(isinstance(each, ast.Name) and each.id == "__name__" for each in walk(node.test))


def dotted(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []


def reachable(modules: Modules, main: ProgramModule, entry: str = "") -> list[Scope] | None:
    scopes = [Scope(modules, main, main.tree, is_main=not entry)]
    called = code_of(Definition(main, main.names[entry])) if entry in main.names else None
    scopes += [Scope(modules, main, called)] if called is not None else []
    seen: set[ast.AST] = {each.node for each in scopes}
    for scope in scopes:
        for definition in scope.named:
            node = code_of(definition)
            if node is not None and node not in seen:
                seen.add(node)
                scopes.append(Scope(modules, definition.module, node))
        if len(scopes) > MOST_SCOPES or modules.is_full:
            return None
    return scopes


def code_of(definition: Definition) -> ast.AST | None:
    """The code that runs because of a name: a function, or the top level of the module that assigns it."""
    node = definition.node
    if isinstance(node, FUNCTIONS):
        return node
    is_value = isinstance(node, (ast.Assign, ast.AnnAssign)) and node in definition.module.names.values()
    return definition.module.tree if is_value else None


def literal(node: ast.expr | None) -> Any:
    if node is None or (node.end_col_offset or 0) > LONGEST:
        return COMPUTED
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, EXACT):
            return COMPUTED
        left, right = literal(node.left), literal(node.right)
        numbers = type(left) in (int, float) and type(right) in (int, float)
        result = calculated(node.op, left, right) if numbers else None
        return result.data if result is not None and result.known else COMPUTED
    return COMPUTED if isinstance(value, (bytes, complex, set)) or value is ... else value


def value_of(node: ast.expr | None, scope: Scope) -> Any:
    found = literal(node)
    if found is not COMPUTED or not isinstance(node, ast.Name):
        return found
    named = scope.resolve(node)
    if not isinstance(named, Definition) or node.id in named.module.ambiguous:
        return COMPUTED
    if isinstance(named.node, (ast.Assign, ast.AnnAssign)):
        is_unpacked = not all(isinstance(target, ast.Name) for target in targets_of(named.node))
        return literal(named.node.value) if isinstance(named.node, ast.AnnAssign) or not is_unpacked else COMPUTED
    inside = scope.values.get(node.id)
    return literal(inside) if inside is named.node and not scope.is_conditional(named.node) else COMPUTED


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((node.value for node in call.keywords if node.arg == name), None)
