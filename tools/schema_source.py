"""The reader of package sources, which the tools share with cfglint (`cfglint/source/python/package.py`)."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from cfglint.source.dataclass_fields import annotated  # noqa: E402
from cfglint.source.python.package import Definition, Module, SourceError, Tree, pairs  # noqa: E402

__all__ = ["Definition", "Module", "SourceError", "Tree", "annotated", "mentioned", "pairs", "release"]


def release(text: str) -> tuple[int, ...]:
    """A release as the tables have it: `4.38.0`, `2026-05` as numbers, without `.post1`; () for none."""
    return tuple(int(part) for part in text.replace("-", ".").split(".") if part.isdigit()) if text else ()


@cache
def mentioned(module: Module) -> set[str]:
    """What the source has as a text, also by the name of a constant, and the names of attributes."""
    texts: set[str] = set()
    for node in ast.walk(module.syntax):
        found = module.find(node.id) if isinstance(node, ast.Name) else None
        value = node if found is None else found[1]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            texts.add(value.value)
        elif isinstance(node, ast.Attribute):
            texts.add(node.attr)
    return texts
