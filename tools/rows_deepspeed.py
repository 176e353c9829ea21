"""The rows of DeepSpeed: what the validators of its config models refuse."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package, Ref, decoration
from row_table_text import Function, Row, Table, every

from cfglint.frameworks.deepspeed._tables import MODELS

PACKAGE = "deepspeed"
AFTER, FIELD = "after", "field before"
MODULES = ("runtime.zero.config", "runtime.zero.offload_config", "runtime.zenflow.zenflow_config", "runtime.precision_config")


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The validators of a release that raise, in the order of their models; those of pydantic 1 refuse nothing."""
    package = Package(str(folder), PACKAGE)
    for title, _ in MODELS.values():
        for module in filter(None, (package.module(f"{PACKAGE}.{path}") for path in MODULES)):
            definition = module.names.get(title)
            for method in definition.body if isinstance(definition, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    yield from validator(package, module, definition, method)


def validator(package: Package, module: Any, definition: ast.ClassDef, method: ast.FunctionDef) -> Iterator[Function]:
    """The rows of a validator, those of a field for each of its fields: the value is `value`, the name `field_name`."""
    kind, fields, mode = decoration(method) or ("", (), "")
    name, owner = f"{definition.name}.{method.name}", (definition, module)
    if kind == "model_validator" and mode == "after":
        rows = rows_of(package, module, method, owner)[0]
        if raises(rows):
            yield Function(name, AFTER, "", rows)
    elif kind == "field_validator" and mode == "before":
        owned, value, *info = (each.arg for each in method.args.args)
        bound = {owned: Ref("cls"), value: ["f", "value"], **dict.fromkeys(info, Ref("info"))}
        rows, answer = rows_of(package, module, method, owner, bound=bound)
        if raises(rows):
            yield from (Function(name, FIELD, field, [*rows, {"when": [], "set": "value", "be": answer}]) for field in fields)


def raises(rows: list[Row]) -> bool:
    """Whether some of the rows refuse something."""
    return any("raise" in row for row in every(rows))
