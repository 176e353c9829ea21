"""The rows of a kind, read from its generated table when a file of the kind is there, and those that may do something for some keys."""

from __future__ import annotations

from cfglint.frameworks.base import imported
from cfglint.frameworks.releases.history import holds
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.evaluation import Evaluation, cannot_fail, every
from cfglint.frameworks.rows.expressions import WHOLE, Raised, Row
from cfglint.source.annotations import Any, Callable, Iterable, Iterator, Mapping, Set, TypeAlias
from cfglint.source.record import Record

Needs: TypeAlias = frozenset[str]


ALWAYS: Needs = frozenset()
DEEPEST = 3  # kept values that are made of others


class Function(Record):
    """The rows of one function of a release; `field` is the one that a validator of a field is for."""

    name: str
    field: str
    rows: list[Row]


class Table:
    """The functions of all releases of a kind."""

    def __init__(self, read: dict[str, Any]) -> None:
        self._read = read

    def functions(self, stage: str, release: Version) -> list[Function]:
        """The functions that a release calls in a stage, in order; those without rows are left out."""
        return [function for name in self._order(stage, release) if (function := self._function(stage, name, release)) is not None]

    def place(self, stage: str, release: Version, mark: str) -> int:
        """The number of functions before a mark in the order of a stage."""
        order = self._order(stage, release)
        before = order[: order.index(mark)] if mark in order else []
        return sum(self._function(stage, name, release) is not None for name in before)

    def rows(self, stage: str, name: str, release: Version) -> list[Row]:
        """The rows of a function of a release; none if it has no such function."""
        function = self._function(stage, name, release) if stage in self._read else None
        return function.rows if function is not None else []

    def messages(self, page_of: Callable[[str, Row], str]) -> Iterator[tuple[str, str]]:
        """(code, exception) of every row of any release that raises, by the page of a function's row; values are `<>`."""
        for stage, functions in self._read.items():
            for name, spans in functions.items() if stage not in ("rows", "orders") else ():
                for row in every(self._read["rows"][each] for _, _, rows in spans for each in rows.split()):
                    text = row.get("say", "")
                    text = text if isinstance(text, str) else "".join(part if isinstance(part, str) else "<>" for part in text[1:])
                    text = text.partition("\n\n")[0]  # as far as a log shows it
                    if text and "raise" in row:
                        yield page_of(name.partition(" ")[0], row), f"{row['raise']}: {text}"

    def _order(self, stage: str, release: Version) -> list[str]:
        return next(names for since, names in reversed(self._read["orders"][stage]) if tuple(since) <= release)

    def _function(self, stage: str, name: str, release: Version) -> Function | None:
        for since, until, rows in self._read[stage].get(name, ()):
            if holds(tuple(since), tuple(until or ()), release):
                function, _, field = name.partition(" ")
                return Function(function, field, [self._read["rows"][row] for row in rows.split()])
        return None


def table_of(kind: str) -> Table:
    return Table(imported(f"{kind}._rows.TABLE"))


class Selection:
    """Functions in order. From the second file on each has the keys that it looks up in a file without any: if another file has none of
    these either, it does nothing, as it did there; nor does it if no row of it has the values that it needs.
    """

    def __init__(self, functions: Iterable[Function], unset: Callable[[], Evaluation]) -> None:
        self._functions: list[tuple[Function, frozenset[str] | None, list[Needs]]] = [(function, None, [ALWAYS]) for function in functions]
        self._unset: Callable[[], Evaluation] | None = unset
        self._is_used = False

    def that_use(self, keys: Set[Any], values: Mapping[str, Any]) -> Iterator[Function]:
        """The functions that may do something for a file with these keys and values, which the functions themselves may change."""
        if self._is_used and self._unset is not None:
            unset = self._unset
            self._functions = [(each, looked_up(each, unset()), needs_of(each.rows)) for each, _, _ in self._functions]
            self._unset = None
        self._is_used = True
        for function, needed, rows in self._functions:
            if function.field and function.field not in keys:
                continue
            if needed is None or not keys.isdisjoint(needed):
                for row in rows:
                    for key in row:
                        if values.get(key) is None:
                            break
                    else:
                        yield function
                        break


def looked_up(function: Function, unset: Evaluation) -> frozenset[str] | None:
    """The keys that a function looks up in a file without keys; None if it does anything to that file, or looks at all of it."""
    try:
        unset.run(function.rows)
    except Raised:
        return None
    return None if unset.changed or unset.undecided or WHOLE in unset.read else frozenset(unset.read)


def needs_of(rows: list[Row]) -> list[Needs]:
    """For each row that does something the keys that have to be set for it, none twice."""
    names = [row["let"] for row in rows if "let" in row]
    kept = {row["let"]: row for row in rows if "let" in row and names.count(row["let"]) == 1}
    acting = [row for row in rows if "let" not in row or not cannot_fail(row["be"])]
    found = {frozenset(required(row["when"], kept)) for row in acting}
    return [ALWAYS] if ALWAYS in found else [*found]


def required(guards: Iterable[Any], kept: Mapping[str, Row], depth: int = 0) -> Iterator[str]:
    """The keys that have to be set for guards to hold, up to the first guard that may fail."""
    for guard in guards:
        if not isinstance(guard, list) or not cannot_fail(guard):
            return
        operator, inner = guard[:2]
        if operator == "v" and inner in kept and depth < DEEPEST:
            yield from required([*kept[inner]["when"], kept[inner]["be"]], kept, depth + 1)
        elif operator == "and":
            yield from required(guard[1:], kept, depth + 1)
        elif operator == "f":
            yield inner
        elif inner[:1] == ["f"] and (is_set(guard) if operator in ("is not", "==", "in") else operator == "is a"):
            yield inner[1]


def is_set(guard: list[Any]) -> bool:
    """Whether a comparison of a key is false for one that is not set."""
    operator, _, other = guard
    if operator == "in":
        return not any(value is None or isinstance(value, list) for value in other[1:])
    return other is None if operator == "is not" else other is not None and not isinstance(other, list)
