"""Python source: the keyword arguments of a call as a document. No program is run or imported."""

from __future__ import annotations

SYNTAX = "python"  # the syntax of documents that are calls
