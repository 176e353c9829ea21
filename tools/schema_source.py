"""The reader of package sources, which the tools share with cfglint (`cfglint/source/python/package.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from cfglint.source.python.package import Definition, Module, SourceError, Tree, annotated, pairs, release  # noqa: E402

__all__ = ["Definition", "Module", "SourceError", "Tree", "annotated", "pairs", "release"]
