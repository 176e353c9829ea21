"""Undeclared files that may be templates: a placeholder is an unknown value, and what depends on it is not reported."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial, reduce
from operator import getitem

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import ERROR, Diagnostic
from cfglint.findings.vocabulary import Verdict
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.run.loaded import NUMBERS, consumer_first
from cfglint.source.annotations import Any, Iterator, Mapping
from cfglint.source.document import MAPPING, SCALAR, Document, Node, Path, pointer
from cfglint.source.parse import parse
from cfglint.source.sections import reread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.validation.schema import Property

PLACEHOLDER = re.compile(r"\{\{.*\}\}|\$\{[^}]*\}|\$[A-Za-z_]\w*|__[A-Za-z0-9]\w*__|<[A-Za-z][\w .:-]*>|\{%.*%\}", re.DOTALL)
# CONFIG_BATCH_SIZE or QuantW_FORWARD without quotes in JSON, where hjson includes the comma; TRUE is a misspelt value.
BARE_NAME = r"(?!(?:TRUE|FALSE|NULL|NONE|INFINITY)\b)[A-Z](?:[A-Z0-9]*|[A-Za-z0-9]*(?=_))(?:_[A-Za-z0-9]+)*"
BARE = re.compile(BARE_NAME + "_?,?")
# A placeholder without quotes as a value of JSON; strings and comments are skipped.
UNQUOTED = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)'
    r"|[:,\[]\s*(?P<token>\{\{[^{}\n]*\}\}|\$\{[^{}\n]*\}|\$[A-Za-z_]\w*|__[A-Za-z0-9]\w*__"
    r"|<[A-Za-z][\w .:-]*>|(?=\w{4})" + BARE_NAME + r")(?=\s*(?:[,}\]]|$))",
    re.DOTALL,
)
MARK = "the placeholder"
BARE_LEAST = 4  # characters
CLOSINGS = {"{%": "%}", "{{": "}}"}  # of the marks of a template language
FILES = ("dir", "path", "file", "deepspeed", "folder")  # last words of keys whose strings are paths
NUMERIC = {"boolean", "integer", "number"}
LISTS = {"array", "object"}


def placeholders(document: Document, kind: str, bare: set[int]) -> list[Path]:
    """The paths of a document's placeholders; `bare` are the places of those in JSON."""
    found: list[Path] = []
    for path, _, node in document.walk():
        is_mark = is_bare(document, node)
        if node.kind == SCALAR:
            has_form = node.start in bare or is_mark or has_interpolation(node.raw) or PLACEHOLDER.fullmatch(node.raw.strip()) is not None
        else:  # `{{ name }}` without quotes in YAML
            has_form = node.kind == MAPPING and node.style == "flow" and document.text.startswith("{{", node.start)
        if path and has_form:
            # Others contain a placeholder, as the path `${HOME}/ds.json` does.
            is_whole = not has_interpolation(node.raw) or PLACEHOLDER.fullmatch(node.raw.strip()) is not None
            may_be = is_to_fill_in(kind, path, node.start in bare or is_mark, node.kind != SCALAR or is_whole)
            if may_be and not refers_to_key(document, node.raw, path):
                found.append(path)
    return found


def masked(document: Document) -> tuple[Document, set[int]]:
    """(the document with strings of the same length for JSON's unquoted placeholders, which would break its parsing, their places)."""
    if document.syntax != "json":
        return document, set()
    places: set[int] = set()

    def string_for(match: re.Match[str]) -> str:
        token = match.group("token")
        if token is None:
            return match.group()
        places.add(match.start("token"))
        inside = token[1:-1].replace('"', " ").replace("\\", " ").replace("\n", " ")
        return match.group()[: -len(token)] + f'"{inside}"'

    text = UNQUOTED.sub(string_for, document.text)
    if not places:
        return document, places
    return reread(document, text), places


