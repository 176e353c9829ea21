"""The fields of TRL's configuration classes as the source of a release has them.

An annotated attribute of such a class or of one of its bases within TRL is a field; what it inherits from `TrainingArguments` is
transformers'. `TrlParser` is an argparse parser: what it makes of a string depends on the one type that `HfArgumentParser` picks from an
annotation, which `parser_type` repeats.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.frameworks.huggingface.source_fields import alternatives, constant, listed, made
from cfglint.frameworks.trl.releases import CLASSES
from cfglint.source.annotations import Any, Callable, Operand, Sequence
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.package import Module, Tree, finder

Raw = dict[str, Any]

CONFIGS = {section: name for name, section in CLASSES.items()}
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
DATASET_SECTION = "dataset"
DATASET = ("scripts/utils.py", "DatasetConfig")  # of an entry of `datasets`
TRAINING_ARGUMENTS = "TrainingArguments"
EXPERIMENTAL = "experimental"
ENUMS = ("FDivergenceType",)
REQUIRED = "required"  # in the place of a default


find = finder("trl", "TRL", "trainer/sft_trainer.py")


def learned(path: Path, opens: Callable[[str], bool]) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Section -> field -> (type, default, ...) of a release whose source is in a folder; a default that the source computes is unknown."""
    tree = find(path, lenient=True, opens=opens)
    return {section: {name: fact(raw) for name, raw in found.items()} for section, found in sections(tree).items()}


def classes(tree: Tree, experimental: bool = False) -> dict[str, dict[str, Raw]]:
    """Class of a release, by our short name -> its fields; `experimental`: also the trainers that only the folder of this name has."""
    found: dict[str, dict[str, Raw]] = {}
    for name in CONFIGS:
        source = _located(tree, places(name) if experimental else places(name)[:1])
        if source is not None and TRAINING_ARGUMENTS in source[0].bases(source[1]):  # the PPOConfig of old releases is not derived from it
            found[name] = fields(*source)
    for name, places_beside in BESIDE.items():
        source = _located(tree, places_beside)
        own = fields(*source) if source is not None else {}
        if own and own != found.get("script"):
            found[name] = own
    return found


def places(name: str) -> Sequence[tuple[str, str]]:
    label = CONFIGS.get(name)
    files = (f"trainer/{name}_config.py", f"{EXPERIMENTAL}/{name}/{name}_config.py")
    return [(file, label) for file in files] if label is not None else BESIDE[name]


def _located(tree: Tree, places: Sequence[tuple[str, str]]) -> tuple[Module, ast.ClassDef] | None:
    """The first class that the release has in one of some places, each a file and the name of the class."""
    for file, label in places:
        if (tree.root / file).exists():
            definition = tree.file(file).definitions.get(label)
            if isinstance(definition, ast.ClassDef):
                return tree.file(file), definition
    return None


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, those of its bases within the package first."""
    found: dict[str, Raw] = {}
    for base in reversed(definition.bases):
        if isinstance(base, ast.Name) and base.id != TRAINING_ARGUMENTS:
            beside = [place for places in BESIDE.values() for place in places if place[1] == base.id]
            inherited = module.find(base.id) or _located(module.tree, beside)
            if inherited is None or not isinstance(inherited[1], ast.ClassDef):
                if module.tree.lenient:
                    continue
                raise module.refuse(base, "a base class that is not in the package")
            found.update(fields(inherited[0], inherited[1]))
    own = {name: _field(module, node) for name, node in annotated(definition) if "ClassVar" not in ast.unparse(node.annotation)}
    return {**found, **own}


def _field(module: Module, statement: ast.AnnAssign) -> Raw:
    annotation = statement.annotation
    raw: Raw = {"type": parser_type(annotation), "annotation": ast.unparse(annotation)}
    call = statement.value
    if call is None:
        return {**raw, "default": REQUIRED}
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "field"):
        return {**raw, "default": _default(module, call)}
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    subscripts = (part for part in ast.walk(annotation) if isinstance(part, ast.Subscript))
    literals = (module.literal_values(part) for part in subscripts if ast.unparse(part.value) == "Literal")
    choices = listed(module, options.get("metadata")) or next(literals, None)
    if choices is not None:
        raw["choices"] = choices
    if "default" in options:
        raw["default"] = _default(module, options["default"])
    elif "default_factory" in options:
        factory = options["default_factory"]
        raw["default"] = _default(module, factory.body) if isinstance(factory, ast.Lambda) else made(module, factory)
    else:
        raw["default"] = REQUIRED
    return raw


def _default(module: Module, node: ast.expr) -> Operand:
    """A default value; a member of an Enum is its value."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ENUMS:
        found = module.find(ast.unparse(node.value))
        if found is not None and isinstance(found[1], ast.ClassDef):
            assigned = (each for each in found[1].body if isinstance(each, ast.Assign))
            return next(found[0].constant(each.value) for each in assigned if ast.unparse(each.targets[0]) == node.attr)
    if isinstance(node, ast.Subscript | ast.Call):
        return None  # taken from the environment or the name of the script
    return constant(module, node)


def parser_type(annotation: ast.expr) -> str:
    """The type by which the parser casts a string; of a union it keeps one member, by rules of its own.

    Source: transformers 4.51.3 hf_argparser.py:195-215, trl 1.16.0 scripts/_hf_argparser.py:188-214.
    """
    alternatives = list(dict.fromkeys(members(annotation)))
    if len(alternatives) == 1:
        chosen = alternatives[0]
    elif "None" not in alternatives:
        chosen = alternatives[0] if alternatives[1] == "str" else alternatives[1]
    elif "bool" not in alternatives:
        chosen = alternatives[0] if alternatives[1] == "None" else alternatives[1]
    else:
        chosen = "bool" if set(alternatives) == {"bool", "None"} else "str"
    outer, _, inner = chosen.partition("[")
    outer = outer.lower() if outer in ("List", "Dict", "Tuple") else outer
    if outer == "list":
        item = inner.removesuffix("]")
        return f"list:{item}" if item in ("int", "float", "str", "DatasetConfig") else "list:object"
    if outer in ("int", "float", "bool", "str", "dict"):
        return outer
    return "str" if outer in ("Literal", "tuple", "dict") else "enum"


def members(annotation: ast.expr) -> list[str]:
    return ["None" if name == "NoneType" else name for name in map(ast.unparse, alternatives(annotation))]


def sections(tree: Tree) -> dict[str, dict[str, Raw]]:
    """The classes of a release, also the experimental ones, and that of an entry of `datasets`."""
    found = classes(tree, experimental=True)
    source = _located(tree, [DATASET])
    return {**found, DATASET_SECTION: fields(*source)} if source is not None else found


def fact(raw: Raw) -> tuple[Any, ...]:
    """Type, default, and the choices if there are any; the type ends in `|None` where newer parsers read the word "none" as null."""
    choices = raw.get("choices")
    optional = "None" in members(ast.parse(raw["annotation"], mode="eval").body)
    kind = f"{raw['type']}|None" if optional and raw["type"] in ("int", "float", "dict") else raw["type"]
    return (kind, raw["default"], *((tuple(choices),) if choices else ()))
