"""Runs rows, a framework's checks as guarded actions, which `tools/extract_rows.py` takes from the functions of its wheels.

A row is a mapping with the guards `when`, which hold from left to right, and one action:

    raise TYPE, say | set FIELD, be | put BOX, key, be | drop KEY [, of BOX] | let $NAME, be | try VALUE | each $NAME, in, rows
    | stop | todo

A guard or value is a JSON scalar or `[operator, ...]`; `OPERATORS` are the operators. `["fact", name, ...]` asks about the environment,
`["?", reason]` is what the tool cannot read, which stays unknown.

What is unknown spreads through the operators; `and`, `or` and `if` decide where they can. A row whose guards cannot be decided does not
refuse anything: it is noted in `undecided`, and what it would set becomes unknown.
"""

from __future__ import annotations

import math
import re

from cfglint.frameworks.unknown import Unknown
from cfglint.source.annotations import Any, Callable, Iterable, Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Row: TypeAlias = dict[str, Any]
    Facts: TypeAlias = Callable[..., Any]

PYTHON = (TypeError, ValueError, ZeroDivisionError, KeyError, IndexError, AttributeError, OverflowError, re.error)
TYPES = {
    **{kind.__name__: kind for kind in (str, int, float, bool, list, dict, tuple, set)},
    "NoneType": type(None),
}
CALLS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (len, str, int, float, bool, sum, sorted, set, list, tuple, dict, range, min, max, abs)},
    "enumerate": lambda *items: list(enumerate(*items)),
}
PLAIN = (str, int, float, type(None))  # values with nothing inside
MISSING = object()


class Raised(Exception):
    """The framework raises here; `row` is the row, whose own value fails if it is not one that raises."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.row: Row = {}

    @property
    def intended(self) -> bool:
        """Whether the check refuses the values, rather than fails on them."""
        return "raise" in self.row


def failed(error: Exception) -> Raised:
    """An exception of Python as one of the framework."""
    return Raised("error" if isinstance(error, re.error) else type(error).__name__, str(error))


class Stop(Exception):
    """A loop ends."""


def is_same(left: object, right: object) -> bool:
    """Whether two values are the same object for Python, as far as values of a file can tell."""
    return left is right or (type(left) is type(right) and left == right and not isinstance(left, list | dict))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": is_same,
    "is not": lambda a, b: not is_same(a, b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "|": lambda a, b: a | b,
    "&": lambda a, b: a & b,
}


def unknown(*values: object) -> Unknown | None:
    """One unknown value with the reasons of all that are unknown; None if every value is known."""
    found = [value for value in values if isinstance(value, Unknown)]
    return Unknown(tuple(dict.fromkeys(reason for value in found for reason in value.reasons))) if found else None


def inside(value: object, depth: int = 0) -> Unknown | None:
    """What is unknown inside a value."""
    if isinstance(value, Unknown):
        return value
    if depth < 3 and isinstance(value, dict | list | tuple):
        parts: Iterable[object] = value.values() if isinstance(value, dict) else value
        return unknown(*(found for part in parts if (found := inside(part, depth + 1)) is not None))
    return None


def every(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with those of their loops."""
    for row in rows:
        yield row
        yield from every(row.get("rows", ()))


