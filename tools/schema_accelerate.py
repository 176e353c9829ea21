"""The keys of `accelerate launch`'s configuration file from an unpacked wheel.

At the top stand the fields of the dataclasses in `config_args.py`; unknown ones are refused. Blocks such as
`deepspeed_config` hold command-line arguments of `accelerate launch` by their names, so these are read from
the argument groups in `launch.py`; a key that is none is copied to the arguments and read by nothing.
"""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any

from schema_history import said, tables_of
from schema_source import Module, SourceError, Tree

from cfglint.frameworks.history import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cfglint.frameworks.history import Row

Raw = dict[str, Any]

FILE = "commands/config/config_args.py"
LAUNCH = "commands/launch.py"
PARSER = "launch_command_parser"
CLASSES = ("BaseConfig", "ClusterConfig", "SageMakerConfig")
BLOCKS = {  # variable of an argument group -> the block that holds its arguments
    "deepspeed_args": "deepspeed_config",
    "fp8_args": "fp8_config",
    "fsdp_args": "fsdp_config",
    "megatron_lm_args": "megatron_lm_config",
    "mpirun_args": "mpirun_config",
    "parallelism_config_args": "parallelism_config",
    "tp_args": "tp_config",
}
TOP_LEVEL = {"aws_args", "distributed_args", "hardware_args", "paradigm_args", "parser", "resource_args", "tpu_args"}
SCATTERED = {"dynamo_": "dynamo_config"}  # arguments of a block that stand in another group
OPTIONAL_PREFIX = {"dynamo_config": "dynamo_", "fp8_config": "fp8_", "fsdp_config": "fsdp_"}
PLAIN = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "dict": "object",
    **dict.fromkeys(("list[str]", "List[str]"), "array"),
}


def find(path: Path) -> Tree:
    """The package, from site-packages or the folder itself."""
    for folder in (path / "accelerate", path / "src" / "accelerate", path):
        if (folder / FILE).exists():
            return Tree(folder)
    raise SourceError(f"{path}: no accelerate source ({FILE})")


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("__init__.py")


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it, blocks with their `properties`."""
    found = fields(tree, CLASSES)
    for raw in found.values():
        raw.pop("required", None)
    for block, keys in blocks(tree).items():
        if block not in found:
            raise SourceError(f"{tree.root / FILE}: no field for the block {block}")
        found[block].update({"properties": keys, "x-section-policy": "ignore"})
    return _with_releases(found)


def _with_releases(found: dict[str, Raw]) -> dict[str, Raw]:
    """The keys with the first release that has them, if that is not the oldest modelled one, or that of their block."""
    rows = {section: _by_key(of_section) for section, of_section in tables_of("accelerate").FIELDS.items()}
    for key, raw in found.items():
        own = rows[""].get(key) or rows["sagemaker"].get(key, [])
        raw.update(_since(own))
        for name, inner in raw.get("properties", {}).items():
            inner.update(_since(rows.get(key, {}).get(name, []), own))
    return found


def _by_key(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[NAME], []).append(row)
    return found


def _since(rows: list[Row], section: Iterable[Row] = ()) -> Raw:
    return {key: value for key, value in said(rows, section).items() if key == "x-since"}


def fields(tree: Tree, classes: Iterable[str]) -> dict[str, Raw]:
    """The fields of dataclasses of `config_args.py`, those of the first class first; `required` without a default."""
    module = tree.file(FILE)
    found: dict[str, Raw] = {}
    for name in classes:
        definition = module.definitions.get(name)
        if not isinstance(definition, ast.ClassDef):
            raise SourceError(f"{module.path}: class {name} is missing")
        for key, raw in _fields(module, definition).items():
            found.setdefault(key, raw)
    return found


def blocks(tree: Tree) -> dict[str, dict[str, Raw]]:
    """Block -> its keys."""
    return _blocks(tree.file(LAUNCH))


def _fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    fields: dict[str, Raw] = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            raw = _accepted(module, statement.annotation)
            if statement.value is not None:
                with contextlib.suppress(SourceError):  # a default that the source computes is not known
                    raw["default"] = module.constant(statement.value)
            if statement.value is not None and raw.get("default", "") is None and isinstance(raw["type"], str):
                raw["type"] = [raw["type"], "null"]
            if statement.value is None:
                raw["required"] = True
            fields[statement.target.id] = raw
    return fields


def _accepted(module: Module, annotation: ast.expr) -> Raw:
    text = ast.unparse(annotation)
    if text in PLAIN:
        return {"type": PLAIN[text]}
    if text.startswith("Optional[") and text[9:-1] in PLAIN:
        return {"type": [PLAIN[text[9:-1]], "null"]}
    values = []
    parts = annotation.slice.elts if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple) else [annotation]
    for part in parts:
        found = module.definition_of(part)
        if found is None or not isinstance(found[1], ast.ClassDef):
            raise module.refuse(annotation, "an annotation without a rule")
        values += [value for value in members(found[1]) if value not in values]
    return {"enum": values}


def members(definition: ast.ClassDef) -> list[str]:
    """The values of an Enum class; a descriptor, which older releases have for a renamed member, is none."""
    assigned = [each.value for each in definition.body if isinstance(each, ast.Assign)]
    return [each.value for each in assigned if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _blocks(module: Module) -> dict[str, dict[str, Raw]]:
    """Block -> its keys, from the argument groups."""
    parser = module.definitions.get(PARSER)
    if not isinstance(parser, ast.FunctionDef):
        raise SourceError(f"{module.path}: {PARSER} is missing")
    blocks: dict[str, dict[str, Raw]] = {}
    for call in (node for node in ast.walk(parser) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and isinstance(call.func.value, ast.Name)):
            continue
        group, key = call.func.value.id, str(module.constant(call.args[-1])).removeprefix("--")
        if group not in BLOCKS and group not in TOP_LEVEL:
            raise module.refuse(call, "an argument group that belongs to no block")
        block = BLOCKS.get(group) or next((block for prefix, block in SCATTERED.items() if key.startswith(prefix)), None)
        if block is not None:
            _add(blocks.setdefault(block, {}), block, key, _argument(module, call))
    return blocks


def _add(keys: dict[str, Raw], block: str, key: str, raw: Raw) -> None:
    """Note a key, and its spelling without the prefix where that is taken as well."""
    keys[key] = raw
    prefix = OPTIONAL_PREFIX.get(block)
    if prefix is not None:
        short = key.removeprefix(prefix)
        raw["x-aliases"] = [short]
        reference = f"#/properties/{block}/properties/{key}"
        keys[short] = {"$ref": reference, "x-alias-of": key, "description": f"Another spelling of {key}; not beside it."}


def _argument(module: Module, call: ast.Call) -> Raw:
    """What an argument takes. Texts that stand for booleans may be booleans in a file."""
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    raw: Raw = {}
    if isinstance(options.get("default"), ast.Constant):
        raw["default"] = module.constant(options["default"])
    kind = ast.unparse(options["type"]) if "type" in options else "str"
    if "action" in options:
        raw["type"] = "boolean"
    elif kind == "str_to_bool" or raw.get("default") in ("true", "false"):
        raw["type"] = ["boolean", "string"]
        raw["default"] = raw["default"] == "true"
    elif kind in PLAIN:
        raw["type"] = PLAIN[kind]
    elif not kind.startswith("lambda"):
        raise module.refuse(call, f"the type {kind} without a rule")
    if raw.get("default", "") is None:
        raw["type"] = [raw["type"], "null"]
    return raw
