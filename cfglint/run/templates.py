"""Undeclared files that may be templates: a placeholder is an unknown value, and what depends on it is not reported.

The run is checked with several fillings of its placeholders. A finding or number holds for the template where all
of them agree, and a finding at a placeholder itself is left out.
"""

from __future__ import annotations

import re

from cfglint.findings.diagnostic import ERROR, Diagnostic
from cfglint.findings.vocabulary import Verdict
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Iterator
from cfglint.source.document import ALIAS, MAPPING, SCALAR, SEQUENCE, Document, Node, Path, pointer
from cfglint.source.parse import parse
from cfglint.source.sections import reread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.validation.schema import Property

Fillings = list[str | None]  # the content of a scalar, None for a key that is left out

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
BARE_LEAST = 4  # characters
CLOSINGS = {"{%": "%}", "{{": "}}"}  # of the marks of a template language
FILES = ("dir", "path", "file", "deepspeed", "folder")  # last words of keys whose strings are paths
WORLDS = 5
LISTS = {"array", "object"}
FILLINGS: dict[str, Fillings] = {
    "boolean": [None, "true", "false", "true", "false"],
    "integer": [None, "1", "2", "1000", "0"],
    "number": [None, "1", "0.5", "1000", "0.0001"],
    "string": [None, "x", "x", "x", "x"],
    "former": ["null", "x", "x", "x", "x"],  # of a field of other releases: the key itself may be an error
}


def placeholders(document: Document, kind: str, bare: set[int]) -> dict[Path, Fillings]:
    """The paths of a document's placeholders with values that they may be filled with; `bare` are the places of those in JSON."""
    found: dict[Path, Fillings] = {}
    for path, _, node in document.walk():
        is_mark = is_bare(document, node)
        if node.kind == SCALAR:
            has_form = node.start in bare or is_mark or has_interpolation(node.raw) or PLACEHOLDER.fullmatch(node.raw.strip()) is not None
        else:  # `{{ name }}` without quotes in YAML
            has_form = node.kind == MAPPING and node.style == "flow" and document.text.startswith("{{", node.start)
        if path and has_form:
            # Others contain a placeholder, as the path `${HOME}/ds.json` does.
            is_whole = not has_interpolation(node.raw) or PLACEHOLDER.fullmatch(node.raw.strip()) is not None
            fillings = fillings_of(kind, path, node.start in bare or is_mark, node.kind != SCALAR or is_whole)
            if fillings is not None and not refers_to_key(document, node.raw, path):
                found[path] = fillings
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


def fillings_of(kind: str, path: Path, bare: bool, whole: bool) -> Fillings | None:
    """Values that a key accepts; None for free text and for keys that the framework does not have, which may contain any string."""
    from cfglint.frameworks import framework
    from cfglint.frameworks.validation import schema

    try:
        known: Property | None = schema.load(kind).lookup(path)
    except OSError:
        known = None
    if known is None:
        former = whole and any(history.ever(str(path[-1])) for history in framework(kind).histories())
        return FILLINGS["integer"] if bare else FILLINGS["former"] if former else None
    if known.enum:
        choices: Fillings = [str(value).lower() if isinstance(value, bool) else str(value) for value in known.enum if value is not None]
        return [None, *(choices * WORLDS)[: WORLDS - 1]]
    for name in ("boolean", "integer", "number"):
        if name in known.types:
            return FILLINGS[name]
    if known.types and "string" not in known.types:
        return [None] * WORLDS
    if whole and LISTS & known.types:
        return FILLINGS["string"]
    if not whole:
        return None
    if bare or "array" in known.types or str(path[-1]).replace("-", "_").rpartition("_")[2] in FILES:
        return FILLINGS["string"]
    return None


def filled(document: Document, found: dict[Path, Fillings], world: int) -> Document:
    """The document with its placeholders filled; places remain those in the file."""
    fresh, places = masked(document)
    if not places:
        fresh = reread(document, document.text)
    fresh.missing = [reference for reference in document.missing if reference[0] not in found]
    spans: list[tuple[int, int]] = []
    for path, fillings in found.items():
        parent = fresh.find(path[:-1])[1]
        if parent is None:
            continue
        fill(parent.resolved(), path[-1], fillings[world % len(fillings)], spans)
        fresh.forget_places()
    # hjson may have taken the comma right behind a placeholder for a part of it.
    fresh.relaxations[:] = [
        relaxation
        for relaxation in fresh.relaxations
        if not any(start <= relaxation[0] and not fresh.text[end : relaxation[0]].strip() for start, end in spans)
    ]
    return fresh


