"""Compare the rows of a kind with the functions themselves on random values, also of wrong types.

    python tools/compare_rows.py KIND FOLDER [--release VERSION ...] [--count N] [--seed N] [--show N]

FOLDER has a folder for each release, as for `tools/rebuild_tables.py`. The modules of the package run with stand-ins for everything
outside of it. A case is equal if exception, message and the values of the fields that rows read or set are. The environment answers both
what `ANSWERS` of `rows_KIND.py` has. Where it has `INSTALLED`, its functions need torch and are those of the installed package: run the
tool in an environment with the release (and PyYAML, packaging, the checkout of cfglint in PYTHONPATH). A case that rows do not decide,
because they ask the environment something else, is not compared, nor is a function that `METHODS` does not name. Exits 1 when fewer than
99.5 % are equal.
"""

from __future__ import annotations

import argparse
import builtins
import copy
import enum
import importlib
import importlib.metadata
import os
import random
import re
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import rebuild_tables
from row_expressions import walk
from row_table_text import every

from cfglint.evaluate import Unknown
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import WHOLE, Raised

ENOUGH = 0.995
OF_DATA = ("before", "nested before")  # stages of functions that get the values as a mapping
LEFT_OUT = {"accelerate", "swift", "verl"}  # several functions on the values of one config, or functions that ask for the model
SOME: tuple[Any, ...] = (None, True, False, 0, 1, 2, 3.5, -1, "", "2", "auto", [], [1], ["a", 2], {}, {"a": 1})
# What only something in the place of another package raises, or a plain value in the place of a member of an Enum.
OF_STAND_IN = re.compile(r"AttributeError: (__\w+__|'\w+' object has no attribute 'value')|.*StandIn.*")
Row = dict[str, Any]


