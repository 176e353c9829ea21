"""The fields of TRL's configuration classes from unpacked wheels: one for each modelled release.

A trainer's script parses one file into several dataclasses (`SFTConfig`, `ScriptArguments`, `ModelConfig`, ...). A field is
an annotated attribute of such a class or of one of its bases within TRL; what it inherits from `TrainingArguments` is
transformers' and is read by `schema_huggingface`. `TrlParser` is an argparse parser: what it makes of a string depends on
the one type that `HfArgumentParser` picks from an annotation, which `parser_type` repeats.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import schema_huggingface
from schema_merge import NOTES
from schema_source import Module, SourceError, Tree, pairs

if TYPE_CHECKING:
    from pathlib import Path

Raw = dict[str, Any]
Fields = dict[str, tuple[str, Any]]  # field: (type as the parser takes it, default)

CONFIGS = {
    "sft": ("trainer/sft_config.py", "SFTConfig"),
    "dpo": ("trainer/dpo_config.py", "DPOConfig"),
    "kto": ("trainer/kto_config.py", "KTOConfig"),
    "reward": ("trainer/reward_config.py", "RewardConfig"),
    "grpo": ("trainer/grpo_config.py", "GRPOConfig"),
    "rloo": ("trainer/rloo_config.py", "RLOOConfig"),
    "distillation": ("trainer/distillation_config.py", "DistillationConfig"),
    "orpo": ("trainer/orpo_config.py", "ORPOConfig"),
    "cpo": ("trainer/cpo_config.py", "CPOConfig"),
    "gkd": ("trainer/gkd_config.py", "GKDConfig"),
    "bco": ("trainer/bco_config.py", "BCOConfig"),
    "prm": ("trainer/prm_config.py", "PRMConfig"),
    "ppo": ("trainer/ppo_config.py", "PPOConfig"),
    "online_dpo": ("trainer/online_dpo_config.py", "OnlineDPOConfig"),
    "nash_md": ("trainer/nash_md_config.py", "NashMDConfig"),
    "xpo": ("trainer/xpo_config.py", "XPOConfig"),
}
# What the scripts parse beside the trainer's own class; the names with a trainer in front belong to its script alone.
BESIDE = {
    "script": ("scripts/utils.py", "ScriptArguments"),
    "mixture": ("scripts/utils.py", "DatasetMixtureConfig"),
    "model": ("trainer/model_config.py", "ModelConfig"),
    "grpo script": ("scripts/grpo.py", "GRPOScriptArguments"),
    "rloo script": ("scripts/rloo.py", "RLOOScriptArguments"),
}
EXTERNAL = ("TrainingArguments",)
ENUMS = ("FDivergenceType",)
REQUIRED = "required"  # in the place of a default


def find(path: Path) -> Tree:
    """The package, from site-packages or the folder itself."""
    for folder in (path / "trl", path):
        if (folder / "trainer" / "sft_config.py").exists():
            return Tree(folder)
    raise SourceError(f"{path}: no TRL source (trainer/sft_config.py)")


def version(tree: Tree) -> str:
    """The release that the package states, in a file `VERSION` or in the metadata of the wheel."""
    stated = tree.root / "VERSION"
    if stated.exists():
        return stated.read_text(encoding="utf-8").strip()
    for folder in tree.root.parent.glob("trl-*.dist-info"):
        return folder.name.removeprefix("trl-").removesuffix(".dist-info")
    return str(tree.version("__init__.py"))


INTEGER = r"^\s*[+-]?[0-9]+\s*$"
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
BOOLEAN = "^([Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]|[TtYy1]|[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]|[FfNn0])$"
PATTERNS = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}  # of the strings that the parser converts
JSON_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "dict": "object", "None": "null"}


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it: the fields of TrainingArguments, then those of TRL's classes.

    A default is there where all classes that have the field agree; the packages lie in one folder, as in site-packages.
    """
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    found: dict[str, Raw] = {}
    for key, raw in schema_huggingface.facts(schema_huggingface.find(tree.root.parent)).items():
        kept = {word: value for word, value in notes.get(key, {}).items() if not word.startswith("x-")}
        found[key] = converted({**raw, **kept})
    defaults: dict[str, list[Any]] = {}
    for table in classes(tree).values():
        for key, raw in table.items():
            if key not in found or "own" in found[key]:
                found[key] = {**schema_of(raw), "own": True}
            defaults.setdefault(key, []).append(raw["default"])
    for key, values in defaults.items():
        found[key].pop("own", None)
        found[key].pop("default", None)
        if all(value == values[0] and type(value) is type(values[0]) for value in values) and values[0] != REQUIRED:
            found[key]["default"] = values[0]
    return found


def schema_of(raw: Raw) -> Raw:
    """What a file may hold for a field of TRL's."""
    members = _members(ast.parse(raw["annotation"], mode="eval").body)
    types = [JSON_TYPES.get(member.partition("[")[0], "array") for member in members]
    return converted({"type": list(dict.fromkeys(types)) if len(set(types)) > 1 else types[0]})


def converted(raw: Raw) -> Raw:
    """A schema that takes the strings that the parser converts, too."""
    names = [raw["type"]] if isinstance(raw.get("type"), str) else list(raw.get("type", ()))
    pattern = next((PATTERNS[name] for name in names if name in PATTERNS), None)
    if pattern is None or "string" in names:
        return raw
    return {**raw, "type": [*names, "string"], "pattern": pattern}


