"""The keys of `accelerate launch`'s configuration file as the source of a release has them.

At the top stand the fields of the dataclasses in `config_args.py`; unknown ones are refused. Blocks such as
`deepspeed_config` hold command-line arguments of `accelerate launch` by their names, so these are read from
the argument groups in `launch.py`; a key that is none is copied to the arguments and read by nothing.
"""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

from cfglint.source.annotations import Any, Callable, Iterable
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.package import Module, SourceError, Tree, finder

Raw = dict[str, Any]
Fact = tuple[Any, ...]
FILE = "commands/config/config_args.py"
LAUNCH = "commands/launch.py"
PARSER = "launch_command_parser"
CLASSES = ("BaseConfig", "ClusterConfig", "SageMakerConfig")
# Variable of an argument group -> the block that holds its arguments.
BLOCKS = {f"{name}_args": f"{name}_config" for name in ("deepspeed", "fp8", "fsdp", "megatron_lm", "mpirun")}
BLOCKS |= {"parallelism_config_args": "parallelism_config", "tp_args": "tp_config"}
TOP_LEVEL = {"aws_args", "distributed_args", "hardware_args", "paradigm_args", "parser", "resource_args", "tpu_args"}
SCATTERED = {"dynamo_": "dynamo_config"}  # arguments of a block that stand in another group
OPTIONAL_PREFIX = {"dynamo_config": "dynamo_", "fp8_config": "fp8_", "fsdp_config": "fsdp_"}
PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
PLAIN |= dict.fromkeys(("list[str]", "List[str]"), "array")
LOCAL, SAGEMAKER = "", "sagemaker"
SECTION_CLASSES = {LOCAL: ("BaseConfig", "ClusterConfig"), SAGEMAKER: ("BaseConfig", "SageMakerConfig")}
ENUM_FILE = "utils/dataclasses.py"
TYPES = "DistributedType"


def learned(path: Path, opens: Callable[[str], bool]) -> tuple[dict[str, dict[str, Fact]], list[str]]:
    tree = find(path, lenient=True, opens=opens)
    return sections(tree), members(enum(tree, TYPES))


def sections(tree: Tree) -> dict[str, dict[str, Fact]]:
    found = {}
    for section, classes in SECTION_CLASSES.items():
        found[section] = {key: fact(raw, required="required" in raw) for key, raw in fields(tree, classes).items()}
    for block, keys in blocks(tree).items():
        found[block] = {key: fact(raw) for key, raw in keys.items() if "x-alias-of" not in raw}
    return found


def fact(raw: Raw, *, required: bool = False) -> Fact:
    """(type, default, whether the file must have the key)."""
    return (raw.get("type", "enum"), raw.get("default"), required)


def enum(tree: Tree, name: str) -> ast.ClassDef:
    return tree.file(ENUM_FILE).class_named(name)


find = finder("accelerate", "accelerate", FILE)


def fields(tree: Tree, classes: Iterable[str]) -> dict[str, Raw]:
    """The fields of dataclasses of `config_args.py`, those of the first class first; `required` without a default."""
    module, found = tree.file(FILE), dict[str, Raw]()
    for name, statement in (each for title in classes for each in annotated(module.class_named(title))):
        try:
            raw = accepted(module, statement.annotation)
        except SourceError:
            if not module.tree.lenient:
                raise
            raw = {"type": []}  # an annotation without a rule takes anything
        if statement.value is None:
            raw["required"] = True
        else:
            with contextlib.suppress(SourceError):  # a default that the source computes is not known
                raw["default"] = module.constant(statement.value)
            if raw.get("default", "") is None and isinstance(raw["type"], str):
                raw["type"] = [raw["type"], "null"]
        found.setdefault(name, raw)
    return found


def blocks(tree: Tree) -> dict[str, dict[str, Raw]]:
    """Block -> its keys, from the argument groups; a key also under its spelling without the prefix, where that is taken as well."""
    module = tree.file(LAUNCH)
    parser = module.definitions.get(PARSER)
    if not isinstance(parser, ast.FunctionDef):
        raise SourceError(f"{module.path}: {PARSER} is missing")
    found: dict[str, dict[str, Raw]] = {}
    for call in (node for node in ast.walk(parser) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and isinstance(call.func.value, ast.Name)):
            continue
        group, key = call.func.value.id, str(module.constant(call.args[-1])).removeprefix("--")
        if group not in BLOCKS and group not in TOP_LEVEL and not module.tree.lenient:
            raise module.refuse(call, "an argument group that belongs to no block")
        block = BLOCKS.get(group) or next((block for prefix, block in SCATTERED.items() if key.startswith(prefix)), None)
        if block is None:
            continue
        keys = found.setdefault(block, {})
        raw = keys[key] = argument(module, call)
        if block in OPTIONAL_PREFIX:
            short = key.removeprefix(OPTIONAL_PREFIX[block])
            raw["x-aliases"] = [short]
            reference = f"#/properties/{block}/properties/{key}"
            keys[short] = {"$ref": reference, "x-alias-of": key, "description": f"Another spelling of {key}; not beside it."}
    return found


def accepted(module: Module, annotation: ast.expr) -> Raw:
    text = ast.unparse(annotation)
    if text in PLAIN:
        return {"type": PLAIN[text]}
    if text.startswith("Optional[") and text[9:-1] in PLAIN:
        return {"type": [PLAIN[text[9:-1]], "null"]}
    values = []
    parts = annotation.slice.elts if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple) else [annotation]
    for part in parts:
        definition = module.definition_of(part)
        if definition is None or not isinstance(definition[1], ast.ClassDef):
            raise module.refuse(annotation, "an annotation without a rule")
        values += [value for value in members(definition[1]) if value not in values]
    return {"enum": values}


def members(definition: ast.ClassDef) -> list[str]:
    """The values of an Enum class; a descriptor, which older releases have for a renamed member, is none."""
    assigned = [node.value for node in definition.body if isinstance(node, ast.Assign)]
    return [node.value for node in assigned if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def argument(module: Module, call: ast.Call) -> Raw:
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
    elif not kind.startswith("lambda") and not module.tree.lenient:
        raise module.refuse(call, f"the type {kind} without a rule")
    if raw.get("default", "") is None:
        raw["type"] = [raw.get("type", "string"), "null"]
    return raw
