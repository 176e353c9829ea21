"""The rows of LLaMA-Factory: `__post_init__` of the classes of its arguments in the order in which they are built, `get_train_args`, and
what the loader of the model refuses of its quantization.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package
from row_table_text import Function, Table

from cfglint.frameworks.llamafactory.source_fields import CLASSES, find
from cfglint.frameworks.rows.expressions import walk

PACKAGE = "llamafactory"
CLASS, PARSER, MODEL = "class", "parser", "model"
POST_INIT, TRAIN, QUANTIZE = "__post_init__", "get_train_args", "configure_quantization"
METHODS = {CLASS: POST_INIT, PARSER: "", MODEL: ""}  # what `compare_rows.py` calls; the parser builds the objects first
# What functions of the package are: the five objects have their fields in one mapping; the launch, ZeRO-3 and packages are facts.
GIVEN: dict[str, Any] = {
    "_parse_train_args": ("roots", 5),
    "_parse_train_mca_args": ("roots", 5),
    "_set_transformers_logging": None,
    "_set_env_vars": None,
    "_check_extra_dependencies": None,
    "_configure_mca_training_args": None,
    "get_last_checkpoint": "fact",
    "get_current_device": "fact",
    "is_deepspeed_zero3_enabled": "fact",
    "is_env_enabled": "fact",
    "is_fsdp_enabled": "fact",
}


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release."""
    tree = find(folder)
    package = Package(str(tree.root.parent), PACKAGE)
    for file, label in CLASSES:
        module = package.module(f"{PACKAGE}.{file.removesuffix('.py').replace('/', '.')}")
        definition = module.names.get(label) if module is not None else None
        for owner, place in package.ancestors(definition, module) if isinstance(definition, ast.ClassDef) else ():
            found = next((each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == POST_INIT), None)
            if found is not None:
                yield Function(label, CLASS, "", kept(rows_of(package, place, found, (definition, module), given=GIVEN)[0]))
                break
    parser = package.module(f"{PACKAGE}.hparams.parser")
    yield Function(TRAIN, PARSER, "", kept(rows_of(package, parser, parser.names[TRAIN], given=GIVEN)[0]))
    loader = quantization(package)
    rows = rows_of(package, loader, loader.names[QUANTIZE], given=GIVEN)[0]
    refused = [row for row in rows if "raise" in row]
    used = {part[1] for row in refused for part in walk(row["when"]) if isinstance(part, list) and part[:1] == ["v"]}
    yield Function(QUANTIZE, MODEL, "", [row for row in rows if row in refused or row.get("let") in used])


def quantization(package: Any) -> Any:
    """The module that configures the quantization of a model, which was a part of another one."""
    names = ("model.model_utils.quantization", "model.utils.quantization", "model.patcher")
    modules = (package.module(f"{PACKAGE}.{name}") for name in names)
    return next(module for module in modules if module is not None and QUANTIZE in module.names)


def kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the functions themselves, and none of the objects that they build and of what they log."""
    return [row for row in rows if not row.keys() & {"first", "todo", "warn"}]


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class with `__post_init__`, or the module with the function."""
    if name == TRAIN:
        return sources.module(f"{PACKAGE}.hparams.parser")
    file = next((file for file, label in CLASSES if label == name), "")
    return getattr(sources.module(f"{PACKAGE}.{file.removesuffix('.py').replace('/', '.')}"), name, None)