def classes(tree: Tree) -> dict[str, dict[str, Raw]]:
    """Class of a release, by our short name -> its fields: `type` as the parser takes it, `annotation`, `default`, `choices`."""
    found: dict[str, dict[str, Raw]] = {}
    for name, (file, label) in {**CONFIGS, **BESIDE}.items():
        if not (tree.root / file).exists():
            continue
        module = tree.file(file)
        definition = module.definitions.get(label)
        if isinstance(definition, ast.ClassDef):
            found[name] = fields(module, definition)
    return found


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, those of its bases within the package first."""
    found: dict[str, Raw] = {}
    for base in definition.bases:
        if isinstance(base, ast.Name) and base.id not in EXTERNAL:
            inherited = module.find(base.id) or _lazy(module, base.id)
            if inherited is None or not isinstance(inherited[1], ast.ClassDef):
                raise module.refuse(base, "a base class that is not in the package")
            found.update(fields(inherited[0], inherited[1]))
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = _field(module, statement)
    return found


def _lazy(module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
    """A class that a script imports from the top of the package, whose imports are made late."""
    for file, label in BESIDE.values():
        if label == name:
            source = module.tree.file(file)
            definition = source.definitions.get(label)
            return (source, definition) if isinstance(definition, ast.ClassDef) else None
    return None


def _field(module: Module, statement: ast.AnnAssign) -> Raw:
    annotation = statement.annotation
    raw: Raw = {"type": parser_type(annotation), "annotation": ast.unparse(annotation)}
    call = statement.value
    if call is None:
        return {**raw, "default": REQUIRED}
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "field"):
        return {**raw, "default": module.constant(call)}
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    choices = _choices(module, options.get("metadata")) or _literal(module, annotation)
    if choices is not None:
        raw["choices"] = choices
    if "default" in options:
        raw["default"] = _default(module, options["default"])
    elif "default_factory" in options:
        factory = options["default_factory"]
        raw["default"] = _default(module, factory.body) if isinstance(factory, ast.Lambda) else _made(module, factory)
    else:
        raw["default"] = REQUIRED
    return raw


def _default(module: Module, node: ast.expr) -> Any:
    """A default value; a member of an Enum is its value."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ENUMS:
        found = module.find(ast.unparse(node.value))
        if found is not None and isinstance(found[1], ast.ClassDef):
            return next(
                found[0].constant(each.value)
                for each in found[1].body
                if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == node.attr
            )
    if isinstance(node, ast.Subscript | ast.Call):
        return None  # taken from the environment or the name of the script
    return module.constant(node)


def _made(module: Module, factory: ast.expr) -> Any:
    if isinstance(factory, ast.Name) and factory.id in ("list", "dict"):
        return [] if factory.id == "list" else {}
    raise module.refuse(factory, "a default factory without a rule")


def _choices(module: Module, metadata: ast.expr | None) -> list[Any] | None:
    if isinstance(metadata, ast.Dict):
        for key, value in pairs(metadata):
            if isinstance(key, ast.Constant) and key.value == "choices":
                found: list[Any] = module.constant(value)
                return found
    return None


def _literal(module: Module, annotation: ast.expr) -> list[Any] | None:
    for part in ast.walk(annotation):
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            return module.literal_values(part)
    return None


def parser_type(annotation: ast.expr) -> str:
    """The type by which the parser casts a string: int, float, bool, str, dict, enum, or `list:` and the type of its items.

    Of a union the parser keeps one member: the first or second by rules of its own (transformers 4.51.3 hf_argparser.py:
    195-215, trl 1.16.0 scripts/_hf_argparser.py:188-214).
    """
    members = list(dict.fromkeys(_members(annotation)))
    if len(members) == 1:
        chosen = members[0]
    elif "None" not in members:
        chosen = members[0] if members[1] == "str" else members[1]
    elif "bool" not in members:
        chosen = members[0] if members[1] == "None" else members[1]
    else:
        chosen = "bool" if set(members) == {"bool", "None"} else "str"
    outer, _, inner = chosen.partition("[")
    if outer == "list":
        item = inner.removesuffix("]")
        return f"list:{item}" if item in ("int", "float", "str") else "list:object"
    if outer in ("int", "float", "bool", "str", "dict"):
        return outer
    return "str" if outer in ("Literal", "tuple", "dict") else "enum"


def _members(annotation: ast.expr) -> list[str]:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _members(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_members(annotation.left), *_members(annotation.right)]
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("Optional", "Union"):
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        members = [member for part in inner for member in _members(part)]
        return [*members, "None"] if ast.unparse(annotation.value) == "Optional" else members
    return ["None" if ast.unparse(annotation) == "NoneType" else ast.unparse(annotation)]


def table_module(trees: dict[str, Tree]) -> str:
    """The text of `cfglint/frameworks/trl/_tables.py` from the sources of each release."""
    return table_text({release: {name: tabled(found) for name, found in classes(tree).items()} for release, tree in trees.items()})


def tabled(found: dict[str, Raw]) -> Fields:
    """What the table has of a class."""
    return {field: (raw["type"], raw["default"]) for field, raw in found.items()}


def table_text(tables: dict[str, dict[str, Fields]]) -> str:
    """The module that holds the tables: release -> class -> field -> (type as the parser takes it, default)."""
    lines = [
        '"""The fields of TRL\'s configuration classes; generated by tools/rebuild_tables.py from the wheels, not to be edited."""',
        "",
        "from __future__ import annotations",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "",
        "# release: {class: {field: (type by which the parser casts a string, default)}}",
        "FIELDS: dict[str, dict[str, dict[str, tuple[str, Any]]]] = {",
    ]
    for release, of_release in tables.items():
        lines.append(f"    {_quoted(release)}: {{")
        for name, found in of_release.items():
            lines.append(f"        {_quoted(name)}: {{")
            lines += [
                f"            {_quoted(field)}: ({_quoted(kind)}, {_literal_of(default)})," for field, (kind, default) in found.items()
            ]
            lines.append("        },")
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return json.dumps(text)


def _literal_of(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal_of, value)) + "]"
    return repr(value)
