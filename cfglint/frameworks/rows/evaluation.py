"""Runs rows, a framework's checks as guarded actions, which `tools/extract_rows.py` takes from the functions of its wheels.

A row is a mapping with the guards `when`, which hold from left to right, and one action:

    raise TYPE, say | set FIELD, be | put BOX, key, be | drop KEY [, of BOX] | let $NAME, be | try VALUE | each $NAME, in, rows
    | setenv NAME, be | read KEY | stop | todo

Its guards and values are the expressions of `expressions.py`. A row whose guards cannot be decided does not
refuse anything: it is noted in `undecided`, and what it would set becomes unknown.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.evaluate.operations import all_of, either
from cfglint.frameworks.rows.expressions import PYTHON, WHOLE, Code, Facts, Path, Raised, Row, State, Stop, code, failed, python, truth_of
from cfglint.source.annotations import Any, Iterable, Iterator, Mapping
from cfglint.source.load_results import copied

CODE = "code"  # what a row that ran keeps
VALUES = ("say", "be", "put", "key", "drop", "of", "in", "try", "setenv")  # the parts of a row that are expressions


def every(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        yield row
        yield from every(row.get("rows", ()))


def value_at(values: Mapping[str, Any], path: Path) -> Any:
    """The value of a key at any depth; None without it."""
    value: Any = values
    for step in path:
        if isinstance(value, list):
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def cannot_fail(e: Any) -> bool:
    if not isinstance(e, (list, tuple)):
        return True
    if e[0] in ("not", "is a"):
        return cannot_fail(e[1])
    if e[0] in ("and", "or"):
        return all(map(cannot_fail, e[1:]))
    if e[0] in ("==", "!=", "is", "is not"):
        return cannot_fail(e[1]) and cannot_fail(e[2])
    if e[0] in ("in", "not in"):
        return cannot_fail(e[1]) and isinstance(e[2], (list, tuple)) and e[2][0] in ("list", "tuple")
    return e[0] in ("f", "f?", "has", "fact", "v", "env") and all(isinstance(x, (str, int, float, bool, type(None))) for x in e[1:])


class Evaluation(State):
    """Rows on the values of a config; `undecided` are those that need what is unknown."""

    __slots__ = ("undecided",)

    def __init__(self, values: dict[str, Any], facts: Facts, enums: Mapping[str, str] | None = None) -> None:
        super().__init__(values, facts, enums)
        self.undecided: list[Row] = []

    def run(self, rows: Iterable[Row]) -> None:
        for row in rows:
            try:
                self._row(row, row.get(CODE) or compiled(row))
            except Raised as raised:  # noqa: PERF203
                raised.row = raised.row or row
                raise

    def moment(self) -> Evaluation:
        """The values of this moment, which later rows change."""
        copy = Evaluation(copied(self.values), self.facts, self.enums)
        copy.kept, copy.changed = {**self.kept}, {**self.changed}
        return copy

    def _row(self, row: Row, parts: Mapping[str, Any]) -> None:
        holds = parts["when"](self)
        if holds is False:
            if "let" in row:
                self.kept.setdefault(row["let"], False)
        elif holds is not True:
            self._in_doubt(row, parts, holds)
        elif "raise" in row:
            raise Raised(row["raise"], str(parts["say"](self)), row)  # a name for it would keep the frames, and the whole run, in memory
        elif "let" in row:
            self.kept[row["let"]] = parts["be"](self)
        elif "set" in row:
            self._set(row, parts["be"](self))
        elif "put" in row:
            self._put(parts["put"](self), parts["key"](self), parts["be"](self))
        elif "drop" in row:
            box, key = parts["of"](self) if "of" in row else self.values, parts["drop"](self)
            if isinstance(box, dict) and not isinstance(key, Unknown):
                self.changed[str(key)] = {}
                box.pop(key, None)
        elif "each" in row:
            self._loop(row, parts["in"](self))
        elif "setenv" in row:
            self._export(parts["setenv"](self), parts["be"](self))
        elif "stop" in row:
            raise Stop
        elif "try" in row:
            parts["try"](self)
        elif "todo" in row:
            self.undecided.append(row)

    def _in_doubt(self, row: Row, parts: Mapping[str, Any], doubt: Unknown) -> None:
        """A row that may hold: what it would set is unknown then."""
        self.undecided.append(row)
        if "let" in row:
            self.kept[row["let"]] = self._either(doubt, self.kept.get(row["let"], doubt), parts["be"])
        elif "set" in row:
            self._set(row, self._either(doubt, self.values.get(row["set"]), parts["be"]))
        elif "put" in row:
            self._put(parts["put"](self), parts["key"](self), doubt)
        elif "drop" in row and "of" not in row and isinstance(row["drop"], str) and self.values.get(row["drop"]) is not None:
            self._set({"set": row["drop"]}, doubt)
        elif "each" in row:
            self._skipped_loop(row, doubt)
        elif "setenv" in row:
            self._export(parts["setenv"](self), doubt)

    def _either(self, doubt: Unknown, old: object, new: Code) -> object:
        """The value that is the same whether a row holds or not, or an unknown one."""
        try:
            value = new(self)
        except Raised:
            return doubt
        return either(doubt, value, old)

    def _set(self, row: Row, value: object) -> None:
        self.values[row["set"]] = value
        self.changed[row["set"]] = row
        if isinstance(row.get("be"), list) and row["be"][0] == "member":
            self.enums[row["set"]] = row["be"][2]

    def _export(self, name: Any, value: Any) -> None:
        if not isinstance(value, str | Unknown):
            raise Raised("TypeError", f"str expected, not {type(value).__name__}")
        if not isinstance(name, Unknown):
            self.environment[name] = value

    def _put(self, box: Any, key: Any, value: object) -> None:
        if isinstance(box, Unknown) or isinstance(key, Unknown):
            return
        if not isinstance(box, dict | list):
            raise Raised("TypeError", f"'{type(box).__name__}' object does not support item assignment")
        if key is None and isinstance(box, list):
            box[:] = value if isinstance(value, list) else box
        else:
            try:
                box[key] = value
            except PYTHON as error:
                raise failed(error) from None
        self.changed[WHOLE] = {}

    def _loop(self, row: Row, items: Any) -> None:
        found = [*items] if isinstance(items, list | tuple | dict) else python(list, items)  # parts of it may be unknown
        if isinstance(found, Unknown):
            self.undecided.append(row)
            self._skipped_loop(row, found)
            return
        for item in found:
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
                self._set(inner, doubt)


def compiled(row: Row) -> Mapping[str, Any]:
    parts = {name: code(row[name]) for name in VALUES if name in row}
    parts["when"] = all_of([truth_of(guard) for guard in row["when"]], wanted=True, failure=Raised)
    row[CODE] = parts
    return parts