def has_interpolation(text: str) -> bool:
    begin = text.find("${")
    return begin >= 0 and "}" in text[begin:]


def is_bare(document: Document, node: Node) -> bool:
    """Whether a scalar is a name in capitals without quotes, in JSON."""
    return (
        document.syntax == "json"
        and node.kind == SCALAR
        and not node.style
        and len(node.raw) >= BARE_LEAST
        and BARE.fullmatch(node.raw) is not None
    )


def refers_to_key(document: Document, raw: str, path: Path, seen: tuple[Path, ...] = ()) -> bool:
    """Whether `${a.b}` names another key of the file, whose value is known; `seed: ${seed}` refers to what the file becomes a part of."""
    if not raw.startswith("${") or document.syntax == "json":
        return False
    target = tuple(raw[2:-1].split("."))
    node = document.find(target)[1]
    if node is None or target in (path, *seen):
        return False
    node = node.resolved()
    is_reference = node.kind == SCALAR and has_interpolation(node.raw)
    return not is_reference or refers_to_key(document, node.raw, target, (*seen, path))


def is_to_fill_in(kind: str, path: Path, bare: bool, whole: bool) -> bool:
    """Whether a placeholder may stand for the value of a key: not in free text, nor in a key that the framework does not have, which
    may contain any string.
    """
    from cfglint.frameworks import framework
    from cfglint.frameworks.validation import schema

    try:
        known: Property | None = schema.load(kind).lookup(path)
    except OSError:
        known = None
    if known is None:
        return bare or (whole and any(history.ever(str(path[-1])) for history in framework(kind).histories()))
    if known.enum or NUMERIC & known.types or (known.types and "string" not in known.types):
        return True
    is_path = str(path[-1]).replace("-", "_").rpartition("_")[2] in FILES
    return whole and (bare or is_path or bool(LISTS & known.types))


def opened(document: Document, found: list[Path]) -> Document:
    """The document with unknown values in the places of its placeholders."""
    fresh = reread(document, masked(document)[0].text)
    fresh.missing = [reference for reference in document.missing if reference[0] not in found]
    spans: list[tuple[int, int]] = []
    unknown: dict[Path, Unknown] = {}
    for path in found:
        node = fresh.find(path)[1]
        if node is None:
            continue
        spans.append((node.start, node.end))
        unknown[path] = Unknown(Reason("file", f"{MARK} `{document.text[node.start : node.end]}`"))
        if node.kind == MAPPING:  # `{{ name }}`, which YAML refuses as the key of a mapping
            node.kind, node.children = SCALAR, ()
    fresh.completed = partial(with_unknown, unknown)
    # hjson may have taken the comma right behind a placeholder for a part of it.
    fresh.relaxations[:] = [
        relaxation
        for relaxation in fresh.relaxations
        if not any(start <= relaxation[0] and not fresh.text[end : relaxation[0]].strip() for start, end in spans)
    ]
    return fresh


def with_unknown(unknown: Mapping[Path, Unknown], values: Any) -> Any:
    """The values of a loader, with unknown ones at some paths."""
    for path, content in unknown.items():
        with suppress(LookupError, TypeError):  # the loader makes something else of it
            reduce(getitem, path[:-1], values)[path[-1]] = content
    return values


def is_unreadable_template(document: Document) -> bool:
    """Whether a file cannot be read because of the marks of a template language: it can be read without them, or the first mistake
    is on the line of one that is not in quotes.

    Marks within a string, as in a `chat_template`, break nothing, so a mistake elsewhere in such a file is one.
    """
    first = next((problem.start for problem in document.problems if problem.kind == "syntax"), None)
    if first is None:
        return False
    text = document.text
    every = [*marks_of(text)]
    marks = [(start, end) for start, end, is_quoted in every if not is_quoted]
    if not marks:
        return False
    begin, finish = text.rfind("\n", 0, first) + 1, text.find("\n", first) % (len(text) + 1)
    if any(start <= finish and end >= begin for start, end in marks):
        return True
    kept = zip([0, *(end for _, end, _ in every)], [*(start for start, _, _ in every), len(text)], strict=True)
    without = "".join(text[start:end] for start, end in kept)
    return not any(problem.kind == "syntax" for problem in parse(document.path, without, document.syntax).problems)