def fill(parent: Node, step: str | int, text: str | None, spans: list[tuple[int, int]]) -> None:
    """Put a scalar in the place of a placeholder, or take its key out."""
    if parent.kind == SEQUENCE and isinstance(step, int):
        node = parent.children[step]
        spans.append((node.start, node.end))
        parent.children[step] = scalar(node, text or "1")
        return
    if parent.kind != MAPPING:
        return
    for place, (key, node) in reversed([*enumerate(parent.children)]):
        if key.raw == step and node.kind != ALIAS:
            spans.append((node.start, node.end))
            if text is None:
                del parent.children[place]
            else:
                parent.children[place] = (key, scalar(node, text))


def scalar(node: Node, text: str) -> Node:
    found = Node(SCALAR, node.start, node.end, text, "" if text[:1].isdigit() or text in ("true", "false", "null") else '"')
    found.head = node.head
    return found


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


class Filling(CheckedRun):
    """A run whose placeholders are filled; other releases are asked later, about the findings that all fillings have in common."""

    asks_other_releases = False


class TemplateRun(CheckedRun):
    """A run of which some values are placeholders.

    `found` are the placeholders of each document. Without any, the files cannot be read as they are, and nothing is known.
    """

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts, found: list[dict[Path, Fillings]]) -> None:
        super().__init__(documents, kinds, facts)
        self._template = documents, kinds, found
        self.bugs.clear()  # caused by the placeholders; real ones appear in the fillings
        self.is_unreadable_template = not any(found)
        places = ((document.path, pointer(path)) for document, paths in zip(documents, found, strict=True) for path in paths)
        self.placeholders = frozenset(places)
        # The first of all worlds with the same fillings: those of a string or a boolean are soon repeated.
        fillings = [filling for paths in found for filling in paths.values()]
        worlds = {tuple(filling[world % len(filling)] for filling in fillings): world for world in reversed(range(WORLDS))}
        self.worlds = [
            Filling([filled(*pair, world) for pair in zip(documents, found, strict=True)], kinds, facts)
            for world in (sorted(worlds.values()) if fillings else ())
        ]

    def with_facts(self, facts: LaunchFacts) -> TemplateRun:
        documents, kinds, found = self._template
        return TemplateRun(documents, kinds, facts, found)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        if self._diagnostics is None:
            everywhere = [{signature(diagnostic): diagnostic for diagnostic in world.diagnostics} for world in self.worlds]
            common = [
                diagnostic
                for diagnostic in (self.worlds[0].diagnostics if self.worlds else [])
                if all(signature(diagnostic) in others for others in everywhere)
                and (diagnostic.place.file, diagnostic.key) not in self.placeholders
            ]
            for world in self.worlds:
                undecided = common if world is self.worlds[0] else [diagnostic for diagnostic in common if diagnostic.severity == ERROR]
                world.judged(undecided)
            self._diagnostics = common
            from cfglint.source.quoted_line import quoted_line

            # The lines of the files are shown as they are, not as their placeholders are read.
            texts = {document.path: document for document in self.documents}
            for place in [place for diagnostic in common for place in (diagnostic.place, *(related for related, _ in diagnostic.related))]:
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
        """The numbers that are the same for all fillings."""
        found = [world.resolved for world in self.worlds]
        if not found:
            return dict.fromkeys(super().resolved)
        return {name: value if all(each.get(name) == value for each in found) else None for name, value in found[0].items()}


def signature(each: Diagnostic) -> tuple[str, str, str, str]:
    """The identity of a finding across fillings of a template."""
    return each.code, each.place.file, each.key, each.severity


def template_run(documents: list[Document], kinds: list[str], facts: LaunchFacts) -> TemplateRun | None:
    """The run of files of which some value is a placeholder or that a template language keeps from being read; None for others."""
    if facts.complete or facts.kind_given:
        return None
    read = [masked(document) for document in documents]
    found = [placeholders(document, kind, bare) for (document, bare), kind in zip(read, kinds, strict=True)]
    if any(is_unreadable_template(document) for document, _ in read):
        return TemplateRun(documents, kinds, facts, [{} for _ in documents])
    return TemplateRun(documents, kinds, facts, found) if any(found) else None
