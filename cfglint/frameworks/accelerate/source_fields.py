"""The keys of `accelerate launch`'s configuration file as the source of a release has them.

At the top stand the fields of the dataclasses in `config_args.py`; unknown ones are refused. Blocks such as
`deepspeed_config` hold command-line arguments of `accelerate launch` by their names, so these are read from
the argument groups in `launch.py`; a key that is none is copied to the arguments and read by nothing.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, Callable, Operand
from cfglint.source.python.class_fields import REQUIRED, UNREAD, ClassReading, members_of
from cfglint.source.python.package import Module, SourceError, Tree, finder

Raw = dict[str, Any]
Fact = tuple[Any, ...]
FILE = "commands/config/config_args.py"
LAUNCH = "commands/launch.py"
PARSER = "launch_command_parser"
# Variable of an argument group -> the block that holds its arguments.
BLOCKS = {f"{name}_args": f"{name}_config" for name in ("deepspeed", "fp8", "fsdp", "megatron_lm", "mpirun")}
BLOCKS |= {"parallelism_config_args": "parallelism_config", "tp_args": "tp_config"}
TOP_LEVEL = {"aws_args", "distributed_args", "hardware_args", "paradigm_args", "parser", "resource_args", "tpu_args"}
SCATTERED = {"dynamo_": "dynamo_config"}  # arguments of a block that stand in another group
JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array", "None": "null"}
LOCAL, SAGEMAKER = "", "sagemaker"
CLASSES = {LOCAL: "ClusterConfig", SAGEMAKER: "SageMakerConfig"}
ENUM_FILE = "utils/dataclasses.py"
TYPES = "DistributedType"


find = finder("accelerate", "accelerate", FILE)


def learned(path: Path, opens: Callable[[str], bool]) -> tuple[dict[str, dict[str, Fact]], list[str]]:
    tree = find(path, lenient=True, opens=opens)
    return sections(tree), types(tree)


def types(tree: Tree) -> list[str]:
    """The distributed types."""
    module = tree.file(ENUM_FILE)
    return [str(value) for value in module.enum_values(module.class_named(TYPES))]


def sections(tree: Tree) -> dict[str, dict[str, Fact]]:
    """Section -> key -> (type, default, whether the file must have the key)."""
    found = {section: fields(tree, title) for section, title in CLASSES.items()} | blocks(tree)
    return {
        section: {key: (raw.get("type", "enum"), raw.get("default"), "required" in raw) for key, raw in keys.items()}
        for section, keys in found.items()
    }


class SourceReading(ClassReading):
    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        return Unknown(UNREAD)


def fields(tree: Tree, title: str) -> dict[str, Raw]:
    """The fields of a dataclass of `config_args.py`; `required` without a default."""
    reading, module, found = SourceReading(tree), tree.file(FILE), dict[str, Raw]()
    for name, field in reading.fields(module, module.class_named(title)).items():
        raw, default = accepted(reading.reads(field)), reading.default(field)
        if default is REQUIRED:
            raw["required"] = True
        elif not isinstance(default, Unknown):
            raw["default"] = default
        if default is None and isinstance(raw["type"], str):
            raw["type"] = [raw["type"], "null"]
        found[name] = raw
    return found


def accepted(form: Operand) -> Raw:
    members = members_of(form)
    values = [value for each in members if each[0] == "enum" for value in each[2:]]
    if values:
        return {"enum": list(dict.fromkeys(values))}
    kinds = [JSON_TYPES[each if isinstance(each, str) else each[0]] for each in members if each != "Any"]
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def blocks(tree: Tree) -> dict[str, dict[str, Raw]]:
    """Block -> its keys, from the argument groups."""
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
        if block is not None:
            found.setdefault(block, {})[key] = argument(module, call)
    return found


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
    elif kind in JSON_TYPES:
        raw["type"] = JSON_TYPES[kind]
    elif not kind.startswith("lambda") and not module.tree.lenient:
        raise module.refuse(call, f"the type {kind} without a rule")
    if raw.get("default", "") is None:
        raw["type"] = [raw.get("type", "string"), "null"]
    return raw
