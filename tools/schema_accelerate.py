"""The schema of accelerate's launch file: the keys that the source of the newest release has, and the releases that have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schema_history import said, tables_of
from schema_source import SourceError, Tree

from cfglint.frameworks.accelerate.source_fields import CLASSES, FILE, blocks, fields, find
from cfglint.frameworks.releases.history import NAME, Row

Raw = dict[str, Any]

OPTIONAL_PREFIX = {"dynamo_config": "dynamo_", "fp8_config": "fp8_", "fsdp_config": "fsdp_"}

__all__ = ["facts", "find", "version"]


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("__init__.py")


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it, blocks with their `properties`."""
    found: dict[str, Raw] = {}
    for title in CLASSES.values():
        for key, raw in fields(tree, title).items():
            found.setdefault(key, raw)
    for raw in found.values():
        raw.pop("required", None)
    for block, keys in blocks(tree).items():
        if block not in found:
            raise SourceError(f"{tree.root / FILE}: no field for the block {block}")
        found[block].update({"properties": with_spellings(block, keys), "x-section-policy": "ignore"})
    return _with_releases(found)


def with_spellings(block: str, keys: dict[str, Raw]) -> dict[str, Raw]:
    """The keys of a block, also under their spellings without the prefix, where that is taken as well."""
    found: dict[str, Raw] = {}
    for key, raw in keys.items():
        found[key] = raw
        if block in OPTIONAL_PREFIX:
            short = key.removeprefix(OPTIONAL_PREFIX[block])
            raw["x-aliases"] = [short]
            reference = f"#/properties/{block}/properties/{key}"
            found[short] = {"$ref": reference, "x-alias-of": key, "description": f"Another spelling of {key}; not beside it."}
    return found


def _with_releases(found: dict[str, Raw]) -> dict[str, Raw]:
    """The keys with the first release that has them, if that is not the oldest modelled one, or that of their block."""
    rows = {section: _by_key(of_section) for section, of_section in tables_of("accelerate").FIELDS.items()}
    for key, raw in found.items():
        own = rows[""].get(key) or rows["sagemaker"].get(key, [])
        raw.update(_since(own))
        for name, inner in raw.get("properties", {}).items():
            inner.update(_since(rows.get(key, {}).get(name, []), own))
    return found


def _by_key(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[NAME], []).append(row)
    return found


def _since(rows: list[Row], section: Iterable[Row] = ()) -> Raw:
    return {key: value for key, value in said(rows, section).items() if key == "x-since"}
