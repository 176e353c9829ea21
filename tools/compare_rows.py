"""Compare the rows of a kind with the functions themselves on random values, also of wrong types.

    python tools/compare_rows.py KIND FOLDER [--release VERSION ...] [--count N] [--seed N] [--show N]

FOLDER has a folder for each release, as for `tools/rebuild_tables.py`. The modules of the package run with stand-ins for everything
outside of it. A case is equal if exception, message and the resulting values are. Functions that ask the environment are left out.
Exits 1 when fewer than 99.5 % are equal.
"""

from __future__ import annotations

import argparse
import builtins
import copy
import importlib
import random
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import rebuild_tables
from row_expressions import walk
from row_table_text import every

from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import WHOLE, Raised

ENOUGH = 0.995
OF_SEVERAL = {"accelerate", "verl"}  # whose rows are those of several functions on the values of one config
SOME: tuple[Any, ...] = (None, True, False, 0, 1, 2, 3.5, -1, "", "2", "auto", [], [1], ["a", 2], {}, {"a": 1})
Row = dict[str, Any]


class StandIn(types.ModuleType):
    """Something outside of the package: it can be called, subscripted, used as a decorator and as a base."""

    def __init__(self, name: str = "stand_in") -> None:
        super().__init__(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Base if name == "BaseModel" else decorator if name.endswith("validator") else StandIn(name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __add__ = __radd__ = __or__

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (Other,)

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Base:
    """In the place of pydantic's `BaseModel`."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __init_subclass__(cls, **keywords: Any) -> None:
        pass

    def __post_init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return None

    def __class_getitem__(cls, key: Any) -> Any:
        return cls


class Other(Base):
    """In the place of any other class, as that of a logger."""

    _VALID_DICT_FIELDS: ClassVar[list[str]] = []  # of TrainingArguments: TRL's classes add to it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)


def decorator(*names: Any, **keywords: Any) -> Callable[[Any], Any]:
    """In the place of pydantic's decorators."""
    return lambda function: function


class Section(dict):  # type: ignore[type-arg]
    """A nested model: a mapping whose entries are attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in self and hasattr(str, name):
            raise AttributeError(f"'dict' object has no attribute '{name}'")
        return None if name.startswith("__") else self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Sources:
    """The modules of a package, executed with stand-ins for what they import from elsewhere."""

    def __init__(self, root: Path, package: str) -> None:
        self.root, self.package = root, package
        self.modules: dict[str, Any] = {}

    def module(self, name: str) -> Any:
        if name in self.modules:
            return self.modules[name]
        path = self.root.joinpath(*name.split("."))
        path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        if not path.is_file():
            return None
        made = self.modules[name] = sys.modules[name] = types.ModuleType(name)  # where `dataclass` looks for the module of a class
        made.__file__, made.__package__ = str(path), name if path.name == "__init__.py" else name.rpartition(".")[0]
        made.__dict__["__builtins__"] = {**vars(builtins), "__import__": self.imported, "print": lambda *parts, **keywords: None}
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), made.__dict__)
        except Exception as problem:
            made.__dict__["problem"] = problem
        return made

    def imported(self, name: str, frame: Any = None, scope: Any = None, names: Any = (), level: int = 0) -> Any:
        """In the place of `__import__`: modules of the package and of the standard library, else a stand-in."""
        if level:
            parent = frame["__package__"].split(".")[: None if level == 1 else 1 - level]
            name = ".".join([*parent, *([name] if name else [])])
        top = name.partition(".")[0]
        if top == self.package:
            found = self.module(name) or StandIn(name)
            for each in names or ():
                if not hasattr(found, each):
                    setattr(found, each, self.module(f"{name}.{each}") or StandIn(each))
            return found if names else self.module(top) or StandIn(top)
        if (top in sys.stdlib_module_names and top not in ("importlib", "logging", "warnings")) or top == "yaml":
            return importlib.import_module(name) if names else importlib.import_module(top)
        return StandIn(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=sorted(rebuild_tables.WITH_ROWS - OF_SEVERAL))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", nargs="*", default=())
    parser.add_argument("--count", type=int, default=50, help="cases of a function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="differences that are printed")
    options = parser.parse_args()
    source, rows = importlib.import_module(f"rows_{options.kind}"), Counter[str]()
    folders = rebuild_tables.release_folders(importlib.import_module(f"tables_{options.kind}"), options.folder)
    for version, folder in folders.items():
        name = ".".join(map(str, version))
        if not options.release or name in options.release:
            compare(source, folder, options, name, rows)
    print(*(f"{what}: {number}" for what, number in rows.items()), sep="\n")
    total = rows["equal"] + rows["different"]
    return 0 if total and rows["equal"] >= ENOUGH * total else 1


def compare(source: Any, folder: Path, options: argparse.Namespace, release: str, counts: Counter[str]) -> None:
    """Compare the functions of a release."""
    sources = Sources(source.find(folder).root.parent, source.PACKAGE)
    for function in source.functions(folder):
        owner = source.original(sources, function.name, folder)
        name = getattr(source, "METHODS", {}).get(function.stage, function.name.rpartition(".")[2])
        is_object = function.stage != "before"
        expressions = [part for row in every(function.rows) for part in row.values()]
        asked = any(isinstance(each, list) and each[:1] in (["fact"], ["?"]) for part in expressions for each in walk(part))
        if not hasattr(owner, name) or asked or function.field or any("todo" in row or "hand" in row for row in every(function.rows)):
            counts["left out"] += 1
            continue
        chance = random.Random(f"{options.seed} {release} {function.name}")
        for _ in range(options.count):
            values = drawn(function.rows, chance, every_field=is_object)
            ours, theirs = by_rows(function.rows, copy.deepcopy(values)), by_function(owner, name, copy.deepcopy(values), is_object)
            counts["equal" if ours == theirs else "different"] += 1
            if ours != theirs and counts["different"] <= options.show:
                print(f"{release} {function.name} {values}\n  rows:     {ours}\n  function: {theirs}")


def drawn(rows: list[Row], chance: random.Random, every_field: bool) -> dict[str, Any]:
    """Values of the fields that rows read, from those that they compare with and some others; an object has every field."""
    nodes = [each for row in every(rows) for part in row.values() for each in walk(part)]
    lists = [node for node in nodes if isinstance(node, list) and node]
    names = {each[1] for each in lists if each[0] in ("f", "f?", "f!", "has") and isinstance(each[1], str)}
    inner = {each[2] for each in lists if each[0] in ("get", "attr", "getattr") and len(each) > 2 and isinstance(each[2], str)}
    constants = [part for each in lists if each[0] in ("==", "!=", "in", "not in") for part in walk(each[2]) if isinstance(part, str | int)]
    pool = [*SOME, *(constant for constant in constants if constant not in ("tuple", "list", "f", "dict"))]
    values: dict[str, Any] = dict.fromkeys(names) if every_field else {}
    for name in sorted(names):
        if chance.random() < 0.75:
            values[name] = copy.deepcopy(chance.choice(pool))
        if inner and chance.random() < 0.3:
            values[name] = {each: copy.deepcopy(chance.choice(pool)) for each in sorted(inner) if chance.random() < 0.6}
    return values


def by_rows(rows: list[Row], values: dict[str, Any]) -> Any:
    """What the rows do."""
    run = Evaluation(values, lambda name, *arguments: None)
    try:
        run.run(rows)
    except Raised as raised:
        return f"{raised.kind}: {raised.message}"
    return plain(run.values)


def by_function(owner: type, name: str, values: dict[str, Any], is_object: bool) -> Any:
    """What the function does with a mapping, or with an object."""
    holder: Any = object.__new__(owner)
    holder.__dict__.update({key: None for kind in owner.__mro__ for key, value in vars(kind).items() if isinstance(value, StandIn)})
    holder.__dict__.update({key: Section(value) if isinstance(value, dict) else value for key, value in values.items()})
    try:
        result = getattr(holder, name)() if is_object else getattr(owner, name)(values)
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("'Section'", "'dict'")
    return plain((vars(holder) if result is None else vars(result)) if is_object else result)


def plain(values: Any) -> Any:
    """Values without the difference between what is missing and what is not set."""
    if not isinstance(values, dict):
        return values
    return {key: plain(value) for key, value in values.items() if value is not None and key != WHOLE}


if __name__ == "__main__":
    sys.exit(main())