def version_of(text: object) -> tuple[tuple[int, ...], int]:
    """A version that can be compared."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", str(text))
    if found is None:
        raise Raised("InvalidVersion", f"Invalid version: {str(text)!r}")
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), 0 if re.match(r"\.?(dev|a|b|rc)", str(text)[found.end() :]) else 1


class Evaluation:
    """Rows on `values`, the fields of a config; `facts` answers questions about the environment, None where it has no answer.

    `enums` has the names of the classes of fields whose values are members of an Enum. `read` and `changed` are the names of fields
    that the rows looked up and set, `undecided` the rows that need what is unknown.
    """

    __slots__ = ("bound", "changed", "enums", "facts", "kept", "read", "undecided", "values")

    def __init__(self, values: dict[str, Any], facts: Facts, enums: Mapping[str, str] | None = None) -> None:
        self.values = values
        self.facts = facts
        self.enums = enums or {}
        self.read: list[str] = []
        self.changed: set[str] = set()
        self.undecided: list[Row] = []
        self.kept: dict[str, Any] = {}
        self.bound: dict[str, Any] = {}

    # ---- rows ------------------------------------------------------------------------------------------------------------

    def run(self, rows: Iterable[Row]) -> None:
        """Run rows in order; Raised where the framework raises."""
        for row in rows:
            try:
                self._row(row)
            except Raised as raised:  # noqa: PERF203
                raised.row = raised.row or row
                raise

    def holds(self, guards: Iterable[Any], wanted: bool = True) -> bool | Unknown:
        """Whether all guards hold, or, if `wanted` is false, any of them; those after one that decides are not looked at.

        After an unknown guard Python may not get to the next one, which can fail.
        """
        doubt = None
        for guard in guards:
            try:
                value = self.truth(guard)
            except Raised:
                if doubt is None:
                    raise
                return doubt
            if value is not wanted:
                if value is (not wanted):
                    return value
                doubt = unknown(value, doubt)
        return wanted if doubt is None else doubt

    def truth(self, expression: Any) -> bool | Unknown:
        """Whether a value is true."""
        if not isinstance(expression, list):
            return bool(expression)
        operator = expression[0]
        if operator == "f":
            self.read.append(expression[1])
            value = self.values.get(expression[1])
        elif operator == "not":
            value = self.truth(expression[1])
            return value if isinstance(value, Unknown) else not value
        elif operator in ("and", "or"):
            return self.holds(expression[1:], operator == "and")
        else:
            value = self.eval(expression)
        return value if isinstance(value, Unknown) else bool(value)

    def _row(self, row: Row) -> None:
        holds = self.holds(row["when"])
        if isinstance(holds, Unknown):
            self._in_doubt(row, holds)
        elif not holds:
            if "let" in row:
                self.kept.setdefault(row["let"], False)
        elif "raise" in row:
            said = self.eval(row["say"])
            raised = Raised(row["raise"], str(said))
            raised.row = row
            raise raised
        elif "let" in row:
            self.kept[row["let"]] = self.eval(row["be"])
        elif "set" in row:
            self._set(row["set"], self.eval(row["be"]))
        elif "put" in row:
            self._put(self.eval(row["put"]), self.eval(row["key"]), self.eval(row["be"]))
        elif "drop" in row:
            self._drop(self.eval(row["of"]) if "of" in row else self.values, self.eval(row["drop"]))
        elif "each" in row:
            self._loop(row)
        elif "stop" in row:
            raise Stop
        elif "try" in row:
            self.eval(row["try"])
        elif "todo" in row:
            self.undecided.append(row)

    def _in_doubt(self, row: Row, doubt: Unknown) -> None:
        """A row that may hold: what it would set is unknown then."""
        self.undecided.append(row)
        if "let" in row:
            self.kept[row["let"]] = self._either(doubt, self.kept.get(row["let"], doubt), row["be"])
        elif "set" in row:
            self._set(row["set"], self._either(doubt, self.field(row["set"]), row["be"]))
        elif "put" in row:
            self._put(self.eval(row["put"]), self.eval(row["key"]), doubt)
        elif "drop" in row and "of" not in row and isinstance(row["drop"], str) and self.values.get(row["drop"]) is not None:
            self._set(row["drop"], doubt)
        elif "each" in row:
            self._skipped_loop(row, doubt)

    def _either(self, doubt: Unknown, old: object, new: object) -> object:
        """The value that is the same whether a row holds or not, or an unknown one."""
        try:
            value = self.eval(new)
        except Raised:
            return doubt
        known = not isinstance(value, Unknown) and not isinstance(old, Unknown)
        return value if known and type(value) is type(old) and value == old else unknown(doubt, value, old)

    def _set(self, name: str, value: object) -> None:
        self.values[name] = value
        self.changed.add(name)

    def _put(self, box: Any, key: Any, value: object) -> None:
        if isinstance(box, Unknown) or isinstance(key, Unknown):
            return
        if not isinstance(box, dict | list):
            raise Raised("TypeError", f"'{type(box).__name__}' object does not support item assignment")
        if key is None and isinstance(box, list):
            box[:] = value if isinstance(value, list) else box
        else:
            box[key] = value
        self.changed.add("")

    def _drop(self, box: Any, key: Any) -> None:
        if isinstance(box, dict) and not isinstance(key, Unknown):
            self.changed.add(str(key))
            box.pop(key, None)

    def _loop(self, row: Row) -> None:
        items = self.eval(row["in"])
        if isinstance(items, Unknown):
            self.undecided.append(row)
            self._skipped_loop(row, items)
            return
        for item in self.python(list, items):
            self.kept[row["each"]] = item
            try:
                self.run(row["rows"])
            except Stop:
                break

    def _skipped_loop(self, row: Row, doubt: Unknown) -> None:
        for inner in every(row["rows"]):
            if "let" in inner:
                self.kept[inner["let"]] = doubt
            elif "set" in inner:
                self._set(inner["set"], doubt)

    # ---- values ----------------------------------------------------------------------------------------------------------

    def eval(self, expression: Any) -> Any:
        """The value of an expression."""
        if not isinstance(expression, list):
            return expression
        operator = expression[0]
        if operator == "f":
            self.read.append(expression[1])
            return self.values.get(expression[1])
        function = OPERATORS.get(operator)
        if function is not None:
            return function(self, expression)
        left, right = self.eval(expression[1]), self.eval(expression[2])
        if isinstance(left, PLAIN) and isinstance(right, PLAIN):
            try:
                return BINARY[operator](left, right)
            except PYTHON as error:
                raise failed(error) from None
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return unknown(left, right)
        return self.python(BINARY[operator], left, right)

    def python(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function of Python, unknown if it gets anything unknown."""
        doubt = unknown(*(found for argument in arguments if (found := inside(argument)) is not None))
        if doubt is not None:
            return doubt
        try:
            return function(*arguments)
        except PYTHON as error:
            raise failed(error) from None

    def all(self, expressions: Iterable[Any]) -> tuple[list[Any], Unknown | None]:
        """The values of expressions, and whether one is unknown."""
        values = [self.eval(expression) for expression in expressions]
        return values, unknown(*values)

    def field(self, name: str, default: object = None) -> Any:
        """The value of a field, or what stands for one that is not set."""
        self.read.append(name)
        return self.values.get(name, default)

    def first(self, expressions: Iterable[Any], wanted: bool) -> Any:
        """The first value that is as true as wanted, else the last one; unknown if an unknown one comes before it."""
        value = None
        for expression in expressions:
            value = self.eval(expression)
            if isinstance(value, Unknown) or bool(value) == wanted:
                return value
        return value


