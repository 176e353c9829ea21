"""A text as a document, by its syntax; the parsers are imported when they are needed."""

from __future__ import annotations

from cfglint.source.document import Document, Problem

MAX_SIZE = 5_000_000
MOST_PARTS = 1_000_000  # keys, values, ends of collections and comments, which take a hundred times the memory of their text
MOST_FOR_PYTHON = 250_000  # characters of YAML, three seconds of PyYAML's parser in Python; in a larger text libyaml has the last word


def parse(path: str, text: str, syntax: str, bom: bool = False) -> Document:
    """The span tree of a text; `syntax` is `yaml` or `json` (with hjson and everything between).

    Never raises for what a text may hold: what cannot be parsed is in the document's `problems`.
    """
    if len(text) > MAX_SIZE:
        document = Document(path, text, syntax, bom)
        document.problems.append(Problem(0, 0, f"{len(text):,} characters are too many, the limit is {MAX_SIZE:,}", "too-large"))
        return document
    if syntax == "json":
        from cfglint.source import json

        return json.parse(path, text, bom)
    from cfglint.source import yaml

    return yaml.parse(path, text, bom)


def too_many() -> Problem:
    """The problem of a text with more in it than is kept."""
    return Problem(0, 0, f"more than {MOST_PARTS:,} keys, values and comments are too many", "too-large")
