"""Files that are certainly not training configs, told by their keys before anything is parsed into a span tree."""

from __future__ import annotations

from cfglint.frameworks import detect, framework, kinds, related_tool
from cfglint.source import outline


def unrelated_keys(path: str, text: str, syntax: str, sections: tuple[str, ...] = ()) -> list[str] | None:
    """The top-level keys of a file that is of no kind and has none of some sections; None for one that has to be parsed to tell."""
    names = of_json(path, text) if syntax == "json" else of_yaml(text)
    return None if names is None or any(name in names for name in sections) else names


def of_json(path: str, text: str) -> list[str] | None:
    """The keys of a strict JSON text that no framework and no related tool recognises."""
    document = outline.of_json(path, text)
    if document is None or document.root is None:
        return None
    names = [key.raw for key, _ in document.root.pairs()]
    return None if any(detect(document)) or related_tool(document) else names


def of_yaml(text: str) -> list[str] | None:
    """The keys of a YAML text that no framework and no related tool can recognise."""
    names = outline.yaml_keys(text)
    return None if names is None or any(framework(kind).may_be(names) for kind in kinds()) else names