def operator_field(run: Evaluation, e: Any) -> Any:
    return run.field(e[1])


def operator_field_or(run: Evaluation, e: Any) -> Any:
    value = run.field(e[1], MISSING)
    return run.eval(e[2]) if value is MISSING else value


def operator_entry_field(run: Evaluation, e: Any) -> Any:
    value = run.field(e[1], MISSING)
    if value is MISSING:
        raise Raised("KeyError", repr(e[1]))
    return value


def operator_has(run: Evaluation, e: Any) -> Any:
    key = run.eval(e[1])
    return key if isinstance(key, Unknown) else run.field(key, MISSING) is not MISSING


def operator_self(run: Evaluation, e: Any) -> Any:
    run.read.append("")
    return run.values


def operator_fact(run: Evaluation, e: Any) -> Any:
    arguments, doubt = run.all(e[2:])
    if doubt is not None:
        return doubt
    answer = run.facts(e[1], *arguments)
    return Unknown((" ".join(map(str, [e[1], *arguments])),)) if answer is None else answer


def operator_if(run: Evaluation, e: Any) -> Any:
    test = run.truth(e[1])
    if not isinstance(test, Unknown):
        return run.eval(e[2] if test else e[3])
    found = []
    for branch in e[2:4]:
        try:
            found.append(run.eval(branch))
        except Raised as raised:  # noqa: PERF203
            found.append(Unknown((raised.kind,)))
    one, other = found
    same = not isinstance(one, Unknown) and not isinstance(other, Unknown) and type(one) is type(other) and one == other
    return one if same else unknown(test, one, other)


