"""The fields of TRL's configuration classes as the source of a release has them.

An annotated attribute of such a class or of one of its bases within TRL is a field; what it inherits from `TrainingArguments` is
transformers'. `TrlParser` is an argparse parser: what it makes of a string depends on the one type that `HfArgumentParser` picks from an
annotation, which `parser_type` repeats.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.frameworks.trl.releases import CLASSES
from cfglint.source.annotations import Any, Callable, Operand, Sequence
from cfglint.source.python import class_fields
from cfglint.source.python.class_fields import ClassField, ClassReading
from cfglint.source.python.package import Module, SourceError, Tree, finder

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


class SourceReading(ClassReading):
    outside = (TRAINING_ARGUMENTS,)

    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        """None for what is taken from the environment or the name of the script."""
        return None if isinstance(node, ast.Subscript | ast.Call) else super().computed(module, node, refusal)


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    reading = SourceReading(module.tree)
    return {name: _field(reading, field) for name, field in reading.fields(module, definition).items()}


def _field(reading: SourceReading, field: ClassField) -> Raw:
    annotation, default = field.annotation, reading.default(field)
    raw: Raw = {"type": parser_type(annotation), "annotation": ast.unparse(annotation)}
    literals = (each for each in ast.walk(annotation) if isinstance(each, ast.Subscript) and ast.unparse(each.value) == "Literal")
    choices = field.choices or next(map(field.module.literal_values, literals), None)
    if choices is not None:
        raw["choices"] = choices
    return {**raw, "default": REQUIRED if default is class_fields.REQUIRED else default}


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
    return ["None" if name == "NoneType" else name for name in map(ast.unparse, class_fields.alternatives(annotation))]


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