class StandIn(types.ModuleType):
    """Something outside of the package: it can be called, subscripted, used as a decorator and as a base."""

    def __init__(self, name: str = "stand_in") -> None:
        super().__init__(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Base if name == "BaseModel" else decorator if name.endswith(("validator", "computed_field")) else StandIn(name)

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


def decorator(*names: Any, **keywords: Any) -> Any:
    """In the place of pydantic's decorators, with and without arguments."""
    return names[0] if names and not isinstance(names[0], str) else lambda function: function


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

    def answer(self, owner: Any, answers: dict[str, Any]) -> None:
        """Let functions of the package, and attributes of a class, be what the environment answers."""
        for name, known in answers.items():
            if not callable(known):
                for module in self.modules.values():
                    if callable(vars(module).get(name)):
                        setattr(module, name, lambda *arguments, known=known, **keywords: known)
                if isinstance(owner, type) and hasattr(owner, name):
                    setattr(owner, name, Section(known) if isinstance(known, dict) else known)

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
        if (top in sys.stdlib_module_names and top not in ("importlib", "logging", "warnings")) or top in ("yaml", "packaging"):
            return importlib.import_module(name) if names else importlib.import_module(top)
        return StandIn(name)


class Installed(Sources):
    """The modules of an installed package."""

    def module(self, name: str) -> Any:
        self.modules[name] = importlib.import_module(name)
        return self.modules[name]


def installed(package: str) -> str:
    """The release of a package that is installed; empty if it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=sorted(rebuild_tables.WITH_ROWS - LEFT_OUT))
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
        if hasattr(source, "INSTALLED") and name != installed(source.PACKAGE):
            rows["releases that are not installed"] += 1
        elif not options.release or name in options.release:
            compare(source, folder, options, name, rows)
    print(*(f"{what}: {number}" for what, number in rows.items()), sep="\n")
    total = rows["equal"] + rows["different"]
    return 0 if total and rows["equal"] >= ENOUGH * total else 1


def compare(source: Any, folder: Path, options: argparse.Namespace, release: str, counts: Counter[str]) -> None:
    """Compare the functions of a release."""
    kind = Installed if hasattr(source, "INSTALLED") else Sources
    sources = kind(source.find(folder).root.parent if hasattr(source, "find") else folder, source.PACKAGE)
    answers: dict[str, Any] = getattr(source, "ANSWERS", {})
    for function in source.functions(folder):
        owner = source.original(sources, function.name, folder)
        name = getattr(source, "METHODS", {}).get(function.stage, function.name.rpartition(".")[2])
        if not name or not hasattr(owner, name) or function.field:
            counts["functions left out"] += 1
            continue
        sources.answer(owner, answers)
        chance = random.Random(f"{options.seed} {release} {function.name}")
        defaults = source.defaults(function.name, release) if hasattr(source, "defaults") else {}
        for _ in range(options.count):
            values = drawn(function.rows, chance, defaults, every_field=function.stage not in OF_DATA)
            values |= {name: defaults.get(name) for name in getattr(source, "FIXED", ())}
            values |= {name: None for name in getattr(source, "NAME_FILES", ()) if isinstance(values.get(name), str)}
            values |= {name: {} for name in getattr(source, "MAPPINGS", ()) if not isinstance(values.get(name), dict)}
            ours = by_rows(function.rows, copy.deepcopy(values), answers)
            if ours is None:
                counts["not decided"] += 1
                continue
            theirs = by_function(owner, name, copy.deepcopy(values), function.stage not in OF_DATA)
            if isinstance(theirs, str) and OF_STAND_IN.fullmatch(theirs):
                counts["not decided"] += 1
                continue
            if isinstance(ours, dict) and isinstance(theirs, dict):
                known = {key for key, value in (values | ours).items() if not isinstance(value, Unknown)} & (
                    defaults or ours | values
                ).keys()
                ours, theirs = ({key: part[key] for key in known & part.keys()} for part in (ours, theirs))
            counts["equal" if ours == theirs else "different"] += 1
            if ours != theirs and counts["different"] <= options.show:
                written = {key: value for key, value in values.items() if key not in defaults or defaults[key] != value}
                if isinstance(ours, dict) and isinstance(theirs, dict):  # only what differs
                    other = [key for key in ours | theirs if ours.get(key) != theirs.get(key)]
                    ours, theirs = ({key: part.get(key) for key in other} for part in (ours, theirs))
                print(f"{release} {function.name} {written}\n  rows:     {ours}\n  function: {theirs}")


def drawn(rows: list[Row], chance: random.Random, defaults: dict[str, Any], every_field: bool) -> dict[str, Any]:
    """Values of the fields that rows read, from those that they compare with and some others; an object has every field. With defaults, few
    fields have another value.
    """
    nodes = [each for row in every(rows) for part in row.values() for each in walk(part)]
    lists = [node for node in nodes if isinstance(node, list) and node]
    names = {each[1] for each in lists if each[0] in ("f", "f?", "f!", "has") and isinstance(each[1], str)}
    inner = {each[2] for each in lists if each[0] in ("get", "attr", "getattr") and len(each) > 2 and isinstance(each[2], str)}
    constants = [part for each in lists if each[0] in ("==", "!=", "in", "not in") for part in walk(each[2]) if isinstance(part, str | int)]
    pool = [*SOME, *(constant for constant in constants if constant not in ("tuple", "list", "f", "dict"))]
    values: dict[str, Any] = {**dict.fromkeys(names if every_field else ()), **copy.deepcopy(defaults)}
    chosen = chance.sample(sorted(names), min(len(names), chance.randint(1, 4))) if defaults else sorted(names)
    for name in chosen:
        if defaults or chance.random() < 0.75:
            values[name] = copy.deepcopy(chance.choice(pool))
        if inner and chance.random() < 0.3:
            values[name] = {each: copy.deepcopy(chance.choice(pool)) for each in sorted(inner) if chance.random() < 0.6}
    return values


def by_rows(rows: list[Row], values: dict[str, Any], answers: dict[str, Any]) -> Any:
    """What the rows do; None where they do not decide it."""

    def answer(name: str, *arguments: Any) -> Any:
        if name.startswith("path "):
            return getattr(os.path, name.removeprefix("path "))(*arguments)
        known = answers.get(name)
        return known(*arguments) if callable(known) else known

    run = Evaluation(values, answer)
    try:
        run.run(rows)
    except Raised as raised:
        return None if run.undecided else text_of(raised.kind, raised.message)
    return None if run.undecided else plain(run.values)


def by_function(owner: type, name: str, values: dict[str, Any], is_object: bool) -> Any:
    """What the function does with a mapping, or with an object."""
    holder: Any = object.__new__(owner)
    holder.__dict__.update({key: None for kind in owner.__mro__ for key, value in vars(kind).items() if isinstance(value, StandIn)})
    holder.__dict__.update({key: Section(value) if isinstance(value, dict) else value for key, value in values.items()})
    try:
        result = getattr(holder, name)() if is_object else getattr(owner, name)(values)
    except Exception as error:
        return text_of(type(error).__name__, str(error).replace("Section", "dict"))
    return plain((vars(holder) if result is None else vars(result)) if is_object else result)


def text_of(kind: str, message: str) -> str:
    """An exception; the entries of a set are in any order."""
    return re.sub(r"\{([^{}:]*)\}", lambda found: str(sorted(found[1].split(", "))), f"{kind}: {message}")


def plain(values: Any) -> Any:
    """Values without the difference between what is missing and what is not set."""
    if isinstance(values, enum.Enum):
        return values.value
    if not isinstance(values, dict) and callable(getattr(values, "to_dict", None)):
        return plain(values.to_dict())
    if not isinstance(values, dict):
        return values
    return {key: plain(value) for key, value in values.items() if value is not None and key != WHOLE}


if __name__ == "__main__":
    sys.exit(main())
