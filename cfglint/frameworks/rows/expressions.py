"""The expressions of rows as functions of an evaluation, made once: what each operator gives, raises, or leaves unknown.

A guard or value is a JSON scalar or `[operator, ...]`; `OPERATORS` are the operators. `["fact", name, ...]` asks about the environment,
`["?", reason]` is what the tool cannot read, which stays unknown.

What is unknown spreads through the operators; `and`, `or` and `if` decide where they can.
"""

from __future__ import annotations

import math
from _operator import neg

from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import BINARY, PLAIN, all_of, any_or_all, either, inside, negated, truth, unknown
from cfglint.evaluate.operations import applied as on_known
from cfglint.source.annotations import Any, Callable, Collection, Iterable, Iterator, Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Path: TypeAlias = tuple[str, ...]
    Row: TypeAlias = dict[str, Any]
    Facts: TypeAlias = Callable[..., Any]
    Code: TypeAlias = Callable[["State"], Any]

PYTHON = (TypeError, ValueError, SyntaxError, ZeroDivisionError, KeyError, IndexError, AttributeError, OverflowError)
TYPES = {
    **{kind.__name__: kind for kind in (str, int, float, bool, list, dict, tuple, set)},
    "NoneType": type(None),
}
CALLS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (len, str, int, float, bool, sum, sorted, set, list, tuple, dict, range, min, max, abs)},
    "enumerate": lambda *items: list(enumerate(*items)),
}
MISSING = object()
WHOLE = ""  # read or change of all values at once
NOT_SET = Unknown(Reason("program", "a name that no row sets"))
DECIDING = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "is a", "has")  # whose value is a boolean, or unknown


class State:
    """The values of a config while rows run, and what the rows read of them.

    `facts` answers questions about the environment, None where it has no answer. `enums` has the names of the classes of fields whose
    values are members of an Enum. `read` are the names of fields that were looked up, `changed` those that rows set, with the row,
    `environment` the variables; for others `facts` is asked. `entry` is the key that was looked up last in a value.
    """

    __slots__ = ("bound", "changed", "entry", "enums", "environment", "facts", "kept", "read", "values")

    def __init__(self, values: dict[str, Any], facts: Facts, enums: Mapping[str, str] | None = None) -> None:
        self.values = values
        self.facts = facts
        self.enums = dict(enums or {})
        self.environment: dict[str, Any] = {}
        self.entry: Any = None
        self.read: list[str] = []
        self.changed: dict[str, Row] = {}
        self.kept: dict[str, Any] = {}
        self.bound: dict[str, Any] = {}

    def eval(self, expression: Any) -> Any:
        return code(expression)(self)

    def truth(self, expression: Any) -> bool | Unknown:
        return truth_of(expression)(self)


class Raised(Exception):
    """The framework raises here, in a `row`; `intended` is whether the row refuses the values, rather than fails on them, `key` the
    field that was looked up last, `entry` the key in a value, `state` the values then.
    """

    state: State

    def __init__(self, kind: str, message: str, row: Row | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.row: Row = row or {}
        self.intended = row is not None
        self.key = ""
        self.entry: Any = None


def failed(error: Exception) -> Raised:
    """An exception of Python as one of the framework."""
    return Raised(type(error).__name__, str(error))


class Stop(Exception):
    """A loop ends."""


def walk(expression: Any) -> Iterator[Any]:
    yield expression
    for part in expression if isinstance(expression, list) else ():
        yield from walk(part)


def version_of(text: object) -> tuple[tuple[int, ...], int]:
    import re

    match = re.match(r"v?(\d+(?:\.\d+)*)", str(text))
    if match is None:
        raise Raised("InvalidVersion", f"Invalid version: {str(text)!r}")
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), 0 if re.match(r"\.?(dev|a|b|rc)", str(text)[match.end() :]) else 1


def code(e: Any) -> Code:
    """The code for the value of an expression."""
    if not isinstance(e, list):
        return Constant(e)
    operator = OPERATORS.get(e[0])
    if operator is not None:
        return operator(e)
    if e[0] in ("in", "not in") and is_constant(e[2]):
        return among(code(e[1]), code(e[2])(State({}, lambda name: None)), wanted=e[0] == "in")
    if e[0] in ("is", "is not") and e[2] is None:
        return is_none(code(e[1]), wanted=e[0] == "is")
    return binary(e[0], code(e[1]), code(e[2]))


