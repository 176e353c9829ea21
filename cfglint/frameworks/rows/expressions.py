"""The expressions of rows as code for an evaluation, made once: what each operator gives, raises, or leaves unknown.

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
from cfglint.source.annotations import Any, Callable, Collection, Iterator, Mapping, Sequence, TypeAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import partial

else:
    from _functools import partial

Path: TypeAlias = tuple[str, ...]
Row: TypeAlias = dict[str, Any]
Facts: TypeAlias = Callable[..., Any]
Code: TypeAlias = Callable[["State"], Any]

PYTHON = (TypeError, ValueError, SyntaxError, ZeroDivisionError, KeyError, IndexError, AttributeError, OverflowError)
TYPES = {**{kind.__name__: kind for kind in (str, int, float, bool, list, dict, tuple, set)}, "NoneType": type(None)}
MISSING = object()
WHOLE = ""  # read or change of all values at once
NOT_SET = Unknown(Reason("program", "a name that no row sets"))
OF_DISK = ("path exists", "path isdir", "path isfile")  # ask for what lies at a path
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
    return Raised(type(error).__name__, str(error))


class Stop(Exception):
    """A loop ends."""


def walk(expression: Any) -> Iterator[Any]:
    yield expression
    for part in expression if isinstance(expression, list) else ():
        yield from walk(part)


def code(e: Any) -> Code:
    if not isinstance(e, list):
        return lambda run: e
    name, *parts = e
    if name == "f":  # the most frequent operator
        return partial(field, parts[0])
    if name in OPERATORS:
        function, made, rest, *fixed = OPERATORS[name]
        if name in ("list", "tuple") and not any(isinstance(part, list) for part in parts):
            return partial(copied, tuple(parts), *fixed)
        compiled = [make(part) for make, part in zip(made, parts, strict=False)]
        if rest is not None:
            compiled.append(tuple(map(rest, parts[len(made) :])))
        elif len(compiled) < len(made):
            compiled.append(made[-1](None))
        return partial(function, *fixed, *compiled)
    left, right = code(parts[0]), parts[1]
    if name in ("is", "is not") and right is None:
        return partial(is_none, left, name == "is")
    if not isinstance(right, list):
        return partial(with_constant, BINARY[name], left, right)
    if name in ("in", "not in") and right[0] in ("list", "tuple", "set") and not any(isinstance(part, list) for part in right[1:]):
        return partial(among, left, code(right)(State({}, lambda name: None)), name == "in")
    return partial(binary, BINARY[name], left, code(right))


def truth_of(e: Any) -> Callable[[State], bool | Unknown]:
    """The code for whether a value is true."""
    if not isinstance(e, list):
        return lambda run: bool(e)
    if e[0] in ("and", "or"):
        return all_of([truth_of(part) for part in e[1:]], wanted=e[0] == "and", failure=Raised)
    if e[0] == "not":
        inner = truth_of(e[1])
        return lambda run: negated(inner(run))
    if e[0] == "f":  # the most frequent condition
        return partial(is_set, e[1])
    value = code(e)
    return value if e[0] in DECIDING else lambda run: truth(value(run))


def is_set(name: str, run: State) -> bool | Unknown:
    run.read.append(name)
    return truth(run.values.get(name))


def python(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function of Python, unknown if it gets anything unknown."""
    try:
        return on_known(function, *arguments)
    except PYTHON as error:
        raise failed(error) from None


def applied(function: Callable[..., Any], parts: Sequence[Code], run: State) -> Any:
    """A function of values, which is unknown if one of them is."""
    arguments = [part(run) for part in parts]
    doubt = unknown(*arguments)
    return function(*arguments) if doubt is None else doubt


# ---- two values with an operator between them -------------------------------------------------------------------


def binary(function: Callable[..., Any], left: Code, right: Code, run: State) -> Any:
    one, other = left(run), right(run)
    if not isinstance(one, PLAIN) or not isinstance(other, PLAIN):
        return python(function, one, other)
    try:
        return function(one, other)
    except PYTHON as error:
        raise failed(error) from None


def with_constant(function: Callable[..., Any], left: Code, constant: Any, run: State) -> Any:
    one = left(run)
    if not isinstance(one, PLAIN):
        return python(function, one, constant)
    try:
        return function(one, constant)
    except PYTHON as error:
        raise failed(error) from None


