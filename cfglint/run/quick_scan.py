"""Files that are certainly not training configs, told by their keys before anything is parsed into a span tree."""

from __future__ import annotations

from cfglint.frameworks import detect, framework, kinds, related_tool
from cfglint.source import outline

SECTIONS = ("training_args", "training_arguments", "trainer_args", "train_args", "TrainingArguments")  # of a program's own file


def unrelated_keys(path: str, text: str, syntax: str) -> list[str] | None:
    """The top-level keys of a file that is of no kind; None for one that has to be parsed to tell."""
    return of_json(path, text) if syntax == "json" else of_yaml(text)


def of_json(path: str, text: str) -> list[str] | None:
    """The keys of a strict JSON text that no framework and no related tool recognises."""
    document = outline.of_json(path, text)
    if document is None or document.root is None:
        return None
    names = [key.raw for key, _ in document.root.pairs()]
    if any(name in names for name in SECTIONS) or any(detect(document)) or related_tool(document):
        return None
    return names


def of_yaml(text: str) -> list[str] | None:
    """The keys of a YAML text that no framework and no related tool can recognise."""
    names = outline.yaml_keys(text)
    if names is None or any(name in names for name in SECTIONS) or any(framework(kind).may_be(names) for kind in kinds()):
        return None
    return names