def operator_dict(run: Evaluation, e: Any) -> Any:
    made = {}
    for key, value in e[1:]:
        name = run.eval(key)
        if isinstance(name, Unknown):
            return name
        made[name] = run.eval(value)
    return made


def operator_set(run: Evaluation, e: Any) -> Any:
    items, doubt = run.all(e[1:])
    return run.python(set, items) if doubt is None else doubt


def operator_with(run: Evaluation, e: Any) -> Any:
    (box, key, value), _ = run.all(e[1:])
    if isinstance(box, Unknown) or isinstance(key, Unknown):
        return unknown(box, key)
    return {**box, key: value} if isinstance(box, dict) else box


def operator_attribute(run: Evaluation, e: Any) -> Any:
    box = run.eval(e[1])
    if isinstance(box, Unknown):
        return box
    if isinstance(box, dict):
        return box.get(e[2])
    if isinstance(box, type) and e[2] == "__name__":
        return box.__name__
    raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{e[2]}'")


def operator_attribute_or(run: Evaluation, e: Any) -> Any:
    (box, key), doubt = run.all(e[1:3])
    if doubt is not None:
        return doubt
    found = box.get(key, MISSING) if isinstance(box, dict) else MISSING
    return run.eval(e[3]) if found is MISSING else found


def operator_get(run: Evaluation, e: Any) -> Any:
    (box, key), doubt = run.all(e[1:3])
    if doubt is not None:
        return doubt
    if not isinstance(box, dict):
        raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute 'get'")
    try:
        if key in box:
            return box[key]
    except TypeError as error:
        raise Raised("TypeError", str(error)) from None
    return run.eval(e[3]) if len(e) > 3 else None


def operator_entry(run: Evaluation, e: Any) -> Any:
    (box, key), doubt = run.all(e[1:])
    if doubt is not None:
        return doubt
    try:
        return box[key]
    except PYTHON as error:
        raise failed(error) from None


def operator_slice(run: Evaluation, e: Any) -> Any:
    (box, start, end), doubt = run.all(e[1:])
    return run.python(lambda sequence: sequence[start:end], box) if doubt is None else doubt


def operator_some(run: Evaluation, e: Any) -> Any:
    """The elements whose condition holds."""
    found, doubt = [], None
    for condition, element in e[2:]:
        holds = run.truth(condition)
        if isinstance(holds, Unknown):
            doubt = unknown(holds, doubt)
        elif holds:
            found.append(run.eval(element))
    return doubt if doubt is not None else set(found) if e[1] == "set" else found


def operator_each(run: Evaluation, e: Any) -> Any:
    """A comprehension: kind, name, what it goes through, condition, element."""
    _, kind, name, through, condition, element = e
    items = run.eval(through)
    if isinstance(items, Unknown):
        return items
    before, found, doubt = run.bound.get(name), [], None
    for item in run.python(list, items) if not isinstance(items, list | tuple | dict) else items:
        run.bound[name] = item
        holds = run.truth(condition)
        if isinstance(holds, Unknown):
            doubt = unknown(holds, doubt)
        elif holds:
            found.append(run.eval(element))
    run.bound[name] = before
    if doubt is not None or kind in ("list", "gen"):
        return found if doubt is None else doubt
    return unknown(*found) or (set(found) if kind == "set" else dict(found))


def operator_call(run: Evaluation, e: Any) -> Any:
    arguments, doubt = run.all(e[2:])
    if doubt is not None:
        return doubt
    if e[1] in ("any", "all"):
        decisive = e[1] == "any"
        if any(bool(item) == decisive for item in arguments[0] if not isinstance(item, Unknown)):
            return decisive
        return unknown(*arguments[0]) or not decisive
    if e[1] == "len" and isinstance(arguments[0], list | dict | tuple):
        return len(arguments[0])
    return run.python(CALLS[e[1]], *arguments)


def operator_method(run: Evaluation, e: Any) -> Any:
    name, ((box, *arguments), doubt) = e[1], run.all(e[2:])
    if doubt is not None:
        return doubt
    if isinstance(box, dict) and name in ("keys", "values", "items"):
        return list(getattr(box, name)())
    if not hasattr(box, name):
        raise Raised("AttributeError", f"'{type(box).__name__}' object has no attribute '{name}'")
    return run.python(getattr(box, name), *arguments)