def is_none(item: Code, wanted: bool, run: State) -> Any:
    value = item(run)
    return value if isinstance(value, Unknown) else (value is None) is wanted


def among(item: Code, constants: Collection[Any], wanted: bool, run: State) -> Any:
    value = item(run)
    return python(lambda each: (each in constants) is wanted, value) if not isinstance(value, PLAIN) else (value in constants) is wanted


# ---- the operators: functions of their parts and the run --------------------------------------------------------


def field(name: str, run: State) -> Any:
    run.read.append(name)
    return run.values.get(name)


def field_or(name: str, default: Code, run: State) -> Any:
    run.read.append(name)
    value = run.values.get(name, MISSING)
    return default(run) if value is MISSING else value


def existing_field(name: str, run: State) -> Any:
    run.read.append(name)
    if name not in run.values:
        raise Raised("KeyError", repr(name))
    return run.values[name]


def has(name: Code, run: State) -> Any:
    key = name(run)
    run.read.append(key if isinstance(key, str) else WHOLE)
    return key if isinstance(key, Unknown) else run.values.get(key, MISSING) is not MISSING


def whole(run: State) -> Any:
    run.read.append(WHOLE)
    return run.values


def fact(name: str, parts: Sequence[Code], run: State) -> Any:
    arguments = [part(run) for part in parts]
    doubt = unknown(*arguments)
    if doubt is not None:
        return doubt
    if name in OF_DISK and not isinstance(arguments[0], (str, bytes, int)):  # whatever is there
        raise failed(TypeError(f"stat: path should be string, bytes, os.PathLike or integer, not {type(arguments[0]).__name__}"))
    try:
        answer = run.facts(name, *arguments)
    except PYTHON as error:
        raise failed(error) from None
    return Unknown(Reason("machine", " ".join(map(str, [name, *arguments])))) if answer is None else answer


def variable(name: Code, default: Code, run: State) -> Any:
    key = name(run)
    if isinstance(key, Unknown):
        return key
    value = run.environment.get(key, MISSING)
    answer = run.facts("env", key) if value is MISSING else value
    return default(run) if answer is None else answer


def instance(name: str, defaults: Code, required: Sequence[str], passed: Code, run: State) -> Any:
    """An object of a class, as the values of its fields."""
    arguments = passed(run)
    if isinstance(arguments, Unknown):
        return arguments
    if not isinstance(arguments, dict):
        raise Raised("TypeError", f"{name}() argument after ** must be a mapping, not {type(arguments).__name__}")
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


def first_of(wanted: bool, parts: Sequence[Code], run: State) -> Any:
    """`and` and `or`: the first value that decides, else the last one; unknown if an unknown one comes before it."""
    value = None
    for part in parts:
        value = part(run)
        if isinstance(value, Unknown) or bool(value) == wanted:
            break
    return value


def choice(condition: Code, positive: Code, negative: Code, run: State) -> Any:
    holds = condition(run)
    if not isinstance(holds, Unknown):
        return positive(run) if holds else negative(run)
    values = []
    for branch in (positive, negative):
        try:
            values.append(branch(run))
        except Raised as raised:  # noqa: PERF203
            values.append(Unknown(Reason("program", raised.kind)))
    return either(holds, *values)


def copied(constants: tuple[Any, ...], make: type, run: State) -> Any:
    return make(constants)


def collected(make: type, parts: Sequence[Code], run: State) -> Any:
    """A list or a tuple, which may have something unknown in it."""
    return make([part(run) for part in parts])


def mapping(pairs: Sequence[tuple[Code, Code]], run: State) -> Any:
    values = {}
    for key, part in pairs:
        name = key(run)
        if isinstance(name, Unknown):
            return name
        values[name] = part(run)
    return values


def with_entry(section: Code, key: Code, part: Code, run: State) -> Any:
    box, name, item = section(run), key(run), part(run)
    if isinstance(box, Unknown) or isinstance(name, Unknown):
        return unknown(box, name)
    return {**box, name: item} if isinstance(box, dict) else box


def attribute(section: Code, name: str, run: State) -> Any:
    box = section(run)
    if isinstance(box, dict):
        return box.get(name)
    if isinstance(box, Unknown):
        return box
    if isinstance(box, type) and name == "__name__":
        return box.__name__
    raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{name}'")