def is_none(item: Code, wanted: bool) -> Code:
    """Whether a value is null, or, if that is wanted, is not."""

    def value(run: State) -> Any:
        found = item(run)
        return found if isinstance(found, Unknown) else (found is None) is wanted

    return value


def is_constant(e: Any) -> bool:
    """Whether an expression is a list of constants."""
    return isinstance(e, list) and e[0] in ("list", "tuple", "set") and not any(isinstance(part, list) for part in e[1:])


def among(item: Code, constants: Collection[Any], wanted: bool) -> Code:
    """Whether a value is one of some constants, or, if that is wanted, none of them."""

    def value(run: State) -> Any:
        found = item(run)
        return python(lambda each: (each in constants) is wanted, found) if not isinstance(found, PLAIN) else (found in constants) is wanted

    return value


def truth_of(e: Any) -> Callable[[State], bool | Unknown]:
    """The code for whether a value is true."""
    if not isinstance(e, list):
        return lambda run: bool(e)
    if e[0] in ("and", "or"):
        return all_of([truth_of(part) for part in e[1:]], wanted=e[0] == "and", failure=Raised)
    if e[0] == "not":
        inner = truth_of(e[1])
        return lambda run: negated(inner(run))
    if e[0] == "f":
        return truth_of_field(e[1])
    value = code(e)
    return value if e[0] in DECIDING else lambda run: truth(value(run))


def truth_of_field(name: str) -> Callable[[State], bool | Unknown]:
    """The code for whether a field is set, the most frequent condition."""

    def is_set(run: State) -> bool | Unknown:
        run.read.append(name)
        return truth(run.values.get(name))

    return is_set