def marks_of(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it is within a quoted string that begins on its line) of each `{% ... %}` and `{{ ... }}`.

    Every character is looked at once, whatever the marks: there may be a million without an end.
    """
    position, scanned, quote = 0, 0, ""
    following = {mark: text.find(mark) for mark in CLOSINGS}
    while any(place >= 0 for place in following.values()):
        start, mark = min((place, mark) for mark, place in following.items() if place >= 0)
        end = text.find(CLOSINGS[mark], start + 2)
        if end < 0:
            following[mark] = -1
            continue
        line = text.rfind("\n", scanned, start) + 1
        if line:
            scanned, quote = line, ""
        for place in range(scanned, start):
            char = text[place]
            if char == quote and text[place - 1] != "\\":
                quote = ""
            elif not quote and char in "\"'":
                quote = char
        yield start, end + 2, bool(quote)
        scanned, position = start, end + 2
        following.update({each: text.find(each, position) for each, place in following.items() if 0 <= place < position})


class TemplateRun(CheckedRun):
    """A run of which some values are placeholders, by the paths in `found` of each document.

    Without any, the files cannot be read as they are, and nothing is known.
    """

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts, found: list[list[Path]]) -> None:
        self._template = documents, kinds, found
        super().__init__([opened(*pair) for pair in zip(documents, found, strict=True)], kinds, facts)
        self.documents, _ = consumer_first(documents, kinds)
        self.is_unreadable_template = not any(found)
        places = ((document.path, pointer(path)) for document, paths in zip(documents, found, strict=True) for path in paths)
        self.placeholders = frozenset(places)

    def with_facts(self, facts: LaunchFacts) -> TemplateRun:
        documents, kinds, found = self._template
        return TemplateRun(documents, kinds, facts, found)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings that do not depend on a placeholder."""
        if self.is_unreadable_template:
            return []
        if self._diagnostics is None:
            self._diagnostics = [
                diagnostic
                for diagnostic in super().diagnostics
                if (diagnostic.place.file, diagnostic.key) not in self.placeholders
                and not any(reason.what.startswith(MARK) for reason in diagnostic.depends_on)
            ]
            from cfglint.source.quoted_line import quoted_line

            # The lines of the files are shown as they are, not as their placeholders are read.
            texts = {document.path: document for document in self.documents}
            for place in (place for each in self._diagnostics for place in (each.place, *(related for related, _ in each.related))):
                if place.file in texts:
                    original = texts[place.file]
                    is_there = original.position(place.start)[0] == place.line
                    place.source = quoted_line(original, place.start, place.end) if is_there else original.line(place.line)
        return self._diagnostics

    @property
    def verdict(self) -> Verdict | None:
        """`reject` if no filling would help, else unknown."""
        return "reject" if any(diagnostic.severity == ERROR for diagnostic in self.diagnostics) else None

    @property
    def resolved(self) -> dict[str, int | None]:
        return dict.fromkeys(NUMBERS) if self.is_unreadable_template else super().resolved


def template_run(documents: list[Document], kinds: list[str], facts: LaunchFacts) -> TemplateRun | None:
    """The run of files of which some value is a placeholder or that a template language keeps from being read; None for others."""
    if facts.complete or facts.kind_given:
        return None
    read = [masked(document) for document in documents]
    found = [placeholders(document, kind, bare) for (document, bare), kind in zip(read, kinds, strict=True)]
    if any(is_unreadable_template(document) for document, _ in read):
        return TemplateRun(documents, kinds, facts, [[] for _ in documents])
    return TemplateRun(documents, kinds, facts, found) if any(found) else None