def attribute_or(section: Code, key: Code, default: Code, run: State) -> Any:
    box, name = section(run), key(run)
    if isinstance(box, Unknown) or isinstance(name, Unknown):
        return unknown(box, name)
    value = box.get(name, MISSING) if isinstance(box, dict) else MISSING
    return default(run) if value is MISSING else value


def get(section: Code, key: Code, default: Code, run: State) -> Any:
    box, name = section(run), key(run)
    if isinstance(box, Unknown) or isinstance(name, Unknown):
        return unknown(box, name)
    run.entry = name
    if not isinstance(box, dict):
        raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute 'get'")
    try:
        value = box.get(name, MISSING)
    except TypeError as error:
        raise failed(error) from None
    return default(run) if value is MISSING else value


def entry(box: Any, key: Any) -> Any:
    """`box[key]`, of which other entries may be unknown."""
    try:
        return box[key]
    except PYTHON as error:
        raise failed(error) from None


def at(section: Code, key: Code, run: State) -> Any:
    box, run.entry = section(run), key(run)
    doubt = unknown(box, run.entry)
    return entry(box, run.entry) if doubt is None else doubt


def some(kind: str, parts: Sequence[tuple[Code, Code]], run: State) -> Any:
    elements, doubt = [], None
    for condition, element in parts:
        holds = condition(run)
        if isinstance(holds, Unknown):
            doubt = unknown(holds, doubt)
        elif holds:
            elements.append(element(run))
    return MAKE[kind](elements) if doubt is None else doubt


def comprehension(kind: str, name: str, through: Code, condition: Code, element: Code, run: State) -> Any:
    items = through(run)
    if isinstance(items, Unknown):
        return items
    before, elements, doubt = run.bound.get(name), [], None
    for item in items if isinstance(items, list | tuple | dict) else python(list, items):
        run.bound[name] = item
        holds = condition(run)
        if isinstance(holds, Unknown):
            doubt = unknown(holds, doubt)
        elif holds:
            elements.append(element(run))
    run.bound[name] = before
    if doubt is None and kind not in ("list", "gen"):
        doubt = unknown(*elements)
    return doubt if doubt is not None else MAKE[kind](elements)


def method(name: str, box: Any, *arguments: Any) -> Any:
    if isinstance(box, dict) and name in ("keys", "values", "items"):
        return list(getattr(box, name)())
    if not hasattr(box, name):
        raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{name}'")
    return python(getattr(box, name), *arguments)


def is_a(item: Code, kinds: tuple[type, ...], run: State) -> Any:
    value = item(run)
    return value if isinstance(value, Unknown) else isinstance(value, kinds)


def member(item: Code, enum: str, members: Code, mark: str | None, run: State) -> Any:
    """The conversion of a value to a member of an Enum; `explicit` for one of transformers, which names its members where the value is
    none.
    """
    value, pairs = item(run), members(run)
    if (doubt := unknown(value, pairs)) is not None:
        return doubt
    if not any(value == choice for _, choice in pairs):
        choices = [choice for _, choice in pairs]
        explicit = f"{value} is not a valid {enum}, please select one of {choices}"
        raise Raised("ValueError", explicit if mark == "explicit" else f"{value!r} is not a valid {enum}")
    return value


def named_member(item: Code, enum: str, members: Code, run: State) -> Any:
    return applied(lambda name, pairs: entry(dict(pairs), name), (item, members), run)


def fails(parts: Sequence[Code], kinds: Sequence[str], run: State) -> Any:
    try:
        doubt = unknown(*(part(run) for part in parts))
        return False if doubt is None else doubt
    except Raised as raised:
        if kinds and raised.kind not in kinds and "Exception" not in kinds:
            raise
        return True


def template(parts: Sequence[Any], run: State) -> Any:
    return "".join(part if isinstance(part, str) else formatted(run, *part) for part in parts)


def formatted(run: State, expression: Any, part: Code, conversion: str, form: str) -> str:
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
    import re

    try:
        return re.compile(text)
    except re.error as error:
        raise Raised("error", str(error)) from None


def version_of(text: object) -> tuple[tuple[int, ...], int]:
    import re

    match = re.match(r"v?(\d+(?:\.\d+)*)", str(text))
    if match is None:
        raise Raised("InvalidVersion", f"Invalid version: {str(text)!r}")
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), 0 if re.match(r"\.?(dev|a|b|rc)", str(text)[match.end() :]) else 1


