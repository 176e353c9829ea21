"""Python source: the keyword arguments of a call as a document. No program is run or imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.document import Syntax

SYNTAX: Syntax = "python"  # the syntax of documents that are calls
