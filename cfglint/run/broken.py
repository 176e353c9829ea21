"""The kind of a file that cannot be parsed, or whose content is not a mapping: by the keys on its lines."""

from __future__ import annotations

import os
import re

from cfglint.frameworks import detect, framework, kinds
from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH
from cfglint.source import cached
from cfglint.source.annotations import Iterator, Syntax
from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.root import root_of

LONGEST = 200_000  # characters that are examined
QUOTES = "\"'\u201c\u201d\u2018\u2019"  # an editor for prose may have made typographic quotes of the plain ones
LINE_KEY = re.compile(rf"^([ \t]*)(?:-[ \t]+)?[^\w\s#<]{{0,3}}([A-Za-z][\w-]*)[{QUOTES}]?[ \t]*[:=]", re.MULTILINE)
QUOTED_KEY = re.compile(rf"[{QUOTES}]([A-Za-z][\w-]*)[{QUOTES}]?[ \t]*(:|$)|[{{}}]")
CUT_KEY = re.compile(r"^[ \t{]*[\"']?([A-Za-z][\w-]*)[\"']?\s*\Z", re.MULTILINE)
SHORT = 200  # up to this many characters one key is enough
ENOUGH_KEYS = 3  # keys that are needed if the first line may be incomplete
BLANK = 1000  # bytes of a file that may have nothing but blanks
CUT = 5  # characters that identify a truncated key


def nothing_in(path: str) -> str:
    """Why there is nothing to recognise in a path: the file is empty, or a link to a missing one; empty for any other."""
    if os.path.islink(path) and not os.path.exists(path):
        return "a link to a file that does not exist"
    if not os.path.isfile(path) or os.path.getsize(path) > BLANK:
        return ""
    try:
        return "" if read_bytes(path, root=root_of(path)).strip() else "the file is empty"
    except FileProblem:
        return ""


def kind_of_text(path: str, text: str, syntax: Syntax) -> tuple[str | None, int]:
    """(kind, certainty) by the keys in a file's content, like `detect` for a document; a single likely kind counts as certain."""
    text = text[:LONGEST].replace("\0", "")
    document = keys_only(path, text, syntax)
    kind, clarity = detect(document)
    if kind is not None:
        return kind, clarity
    likely = {each: framework(each).detect(document) for each in kinds()}
    clarity = max(likely.values())
    named = [each for each in likely if likely[each] == clarity] if clarity else []
    if len(named) == 1:
        return named[0], CERTAIN
    # The one that has the most keys of the content: at least half of them, and some that no other program has.
    names = [key.raw.replace("-", "_") for key, _ in document.root.pairs()] if document.root is not None else []
    cut = CUT_KEY.search(text)
    scores: dict[str, int] = {}
    for kind in named or kinds():
        known = known_names(kind)
        found = {name for name in names if name in known}
        if cut and len(cut[1]) >= CUT:
            found.update(name for name in known if name.startswith(cut[1].replace("-", "_")))
        telling = sum("_" in name for name in found)
        enough = 1 if len(text) <= SHORT else 2
        if telling >= enough and 2 * len(found) >= len(names):
            scores[kind] = len(found.intersection(names)) or 1
    most = max(scores.values(), default=0)
    best = [kind for kind, score in scores.items() if score == most]
    if len(best) == 1 and (most > 1 or len(text) <= SHORT):
        return best[0], CERTAIN
    return None, MAYBE if best or named else NO_MATCH


def keys_only(path: str, text: str, syntax: Syntax) -> Document:
    """A document with the keys of a content as a tree, without their values."""
    document = Document(path, text, syntax)
    root = Node(MAPPING, 0, len(text), "", "block")
    document.roots.append(root)
    found = [*(json_keys(text) if syntax == "json" else yaml_keys(text))]
    if len(found) >= ENOUGH_KEYS and "\n" not in text[: found[0][2]]:
        # The first line may be incomplete: its key has only one quote, or it has less indentation than all others.
        depth, name, place = found[0]
        has_one_quote = text[place + len(name) : place + len(name) + 1] in ("'", '"') and not text[:place].strip()
        if (has_one_quote or text[:1] == " ") and all(other > depth for other, _, _ in found[1:]):
            del found[0]
    least = min((depth for depth, _, _ in found), default=0)
    levels: list[tuple[int, Node]] = [(least, root)]
    for depth, name, place in found:
        while len(levels) > 1 and depth <= levels[-1][0]:
            levels.pop()
        if depth == least:
            levels = [(least, root)]
        parent = levels[-1][1]
        if parent.kind != MAPPING:
            parent.kind, parent.children = MAPPING, []
        value = Node(SCALAR, place, place)
        parent.children.append((Node(SCALAR, place, place + len(name), name), value))
        levels.append((depth, value))
    return document


def yaml_keys(text: str) -> Iterator[tuple[int, str, int]]:
    """(indentation, key, offset) for the lines of a YAML content that begin with a key; a key that is cut off at the end counts."""
    end = 0
    for match in LINE_KEY.finditer(text):
        yield len(match[1].expandtabs()), match[2], match.start(2)
        end = match.end()
    if not end:
        cut = CUT_KEY.search(text)
        if cut:
            yield 0, cut[1], cut.start(1)


def json_keys(text: str) -> Iterator[tuple[int, str, int]]:
    """(depth of braces, key, offset) for the keys of a JSON content; a key that is cut off at the end counts."""
    depth = 0
    seen = False
    for match in QUOTED_KEY.finditer(text):
        if match[1] is None:
            depth += 1 if match[0] == "{" else -1
        else:
            seen = True
            yield depth, match[1], match.start(1)
    if not seen:
        yield from yaml_keys(text)


def key_names(document: Document) -> list[str]:
    """The top-level keys of a file; if it is not a mapping, those on its lines."""
    root = document.root
    if root is None or root.kind != MAPPING:
        root = keys_only(document.path, document.text[:LONGEST], document.syntax).root
    return [key.raw for key, _ in root.pairs()] if root is not None else []


def closest_kind(names: list[str]) -> str | None:
    """The kind with the most keys of a file, misspelt ones included; None if no kind has any."""
    from difflib import get_close_matches

    best, most = None, 0
    for kind in kinds():
        known = known_names(kind)
        near = [name for name in names[:50] if name not in known and get_close_matches(name, known, 1, 0.85)]
        number = sum(2 * (name.replace("-", "_") in known) for name in names) + len(near)
        if number > most:
            best, most = kind, number
    return best


@cached
def known_names(kind: str) -> set[str]:
    """The top-level keys of a kind, with underscores; empty if it has no schema."""
    from cfglint.frameworks.validation import schema

    try:
        return {name.replace("-", "_") for name in schema.load(kind).keys()}  # noqa: SIM118
    except OSError:
        return set()
