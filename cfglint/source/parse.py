"""Parses a content into a document, by its syntax; the parsers are imported when they are needed."""

from __future__ import annotations

from cfglint.source.annotations import Syntax
from cfglint.source.document import LIMIT, Document, Problem
from cfglint.source.limits import MAX_SIZE


def parse(path: str, text: str, syntax: Syntax, bom: bool = False) -> Document:
    """The span tree of a content, `yaml`, or `json` with hjson; never raises because of it: parse errors are the document's `problems`."""
    if len(text) > MAX_SIZE:
        document = Document(path, text, syntax, bom)
        document.problems.append(Problem(0, 0, f"{len(text):,} characters are too many, the limit is {MAX_SIZE:,}", LIMIT))
        return document
    if syntax == "json":
        from cfglint.source import json

        return json.parse(path, text, bom)
    from cfglint.source import yaml

    return yaml.parse(path, text, bom)