def parsed(name: str, text: Any) -> Any:
    """The value that a string of JSON, or of a Python literal, stands for."""
    from ast import literal_eval
    from json import loads

    return python(loads if name == "loads" else literal_eval, text)


MAKE: dict[str, Callable[[list[Any]], Any]] = {"list": list, "gen": list, "set": set, "dict": dict}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (str, int, float, bool, sum, sorted, set, list, tuple, dict, range, min, max, abs)},
    **{name: getattr(math, name) for name in ("ceil", "floor", "gcd", "isfinite", "log2", "sqrt")},
    "enumerate": lambda *items: list(enumerate(*items)),
    "compile": pattern,
    "fullmatch": lambda text, value: pattern(text).fullmatch(value),
}
# Functions of what may have something unknown in it.
OF_PARTS: dict[str, Callable[..., Any]] = {
    "any": partial(any_or_all, True),
    "all": partial(any_or_all, False),
    "len": lambda items: len(items) if isinstance(items, list | dict | tuple) else python(len, items),
}
# What is made of a part of an expression, by the letter that an operator has for it.
COMPILED: dict[str, Callable[[Any], Any]] = {
    "r": lambda part: part,
    "c": code,
    "t": truth_of,
    "p": lambda part: (truth_of(part[0]), code(part[1])),
    "k": lambda part: (code(part[0]), code(part[1])),
    "d": lambda part: code(["dict", *part]),
    "l": lambda part: [code(inner) for inner in part[1:]],
    "n": lambda part: OF_PARTS.get(part) or partial(python, FUNCTIONS[part]),
    "m": lambda part: partial(method, part),
    "j": lambda part: partial(parsed, part),
    "y": lambda part: TYPES.get(part, ()),
    "x": lambda part: part if isinstance(part, str) else (part[0], code(part[0]), part[1], part[2]),
}
# Operator -> its function, the letters of its parts, that of any further ones, and what comes before these.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "f": (field, "r", ""),
    "f?": (field_or, "rc", ""),
    "f!": (existing_field, "r", ""),
    "has": (has, "c", ""),
    "self": (whole, "", ""),
    "v": (lambda name, run: run.kept.get(name, NOT_SET), "r", ""),
    "x": (lambda name, run: run.bound[name], "r", ""),
    "fact": (fact, "r", "c"),
    "env": (variable, "cc", ""),  # name, default
    "new": (instance, "rdrc", ""),  # name, (field, default) of its fields, those without default, arguments
    "?": (lambda reason, run: Unknown(Reason("program", reason)), "r", ""),
    "and": (first_of, "", "c", False),
    "or": (first_of, "", "c", True),
    "not": (lambda inner, run: negated(inner(run)), "t", ""),
    "neg": (applied, "", "c", partial(python, neg)),
    "if": (choice, "tcc", ""),
    "list": (collected, "", "c", list),
    "tuple": (collected, "", "c", tuple),
    "set": (applied, "", "c", lambda *items: python(set, items)),
    "dict": (mapping, "", "k"),
    "with": (with_entry, "ccc", ""),
    "attr": (attribute, "cr", ""),
    "getattr": (attribute_or, "ccc", ""),
    "has attr": (applied, "", "c", lambda box, name: hasattr(box, name) or (isinstance(box, dict) and name in box)),
    "get": (get, "ccc", ""),
    "at": (at, "cc", ""),
    "slice": (applied, "", "c", lambda box, start, end: python(lambda items: items[start:end], box)),
    "some": (some, "r", "p"),
    "each": (comprehension, "rrctc", ""),  # kind, name, what it goes through, condition, element
    "call": (applied, "n", "c"),
    "math": (applied, "n", "c"),
    "re": (applied, "n", "c"),
    "m": (applied, "m", "c"),
    "is a": (is_a, "c", "y"),
    "type": (applied, "", "c", type),
    "value": (lambda value, run: value(run), "c", ""),
    "version": (applied, "", "c", partial(python, version_of)),
    "parsed": (applied, "j", "c"),
    "member": (member, "crcr", ""),  # value, name of the Enum, (name, value) of its members, `explicit`
    "named": (named_member, "crc", ""),
    "fails": (fails, "l", "r"),
    "fmt": (template, "", "x"),
}
OPERATORS = {
    name: (function, [COMPILED[letter] for letter in letters], COMPILED.get(rest), *fixed)
    for name, (function, letters, rest, *fixed) in SIGNATURES.items()
}
