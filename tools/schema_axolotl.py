"""The schema of axolotl from an unpacked wheel; `cfglint/frameworks/axolotl/source_fields.py` reads the models."""

from __future__ import annotations

from typing import Any

from schema_source import Tree

from cfglint.frameworks.axolotl.source_fields import find, read

__all__ = ["definitions", "facts", "find", "version"]

Raw = dict[str, Any]


def version(tree: Tree) -> str | None:
    """The release of the wheel, from the folder of its metadata beside the package."""
    names = sorted(path.name for path in tree.root.parent.glob("axolotl-*.dist-info"))
    return names[-1].removeprefix("axolotl-").removesuffix(".dist-info") if names else None


def facts(tree: Tree) -> dict[str, Raw]:
    """Field -> what the source says of it: the top level in the order of the classes, then what plugins add."""
    return read(tree)[0]


def definitions(tree: Tree) -> dict[str, Raw]:
    """Model -> its JSON Schema, for the models that fields refer to."""
    found: dict[str, Raw] = {}
    for name, fields in read(tree)[1].items():
        policy = fields.pop("*", {"x-section-policy": "ignore"})
        found[name] = {"type": ["object", "null"], **policy, "properties": fields}
    return found
