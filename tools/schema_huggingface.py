"""The fields of `transformers.TrainingArguments` from an unpacked wheel.

A field is an annotated attribute of the dataclass in `training_args.py`. Values are not coerced on the way
from a YAML file, so a file should hold the annotated type; only the Enum fields are checked. Which releases
have which fields, defaults and values comes from the tables that `tables_huggingface.py` makes of all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import schema_history
from schema_merge import SCHEMAS, VALUE_KEYWORDS
from schema_source import Tree

from cfglint.frameworks.huggingface.source_fields import facts, find
from cfglint.frameworks.releases.history import NAME, Row
from cfglint.frameworks.releases.versions import dotted

Raw = dict[str, Any]

__all__ = ["facts", "find", "histories", "next_to", "version"]


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("__init__.py")


def next_to(folder: Path) -> dict[str, Raw]:
    """The fields of the transformers in a folder, else those of the release of the committed schema."""
    if (folder / "transformers").exists():
        return facts(find(folder))
    properties: dict[str, Raw] = json.loads((SCHEMAS / "huggingface.json").read_text(encoding="utf-8"))["properties"]
    kept = (*VALUE_KEYWORDS, "default", "x-checked-at")
    return {key: {word: raw[word] for word in kept if word in raw} for key, raw in properties.items() if "x-removed" not in raw}


def histories() -> dict[tuple[str, ...], Raw]:
    """Name of a field -> what the tables say of its releases, its defaults and its values."""
    tables = schema_history.tables_of("huggingface")
    rows: dict[str, list[Row]] = {}
    for row in tables.FIELDS:
        rows.setdefault(row[NAME], []).append(row)
    made: dict[tuple[str, ...], Raw] = {(name,): schema_history.said(found) for name, found in rows.items()}
    for (name, value), (since, until) in tables.CHOICE_HISTORY.items():
        for word, release in (("x-enum-since", since), ("x-enum-removed", until)):
            if release:
                made[name,].setdefault(word, {})[value] = dotted(release)
    return made
