"""The upper levels of a file's content, from parsers that are written in C: enough to recognise its kind.

A span tree takes ten times as long. A content that these parsers refuse, or whose keys would be uncertain, has no outline.
"""

from __future__ import annotations

from cfglint.source import libyaml
from cfglint.source.annotations import Any
from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Document, Node
from cfglint.source.limits import MAX_DEPTH, MOST_PARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder

LEVELS = 2  # of mappings in an outline: the root and its sections
PLAIN = Node(SCALAR, 0, 0)  # every scalar value
BLANKS = " \t\n\r"
COLLECTIONS = (list, tuple)
INDICATORS = " \t-?:"  # characters that open block collections at the start of a line
MOST_INDICATORS = 60  # such characters on a line, and opening brackets in a file: fewer cannot nest deeper than the limit
NAME_MARKS = "_.<"  # characters other than letters and digits that an unquoted key may begin with

_decoder: list[JSONDecoder] = []


def of_json(path: str, text: str, value: object) -> Document:
    """A document with the keys of a JSON value down to the second level, for an array those of its first item."""
    document = Document(path, text, "json")
    document.roots.append(node_of(value, LEVELS))
    return document


def json_keys(value: object) -> list[str]:
    return [name for name, _ in value] if value.__class__ is tuple else []


def json_value(text: str) -> list[Any] | tuple[Any, ...] | None:
    """A strict JSON array or object, the latter as a tuple of pairs; None for any other content, and one beyond the limits."""
    start = len(text) - len(text.lstrip(BLANKS))
    if not text.startswith(("{", "["), start):
        return None
    brackets = text.count("{") + text.count("[")
    if 2 * len(text) >= MOST_PARTS and text.count(",") + 2 * brackets >= MOST_PARTS:
        return None
    try:
        if not _decoder:
            from json import JSONDecoder

            _decoder.append(JSONDecoder(object_pairs_hook=tuple))  # pairs, so that duplicate keys are preserved
        value: list[Any] | tuple[Any, ...]
        value, end = _decoder[0].raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if text[end:].strip(BLANKS):
        return None
    level: list[Any] = [value] if brackets > MAX_DEPTH else []
    for _ in range(MAX_DEPTH):
        if not level:
            return value
        items = [item for inner in level for item in (inner if inner.__class__ is list else [value for _, value in inner])]
        level = [item for item in items if item.__class__ in COLLECTIONS]
    return None if level else value


def node_of(value: Any, levels: int) -> Node:
    """A collection as a node without its place, and with a limited number of mapping levels."""
    if value.__class__ is list:
        sequence = Node(SEQUENCE, 0, 0, "", "flow")
        sequence.children = [node_of(each, 1) for each in value[:1] if each.__class__ is tuple] if levels == LEVELS else []
        return sequence
    node = Node(MAPPING, 0, 0, "", "flow")
    if levels:
        node.children = [
            (Node(SCALAR, 0, 0, key, '"'), node_of(inner, levels - 1) if inner.__class__ in COLLECTIONS else PLAIN) for key, inner in value
        ]
    return node


def is_yaml(text: str) -> bool:
    """Whether libyaml certainly parses a content and PyYAML composes it; false also for one that is not simple enough to know."""
    if text.count("[") + text.count("{") > MOST_INDICATORS or "\ufeff" in text:
        return False
    for mark in "&*":  # an anchor or alias: PyYAML refuses an undefined one
        place = text.find(mark)
        while place >= 0:
            after = text[place + 1 : place + 2]
            if (after.isalnum() or after in ("_", "-")) and (place == 0 or text[place - 1] in " \t\n\r,[{:"):
                return False
            place = text.find(mark, place + 1)
    parser = libyaml.parser()
    if parser is None:
        return False
    from yaml.error import YAMLError

    try:
        return bool(parser(text).raw_parse() < MOST_PARTS)
    except (YAMLError, UnicodeEncodeError):
        return False


def keys_of_lines(lines: list[str]) -> list[str] | None:
    """The words before a colon at the first column, among them every top-level key of a valid content.

    None if the root may be anything but their block mapping, or a block sequence there.
    """
    names: list[str] = []
    begun = False
    for line in lines:
        first = line[:1]
        if first in INDICATORS and len(line) - len(line.lstrip(INDICATORS)) > MOST_INDICATORS:
            return None
        if first in " \t":
            if not begun and line.strip():
                return None
        elif line[:2] in ("-", "- "):
            begun = True
        elif first != "#" and line.rstrip() != "---":
            if first in "\"'":
                end = line.find(first, 1)
                name, is_key = line[1:end], "\\" not in line and end > 0 and line[end + 1 :].lstrip().startswith(":")
            else:
                name, colon, rest = line.partition(":")
                name, is_key = name.rstrip(), bool(colon) and rest[:1] in " \t" and (first.isalnum() or first in NAME_MARKS)
            if not is_key:
                return None
            names.append(name)
            begun = True
    return names if begun else None