def python(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of Python, unknown if it gets anything unknown."""
    try:
        return on_known(function, *arguments)
    except PYTHON as error:
        raise failed(error) from None


def binary(operator: str, left: Code, right: Code) -> Code:
    function = BINARY[operator]
    if isinstance(right, Constant):
        return with_constant(function, left, right.value)

    def value(run: State) -> Any:
        one, other = left(run), right(run)
        if not isinstance(one, PLAIN) or not isinstance(other, PLAIN):
            return python(function, one, other)
        try:
            return function(one, other)
        except PYTHON as error:
            raise failed(error) from None

    return value


def with_constant(function: Callable[..., Any], left: Code, constant: Any) -> Code:
    """A value and a constant with an operator between them."""

    def value(run: State) -> Any:
        one = left(run)
        if not isinstance(one, PLAIN):
            return python(function, one, constant)
        try:
            return function(one, constant)
        except PYTHON as error:
            raise failed(error) from None

    return value


class Constant:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, run: State) -> Any:
        return self.value


def applied(function: Callable[..., Any], *parts: Code) -> Code:
    """A function of values, which is unknown if one of them is."""

    def value(run: State) -> Any:
        arguments = [part(run) for part in parts]
        doubt = unknown(*arguments)
        return function(*arguments) if doubt is None else doubt

    return value


def of_python(function: Callable[..., Any], parts: Sequence[Any]) -> Code:
    return applied(lambda *arguments: python(function, *arguments), *map(code, parts))


def field(e: Any) -> Code:
    name = e[1]

    def value(run: State) -> Any:
        run.read.append(name)
        return run.values.get(name)

    return value


def field_or(e: Any) -> Code:
    name, default = e[1], code(e[2])

    def value(run: State) -> Any:
        run.read.append(name)
        found = run.values.get(name, MISSING)
        return default(run) if found is MISSING else found

    return value


def entry_field(e: Any) -> Code:
    name = e[1]

    def value(run: State) -> Any:
        run.read.append(name)
        found = run.values.get(name, MISSING)
        if found is MISSING:
            raise Raised("KeyError", repr(name))
        return found

    return value


def has(e: Any) -> Code:
    name = code(e[1])

    def value(run: State) -> Any:
        key = name(run)
        run.read.append(key if isinstance(key, str) else WHOLE)
        return key if isinstance(key, Unknown) else run.values.get(key, MISSING) is not MISSING

    return value


def whole(run: State) -> Any:
    run.read.append(WHOLE)
    return run.values


def fact(e: Any) -> Code:
    name, parts = e[1], [code(part) for part in e[2:]]

    def value(run: State) -> Any:
        arguments = [part(run) for part in parts]
        doubt = unknown(*arguments)
        if doubt is not None:
            return doubt
        try:
            answer = run.facts(name, *arguments)
        except PYTHON as error:
            raise failed(error) from None
        return Unknown(Reason("machine", " ".join(map(str, [name, *arguments])))) if answer is None else answer

    return value


def variable(e: Any) -> Code:
    """A variable of the environment: name, default, which is None where it is not given."""
    name, default = code(e[1]), code(e[2] if len(e) > 2 else None)

    def value(run: State) -> Any:
        key = name(run)
        if isinstance(key, Unknown):
            return key
        found = run.environment.get(key, MISSING)
        answer = run.facts("env", key) if found is MISSING else found
        return default(run) if answer is None else answer

    return value


def made(e: Any) -> Code:
    """An object of a class, as the values of its fields: name, (field, default) of its fields, those without default, arguments."""
    name, required = e[1], e[3]
    defaults, given = mapping(["dict", *e[2]]), code(e[4])

    def value(run: State) -> Any:
        arguments = given(run)
        if isinstance(arguments, Unknown):
            return arguments
        if not isinstance(arguments, dict):
            kind = type(arguments).__name__
            raise Raised("TypeError", f"{name}() argument after ** must be a mapping, not {kind}")
        fields = {**dict.fromkeys(required), **defaults(run)}
        strange = next((key for key in arguments if key not in fields), None)
        if strange is not None:
            text = f"{name}.__init__() got an unexpected keyword argument {strange!r}"
            raise Raised("TypeError", text if isinstance(strange, str) else "keywords must be strings")
        missing = [repr(key) for key in required if key not in arguments]
        if missing:
            many = "s" if len(missing) > 1 else ""
            words = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
            raise Raised("TypeError", f"{name}.__init__() missing {len(missing)} required positional argument{many}: {words}")
        return {**fields, **arguments}

    return value


def first_of(e: Any) -> Code:
    """`and` and `or`: the first value that decides, else the last one; unknown if an unknown one comes before it."""
    parts, wanted = [code(part) for part in e[1:]], e[0] == "or"

    def value(run: State) -> Any:
        found = None
        for part in parts:
            found = part(run)
            if isinstance(found, Unknown) or bool(found) == wanted:
                break
        return found

    return value


def choice(e: Any) -> Code:
    condition, branches = truth_of(e[1]), (code(e[2]), code(e[3]))

    def value(run: State) -> Any:
        holds = condition(run)
        if not isinstance(holds, Unknown):
            return branches[0 if holds else 1](run)
        found = []
        for branch in branches:
            try:
                found.append(branch(run))
            except Raised as raised:  # noqa: PERF203
                found.append(Unknown(Reason("program", raised.kind)))
        return either(holds, *found)

    return value


def mapping(e: Any) -> Code:
    pairs = [(code(key), code(value)) for key, value in e[1:]]

    def value(run: State) -> Any:
        made = {}
        for key, part in pairs:
            name = key(run)
            if isinstance(name, Unknown):
                return name
            made[name] = part(run)
        return made

    return value


def with_entry(e: Any) -> Code:
    parts = [code(part) for part in e[1:]]

    def value(run: State) -> Any:
        box, key, item = (part(run) for part in parts)
        if isinstance(box, Unknown) or isinstance(key, Unknown):
            return unknown(box, key)
        return {**box, key: item} if isinstance(box, dict) else box

    return value


def attribute(e: Any) -> Code:
    inner, name = code(e[1]), e[2]

    def value(run: State) -> Any:
        box = inner(run)
        if isinstance(box, dict):
            return box.get(name)
        if isinstance(box, Unknown):
            return box
        if isinstance(box, type) and name == "__name__":
            return box.__name__
        raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{name}'")

    return value


def attribute_or(e: Any) -> Code:
    inner, key, default = code(e[1]), code(e[2]), code(e[3])

    def value(run: State) -> Any:
        box, name = inner(run), key(run)
        if isinstance(box, Unknown) or isinstance(name, Unknown):
            return unknown(box, name)
        found = box.get(name, MISSING) if isinstance(box, dict) else MISSING
        return default(run) if found is MISSING else found

    return value


def get(e: Any) -> Code:
    inner, key, default = code(e[1]), code(e[2]), code(e[3] if len(e) > 3 else None)

    def value(run: State) -> Any:
        box, name = inner(run), key(run)
        if isinstance(box, Unknown) or isinstance(name, Unknown):
            return unknown(box, name)
        run.entry = name
        if not isinstance(box, dict):
            raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute 'get'")
        try:
            found = box.get(name, MISSING)
        except TypeError as error:
            raise failed(error) from None
        return default(run) if found is MISSING else found

    return value


def entry(box: Any, key: Any) -> Any:
    """`box[key]`, of which other entries may be unknown."""
    try:
        return box[key]
    except PYTHON as error:
        raise failed(error) from None


def at(e: Any) -> Code:
    inner, key = code(e[1]), code(e[2])

    def value(run: State) -> Any:
        box, run.entry = inner(run), key(run)
        doubt = unknown(box, run.entry)
        return entry(box, run.entry) if doubt is None else doubt

    return value


def some(e: Any) -> Code:
    """The elements whose condition holds."""
    make, parts = set if e[1] == "set" else list, [(truth_of(condition), code(element)) for condition, element in e[2:]]

    def value(run: State) -> Any:
        found, doubt = [], None
        for condition, element in parts:
            holds = condition(run)
            if isinstance(holds, Unknown):
                doubt = unknown(holds, doubt)
            elif holds:
                found.append(element(run))
        return make(found) if doubt is None else doubt

    return value


def comprehension(e: Any) -> Code:
    """A comprehension: kind, name, what it goes through, condition, element."""
    _, kind, name, *parts = e
    through, condition, element = code(parts[0]), truth_of(parts[1]), code(parts[2])

    def value(run: State) -> Any:
        items = through(run)
        if isinstance(items, Unknown):
            return items
        before, found, doubt = run.bound.get(name), [], None
        for item in items if isinstance(items, list | tuple | dict) else python(list, items):
            run.bound[name] = item
            holds = condition(run)
            if isinstance(holds, Unknown):
                doubt = unknown(holds, doubt)
            elif holds:
                found.append(element(run))
        run.bound[name] = before
        if doubt is None and kind not in ("list", "gen"):
            doubt = unknown(*found)
        return doubt if doubt is not None else MAKE[kind](found)

    return value


def call(e: Any) -> Code:
    if e[1] in ("any", "all"):
        return applied(lambda items: any_or_all(e[1] == "any", items), code(e[2]))
    if e[1] == "len":  # also of a list that has something unknown in it
        return applied(lambda items: len(items) if isinstance(items, list | dict | tuple) else python(len, items), code(e[2]))
    return of_python(CALLS[e[1]], e[2:])


def method(e: Any) -> Code:
    name = e[1]

    def called(box: Any, *arguments: Any) -> Any:
        if isinstance(box, dict) and name in ("keys", "values", "items"):
            return list(getattr(box, name)())
        if not hasattr(box, name):
            raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{name}'")
        return python(getattr(box, name), *arguments)

    return applied(called, *map(code, e[2:]))


def is_a(e: Any) -> Code:
    kinds = tuple(TYPES[name] for name in e[2:] if name in TYPES)
    return applied(lambda value: isinstance(value, kinds), code(e[1]))


def member(e: Any) -> Code:
    """The conversion of a value to a member of an Enum: value, name of the Enum, (name, value) of its members, and `explicit` for one of
    transformers, which names its members where the value is none.
    """
    is_explicit = e[4:] == ["explicit"]

    def converted(value: Any, members: Any) -> Any:
        if not any(value == item for _, item in members):
            choices = [item for _, item in members]
            text = f"{value} is not a valid {e[2]}, please select one of {choices}" if is_explicit else f"{value!r} is not a valid {e[2]}"
            raise Raised("ValueError", text)
        return value

    return applied(converted, code(e[1]), code(e[3]))


def named_member(e: Any) -> Code:
    """The value of the member of an Enum that a name is: name, name of the Enum, (name, value) of its members."""
    return applied(lambda name, members: entry(dict(members), name), code(e[1]), code(e[3]))


def fails(e: Any) -> Code:
    """Whether expressions fail with one of some exceptions."""
    parts, kinds = [code(part) for part in e[1][1:]], e[2:]

    def value(run: State) -> Any:
        try:
            doubt = unknown(*(part(run) for part in parts))
            return False if doubt is None else doubt
        except Raised as raised:
            if kinds and raised.kind not in kinds and "Exception" not in kinds:
                raise
            return True

    return value


def template(e: Any) -> Code:
    parts = [part if isinstance(part, str) else (part[0], code(part[0]), part[1], part[2]) for part in e[1:]]

    def value(run: State) -> Any:
        return "".join(part if isinstance(part, str) else formatted(run, *part) for part in parts)

    return value


def formatted(run: State, expression: Any, part: Code, conversion: str, form: str) -> str:
    """A value in a message."""
    value = part(run)
    if inside(value) is not None:
        return "<?>"
    if isinstance(value, str) and expression[0] == "f" and expression[1] in run.enums:
        name = f"{run.enums[expression[1]]}.{value.upper()}"
        return f"<{name}: {value!r}>" if conversion == "r" else name
    if isinstance(value, set):
        value = "{" + ", ".join(map(repr, sorted(value, key=str))) + "}"
    shown = repr(value) if conversion == "r" else str(value) if conversion == "s" else value
    return str(python(format, shown, form))


def pattern(text: Any) -> Any:
    """A compiled regular expression."""
    import re

    try:
        return re.compile(text)
    except re.error as error:
        raise Raised("error", str(error)) from None


def parsed(e: Any) -> Code:
    """The value that a string of JSON, or of a Python literal, stands for."""

    def value(text: Any) -> Any:
        from ast import literal_eval
        from json import loads

        return python(loads if e[1] == "loads" else literal_eval, text)

    return applied(value, code(e[2]))


def collected(make: Callable[[Iterable[Any]], Any], e: Any) -> Code:
    """A list or a tuple, which may have something unknown in it."""
    if not any(isinstance(part, list) for part in e[1:]):
        constant = tuple(e[1:])
        return lambda run: make(constant)
    parts = [code(part) for part in e[1:]]
    return lambda run: make([part(run) for part in parts])


MAKE: dict[str, Callable[[list[Any]], Any]] = {"list": list, "gen": list, "set": set, "dict": dict}
FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "math": {name: getattr(math, name) for name in ("ceil", "floor", "gcd", "isfinite", "log2", "sqrt")},
    "re": {"compile": pattern, "fullmatch": lambda text, value: pattern(text).fullmatch(value)},
}
OPERATORS: dict[str, Callable[[Any], Code]] = {
    "f": field,
    "f?": field_or,
    "f!": entry_field,
    "has": has,
    "self": lambda e: whole,
    "v": lambda e: lambda run: run.kept.get(e[1], NOT_SET),
    "x": lambda e: lambda run: run.bound[e[1]],
    "fact": fact,
    "env": variable,
    "new": made,
    "?": lambda e: lambda run: Unknown(Reason("program", e[1])),
    "and": first_of,
    "or": first_of,
    "not": truth_of,
    "neg": lambda e: of_python(neg, e[1:]),
    "if": choice,
    "list": lambda e: collected(list, e),
    "tuple": lambda e: collected(tuple, e),
    "set": lambda e: applied(lambda *items: python(set, items), *map(code, e[1:])),
    "dict": mapping,
    "with": with_entry,
    "attr": attribute,
    "getattr": attribute_or,
    "has attr": lambda e: applied(lambda box, name: hasattr(box, name) or (isinstance(box, dict) and name in box), *map(code, e[1:])),
    "get": get,
    "at": at,
    "slice": lambda e: applied(lambda box, start, end: python(lambda items: items[start:end], box), *map(code, e[1:])),
    "some": some,
    "each": comprehension,
    "call": call,
    "m": method,
    "is a": is_a,
    "type": lambda e: applied(type, code(e[1])),
    "value": lambda e: code(e[1]),
    "version": lambda e: of_python(version_of, e[1:]),
    "math": lambda e: of_python(FUNCTIONS["math"][e[1]], e[2:]),
    "re": lambda e: of_python(FUNCTIONS["re"][e[1]], e[2:]),
    "parsed": parsed,
    "member": member,
    "named": named_member,
    "fails": fails,
    "fmt": template,
}
