"""The rows of DeepSpeed: what `DeepSpeedConfig` and the validators of its models refuse.

In the rows of the constructor a section that is a model has the values of the model, under the name of the section.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_expressions import walk
from row_sources import Package, Ref, decoration
from row_table_text import Function, Row, Table, every

from cfglint.frameworks.deepspeed._tables import MODELS

PACKAGE = "deepspeed"
AFTER, FIELD = "after", "field before"
MODULES = ("runtime.zero.config", "runtime.zero.offload_config", "runtime.zenflow.zenflow_config", "runtime.precision_config")
CONSTRUCTOR = "DeepSpeedConfig"
STAGES = {"keys": "_initialize_params", "batch": "_configure_train_batch_size", "sanity": "_do_sanity_check"}  # in this order
SECTIONS: dict[str, Any] = {  # what makes the models of sections
    "get_zero_config": ["f", "zero_optimization"],
    "get_float16_config": ["f", "fp16"],
    "get_bfloat16_config": ["f", "bf16"],
    "CompileConfig": ["f", "compile"],
    "get_fp16_enabled": ["attr", ["f", "fp16"], "enabled"],
    "get_fp16_master_weights_and_grads_enabled": ["attr", ["f", "fp16"], "fp16_master_weights_and_grads"],
    "get_bfloat16_enabled": ["attr", ["f", "bf16"], "enabled"],
    **dict.fromkeys(  # whose content rules check
        (
            "get_aio_config",
            "get_compression_config",
            "get_curriculum_params_legacy",
            "get_data_efficiency_config",
            "get_eigenvalue_config",
            "get_expert_parallel_config",
            "get_quantize_training",
            "get_sparse_attention",
            "get_lower_precision_safe_modules",
            "get_torch_autocast_dtype",
        )
    ),
}
METHODS = {"keys": "", "batch": STAGES["batch"], "sanity": ""}  # what `compare_rows.py` calls: the others read the objects of sections
FILE = ["f", "_param_dict"]  # the values of the file, as a field of the object


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release: the constructor, and the validators that raise, in the order of their models; those of pydantic 1
    refuse nothing.
    """
    package = Package(str(folder), PACKAGE)
    yield from constructor(package)
    for title, _ in MODELS.values():
        for module in filter(None, (package.module(f"{PACKAGE}.{path}") for path in MODULES)):
            definition = module.names.get(title)
            for method in definition.body if isinstance(definition, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    yield from validator(package, module, definition, method)


def constructor(package: Package) -> Iterator[Function]:
    """The parts of the constructor, with the rows that refuse something or that these need."""
    module = package.module(f"{PACKAGE}.runtime.config")
    definition = module.names[CONSTRUCTOR]
    methods = {each.name: each for each in definition.body if isinstance(each, ast.FunctionDef)}
    read, parts = set[str](), {}
    for stage, name in reversed(STAGES.items()):
        bound = {each.arg: Ref("root") for each in methods[name].args.args}
        rows = rows_of(package, module, methods[name], (definition, module), bound=bound, given=SECTIONS)[0]
        parts[stage] = [*needed(map(plain, reversed(rows)), read)][::-1]
    for stage in STAGES:
        yield Function(CONSTRUCTOR, stage, "", parts[stage])


def plain(part: Any) -> Any:
    """A part of a row in which a key of the file is a field, as in the rest of the constructor."""
    if isinstance(part, dict):
        return {key: plain(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return ["f", part[2]] if [*part[:2]] == ["get", FILE] and part[3:] in ([], [None]) else [plain(each) for each in part]
    return part


def needed(rows: Iterable[Row], read: set[str]) -> Iterator[Row]:
    """The rows, last one first, that refuse something, or change what is `read` after them; rules say on which types Python fails."""
    for row in rows:
        changed = {inner.get(action) for inner in every([row]) for action in ("set", "let")} | {e[1] for e in names(row.get("put"))}
        refuses = any("raise" in each for each in every([row])) or "warn" in row
        if refuses or (not changed.isdisjoint(read) and row.get("be") != ["f", row.get("set")]):
            read |= {e[1] for inner in every([row]) for key, part in inner.items() if key != "rows" for e in names(part)}
            yield row


def names(part: Any) -> Iterator[Any]:
    """The fields and kept values in an expression."""
    for e in walk(part):
        if isinstance(e, (list, tuple)) and len(e) > 1 and e[0] in ("f", "f?", "f!", "has", "v") and isinstance(e[1], str):
            yield e


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


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class of the constructor, or of a validator."""
    label = name.partition(".")[0]
    paths = ("runtime.config",) if label == CONSTRUCTOR else MODULES
    modules = (sources.module(f"{PACKAGE}.{path}") for path in paths)
    return next((found for module in modules if isinstance(found := getattr(module, label, None), type)), None)
