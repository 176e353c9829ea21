"""Programs with their own `argparse` parser: the arguments that their code adds.

Source: CPython argparse.py (add_argument, parse_args), deepspeed 0.19.8 deepspeed/__init__.py (_add_core_arguments).
"""

from __future__ import annotations

import ast

from cfglint.launch.argparse_types import converted
from cfglint.launch.program import MISSING, Field
from cfglint.launch.programs.modules import Definition, External, assigned_names
from cfglint.launch.programs.parsers import Construction, called, changes_words, in_try
from cfglint.launch.programs.scopes import COMPUTED, FUNCTIONS, Scope, dotted, keyword, value_of
from cfglint.source.annotations import Any, Iterator
from cfglint.source.record import changed

DEEPEST = 5  # depth of functions that pass the parser on
DEEPSPEED = "deepspeed/__init__.py"
ADDED = {  # arguments added by deepspeed.add_config_arguments
    "deepspeed": Field("bool", False, DEEPSPEED, 1, "0"),
    "deepspeed_config": Field("str", None, DEEPSPEED, 1),
    "deepscale": Field("bool", False, DEEPSPEED, 1, "0"),
    "deepscale_config": Field("str", None, DEEPSPEED, 1),
}
STORED = {"store_true": True, "store_false": False}
WITHOUT_VALUE = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")
GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
HARMLESS = ("print_help", "format_help", "print_usage", "error", "exit")
PLAIN_KEYWORDS = frozenset(("description", "prog", "usage", "epilog", "formatter_class", "add_help", "conflict_handler"))


class Flags:
    """The arguments of a parser: `fields` by name; `complete`: no others are added; `refuses`: an unknown argument ends the program."""

    def __init__(self, construction: Construction) -> None:
        self.fields: dict[str, Field] = {}
        self.complete = {node.arg for node in construction.call.keywords} <= PLAIN_KEYWORDS
        self.parses: list[bool] = []
        self._construction = construction
        self._calls: set[ast.Call] = set()
        self._reset: set[str | None] = set()  # the arguments whose default is set elsewhere; None if that may be any
        scope = construction.scope
        names = assigned_names(scope.module.parent(construction.call))
        if names:
            self._follow(scope, names, 0)
        else:
            self.complete = False
        for name, field in self.fields.items() if self._reset else ():
            if name in self._reset or None in self._reset:
                self.fields[name] = changed(field, default=COMPUTED)
        self.refuses = bool(self.parses) and all(self.parses) and not changes_words(scope)

    def _follow(self, scope: Scope, names: set[str], depth: int) -> None:
        """Analyse the uses of the parser under some names in a scope."""
        for node in ast.walk(scope.node):
            if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
                continue
            if scope is self._construction.scope and not self._construction.is_at(node):
                continue
            above = scope.module.parent(node)
            call = called(scope.module.parent(above)) if isinstance(above, ast.Attribute) else None
            if isinstance(above, ast.Attribute) and call is not None and call.func is above:
                self._method(scope, above.attr, call, depth)
            elif isinstance(above, ast.Call) and node in above.args:
                function, position = scope.resolve(above.func), above.args.index(node)
                if isinstance(function, External) and function.name == "deepspeed.add_config_arguments":
                    self.fields.update(ADDED)
                elif isinstance(function, Definition) and isinstance(function.node, FUNCTIONS) and depth < DEEPEST:
                    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
                    if position < len(parameters) and assigned_names(scope.module.parent(above)) <= names:
                        self._follow(Scope(scope.modules, function.module, function.node), {parameters[position].arg}, depth + 1)
                    else:
                        self.complete = False
                else:
                    self.complete = False
            elif not (isinstance(above, ast.Return) and depth):
                self.complete = False

    def _method(self, scope: Scope, name: str, call: ast.Call, depth: int) -> None:
        if call in self._calls:
            return
        self._calls.add(call)
        if name == "add_argument":
            self._add(scope, call)
        elif name in GROUPS:
            groups = assigned_names(scope.module.parent(call))
            self.complete = self.complete and bool(groups)
            self._follow(scope, groups, depth)
        elif name == "parse_args":
            self.parses.append(not call.args and not call.keywords and not in_try(scope, call))
        elif name.startswith("parse"):
            self.parses.append(False)
        elif name == "set_defaults":
            self._reset.update(node.arg for node in call.keywords)
        elif name not in HARMLESS:
            self.complete = False

    def _add(self, scope: Scope, call: ast.Call) -> None:
        options = [value_of(node, scope) for node in call.args]
        if not options or not all(isinstance(each, str) and each.startswith("-") for each in options):
            self.complete = False  # a positional argument takes leftover words
            return
        field = flag(scope, call)
        field.options = tuple(options)
        self.complete = self.complete and not field.short  # short options are not distinguished from values
        for option in options:
            if option.startswith("--"):
                self.fields[option[2:].replace("-", "_")] = field
        if is_optional_boolean(call):
            self.fields.update({f"no_{option[2:].replace('-', '_')}": field for option in options})


def is_optional_boolean(call: ast.Call) -> bool:
    return dotted(keyword(call, "action") or call)[-1:] == ["BooleanOptionalAction"]


def flag(scope: Scope, call: ast.Call) -> Field:
    place = (scope.module.path, call.lineno)
    required = keyword(call, "required") is not None and value_of(keyword(call, "required"), scope) is True
    default: Any = MISSING if required else None
    if keyword(call, "default") is not None and not required:
        default = value_of(keyword(call, "default"), scope)
    action = value_of(keyword(call, "action"), scope) if keyword(call, "action") is not None else None
    takes = words(scope, call)
    if takes == "0":
        stored: Any = COMPUTED
        if action in STORED or is_optional_boolean(call):
            stored = STORED.get(action, True) if isinstance(action, str) else True
        elif action == "store_const":
            stored = value_of(keyword(call, "const"), scope)
        unset = not stored if isinstance(stored, bool) and not is_optional_boolean(call) else None
        default = unset if keyword(call, "default") is None and not required else default
        return Field("bool" if isinstance(stored, bool) else "", default, *place, takes, (), stored)
    node = keyword(call, "type")
    kind = ["str"] if node is None else dotted(node)[-1:]
    typed = kind[0] if kind and kind[0] in ("int", "float", "str") else ""
    listed = value_of(keyword(call, "choices"), scope) if keyword(call, "choices") is not None else ()
    choices = tuple(listed) if typed and isinstance(listed, (list, tuple)) else ()  # another type may convert the string first
    if isinstance(default, str) and typed != "str":  # is converted as a word of the line is
        value = converted(typed, default)
        default = COMPUTED if value is None else value
    return Field(typed, default, *place, takes, choices)


def words(scope: Scope, call: ast.Call) -> str:
    if keyword(call, "action") is not None:
        name = value_of(keyword(call, "action"), scope)
        if name in WITHOUT_VALUE or is_optional_boolean(call):
            return "0"
        if name not in ("store", "append", "extend"):
            return ""
    if keyword(call, "nargs") is None:
        return "1"
    number = value_of(keyword(call, "nargs"), scope)
    return number if number is not COMPUTED and number in ("?", "+", "*") else ""


def engine_values(scope: Scope) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of `deepspeed.initialize` in a scope that are given a config, each with it."""
    for call in scope.calls():
        named = scope.resolve(call.func)
        if isinstance(named, External) and named.name == "deepspeed.initialize":
            node = keyword(call, "config") or keyword(call, "config_params")
            if node is not None:
                yield call, node