def operator_is_a(run: Evaluation, e: Any) -> Any:
    value = run.eval(e[1])
    return value if isinstance(value, Unknown) else isinstance(value, tuple(TYPES[name] for name in e[2:] if name in TYPES))


def operator_member(run: Evaluation, e: Any) -> Any:
    """The conversion of a value to a member of an Enum: value, name of the Enum, (name, value) of its members."""
    value = run.eval(e[1])
    if isinstance(value, Unknown) or any(value == member for _, member in run.eval(e[3])):
        return value
    raise Raised("ValueError", f"{value!r} is not a valid {e[2]}")


def operator_fails(run: Evaluation, e: Any) -> Any:
    """Whether expressions fail with one of some exceptions."""
    try:
        _, doubt = run.all(e[1][1:])
        return False if doubt is None else doubt
    except Raised as raised:
        if e[2:] and raised.kind not in e[2:] and "Exception" not in e[2:]:
            raise
        return True


def operator_format(run: Evaluation, e: Any) -> Any:
    """A string of texts and values with (value, conversion, format)."""
    parts = []
    for part in e[1:]:
        if isinstance(part, str):
            parts.append(part)
            continue
        value = run.eval(part[0])
        if inside(value) is not None:
            parts.append("<?>")
            continue
        if isinstance(value, str) and part[0][0] == "f" and part[0][1] in run.enums:
            member = f"{run.enums[part[0][1]]}.{value.upper()}"
            parts.append(f"<{member}: {value!r}>" if part[1] == "r" else member)
            continue
        if isinstance(value, set):
            value = "{" + ", ".join(map(repr, sorted(value, key=str))) + "}"
        shown = repr(value) if part[1] == "r" else str(value) if part[1] == "s" else value
        parts.append(run.python(format, shown, part[2]))
    return "".join(parts)


def of_one(function: Callable[[Any], Any]) -> Callable[[Evaluation, Any], Any]:
    """An operator on one value."""

    def operator(run: Evaluation, e: Any) -> Any:
        value = run.eval(e[1])
        return value if isinstance(value, Unknown) else run.python(function, value)

    return operator


def of_module(functions: Mapping[str, Callable[..., Any]]) -> Callable[[Evaluation, Any], Any]:
    """An operator that calls a named function."""

    def operator(run: Evaluation, e: Any) -> Any:
        arguments, doubt = run.all(e[2:])
        return run.python(functions[e[1]], *arguments) if doubt is None else doubt

    return operator


OPERATORS: dict[str, Callable[[Evaluation, Any], Any]] = {
    "f": operator_field,
    "f?": operator_field_or,
    "f!": operator_entry_field,
    "has": operator_has,
    "self": operator_self,
    "v": lambda run, e: run.kept.get(e[1], Unknown()),
    "x": lambda run, e: run.bound[e[1]],
    "fact": operator_fact,
    "?": lambda run, e: Unknown((e[1],)),
    "and": lambda run, e: run.first(e[1:], wanted=False),
    "or": lambda run, e: run.first(e[1:], wanted=True),
    "not": lambda run, e: run.truth(e),
    "if": operator_if,
    "list": lambda run, e: [run.eval(item) for item in e[1:]],
    "tuple": lambda run, e: tuple(run.eval(item) for item in e[1:]),
    "set": operator_set,
    "dict": operator_dict,
    "with": operator_with,
    "attr": operator_attribute,
    "getattr": operator_attribute_or,
    "get": operator_get,
    "at": operator_entry,
    "slice": operator_slice,
    "some": operator_some,
    "each": operator_each,
    "call": operator_call,
    "m": operator_method,
    "is a": operator_is_a,
    "type": of_one(type),
    "value": lambda run, e: run.eval(e[1]),
    "version": of_one(version_of),
    "math": of_module({"gcd": math.gcd, "isfinite": math.isfinite}),
    "re": of_module({"compile": re.compile, "fullmatch": re.fullmatch}),
    "member": operator_member,
    "fails": operator_fails,
    "fmt": operator_format,
}
