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
    "sft": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "reward": "RewardConfig",
    "grpo": "GRPOConfig",
    "rloo": "RLOOConfig",
    "distillation": "DistillationConfig",
    "orpo": "ORPOConfig",
    "cpo": "CPOConfig",
    "gkd": "GKDConfig",
    "bco": "BCOConfig",
    "prm": "PRMConfig",
    "ppo": "PPOConfig",
    "online_dpo": "OnlineDPOConfig",
    "nash_md": "NashMDConfig",
    "xpo": "XPOConfig",
}
# What the scripts parse beside the trainer's own class, with the places where the releases have it, the newest first; the names
# with a trainer in front are of its script alone, in the place of `script`.
BESIDE = {
    "script": (
        ("scripts/utils.py", "ScriptArguments"),
        ("utils.py", "ScriptArguments"),
        ("commands/cli_utils.py", "DPOScriptArguments"),
        ("commands/cli_utils.py", "DpoScriptArguments"),
    ),
    "mixture": (("scripts/utils.py", "DatasetMixtureConfig"),),
    "model": (("trainer/model_config.py", "ModelConfig"),),
    "grpo script": (("scripts/grpo.py", "GRPOScriptArguments"),),
    "rloo script": (("scripts/rloo.py", "RLOOScriptArguments"),),
    "sft script": (("commands/cli_utils.py", "SFTScriptArguments"), ("commands/cli_utils.py", "SftScriptArguments")),
}
DATASET = ("scripts/utils.py", "DatasetConfig")  # of an entry of `datasets`
TRAINING_ARGUMENTS = "TrainingArguments"
EXPERIMENTAL = "experimental"
ENUMS = ("FDivergenceType",)
REQUIRED = "required"  # in the place of a default


def find(path: Path) -> Tree:
    """The package, from site-packages or the folder itself."""
    for folder in (path / "trl", path):
        if (folder / "trainer" / "sft_trainer.py").exists():
            return Tree(folder)
    raise SourceError(f"{path}: no TRL source (trainer/sft_trainer.py)")


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

    A default is there where all classes that have the field agree. The fields of TrainingArguments are those of transformers next to
    the package, as in site-packages, else those of the committed schema of transformers.
    """
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    found: dict[str, Raw] = {}
    for key, raw in schema_huggingface.next_to(tree.root.parent).items():
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


def classes(tree: Tree, experimental: bool = False) -> dict[str, dict[str, Raw]]:
    """Class of a release, by our short name -> its fields: `type` as the parser takes it, `annotation`, `default`, `choices`.

    `experimental`: also the trainers that only the folder of this name has.
    """
    found: dict[str, dict[str, Raw]] = {}
    for name, label in CONFIGS.items():
        places = [(f"trainer/{name}_config.py", label)]
        if experimental:
            places.append((f"{EXPERIMENTAL}/{name}/{name}_config.py", label))
        source = _located(tree, places)
        if source is not None and is_trainers(*source):
            found[name] = fields(*source)
    for name, places_beside in BESIDE.items():
        source = _located(tree, list(places_beside))
        own = fields(*source) if source is not None else {}
        if own and own != found.get("script"):
            found[name] = own
    return found


def _located(tree: Tree, places: list[tuple[str, str]]) -> tuple[Module, ast.ClassDef] | None:
    """The first class that the release has in one of some places, each a file and the name of the class."""
    for file, label in places:
        if (tree.root / file).exists():
            definition = tree.file(file).definitions.get(label)
            if isinstance(definition, ast.ClassDef):
                return tree.file(file), definition
    return None


def is_trainers(module: Module, definition: ast.ClassDef) -> bool:
    """Whether a class is derived from TrainingArguments: the PPOConfig of old releases is not."""
    return TRAINING_ARGUMENTS in module.bases(definition)


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, those of its bases within the package first."""
    found: dict[str, Raw] = {}
    for base in reversed(definition.bases):
        if isinstance(base, ast.Name) and base.id != TRAINING_ARGUMENTS:
            inherited = module.find(base.id) or _located(
                module.tree, [place for places in BESIDE.values() for place in places if place[1] == base.id]
            )
            if inherited is None or not isinstance(inherited[1], ast.ClassDef):
                raise module.refuse(base, "a base class that is not in the package")
            found.update(fields(inherited[0], inherited[1]))
    for statement in definition.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and "ClassVar" not in ast.unparse(statement.annotation)
        ):
            found[statement.target.id] = _field(module, statement)
    return found


def _field(module: Module, statement: ast.AnnAssign) -> Raw:
    annotation = statement.annotation
    raw: Raw = {"type": parser_type(annotation), "annotation": ast.unparse(annotation)}
    call = statement.value
    if call is None:
        return {**raw, "default": REQUIRED}
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "field"):
        return {**raw, "default": _default(module, call)}
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
    outer = outer.lower() if outer in ("List", "Dict", "Tuple") else outer
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


def sections(tree: Tree) -> dict[str, dict[str, Raw]]:
    """The classes of a release, also the experimental ones, and that of an entry of `datasets`."""
    found = classes(tree, experimental=True)
    source = _located(tree, [DATASET])
    return {**found, "dataset": fields(*source)} if source is not None else found


def fact(raw: Raw) -> tuple[Any, ...]:
    """What a row has of a field beside its name and releases: type, default, and the choices if there are any.

    The type of an optional field ends in `|None` where newer parsers read the word "none" as null.
    """
    choices = raw.get("choices")
    optional = "None" in _members(ast.parse(raw["annotation"], mode="eval").body)
    kind = f"{raw['type']}|None" if optional and raw["type"] in ("int", "float", "dict") else raw["type"]
    return (kind, raw["default"], *((tuple(choices),) if choices else ()))


def requirement(tree: Tree, package: str) -> str:
    """The versions of a package that the metadata of the wheel asks for, such as `>=4.56.2`; empty if it names none."""
    for folder in tree.root.parent.glob("trl-*.dist-info"):
        for line in (folder / "METADATA").read_text(encoding="utf-8").splitlines():
            head, _, wanted = line.partition(":")
            name = wanted.strip().replace("(", "").replace(")", "").replace(" ", "").partition(";")[0]
            if head == "Requires-Dist" and name.startswith(package) and not name[len(package) :][:1].isalnum():
                return name.removeprefix(package)
    return ""
