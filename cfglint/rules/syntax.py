"""Rules about files that cannot be read or parsed, and about duplicate keys."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.document import LIMIT, MAPPING, NOT_STRICT_JSON, SCALAR, Document, Node, Path, Problem

UNREADABLE = ("unreadable", "encoding", "control")


@rule("SRC001")
def unreadable_file(config: Config) -> Iterator[Finding]:
    yield from _problems(config, lambda problem: problem.kind in UNREADABLE)


@rule("SRC002")
def does_not_parse(config: Config) -> Iterator[Finding]:
    yield from _problems(config, lambda problem: problem.kind not in (*UNREADABLE, LIMIT, NOT_STRICT_JSON))


@rule("SRC003")
def non_strict_json(config: Config) -> Iterator[Finding]:
    for finding in _problems(config, lambda problem: problem.kind == NOT_STRICT_JSON):
        finding.help = "remove it, or declare who reads the file (--kind)"
        yield finding


@rule("SRC004")
def limit_exceeded(config: Config) -> Iterator[Finding]:
    for finding in _problems(config, lambda problem: problem.kind == LIMIT):
        finding.note = "this is a limit of cfglint; the framework may load the file"
        yield finding


@rule("KEY001")
def duplicate_key(config: Config) -> Iterator[Finding]:
    refused = {problem.start for _, problem in config.load_problems if problem.kind == "duplicate"}
    for document in config.documents:
        if not any(map(has_duplicates, document.mappings())):
            continue
        for path, _, node in document.walk():
            if has_duplicates(node):
                yield from _duplicates(config, document, path, node, refused)


def has_duplicates(node: Node) -> bool:
    """Whether a mapping has a key twice."""
    return node.kind == MAPPING and len({key.raw for key, _ in node.children}) != len(node.children)


def _duplicates(config: Config, document: Document, path: Path, mapping: Node, refused: set[int]) -> Iterator[Finding]:
    last: dict[str, tuple[Node, Node]] = {key.raw: (key, value) for key, value in mapping.pairs()}
    for key, value in mapping.pairs():
        winner, kept = last[key.raw]
        if winner is key or key.raw == "<<" or winner.start in refused or key.start in refused:
            continue
        line = document.position(winner.start)[0]
        in_effect = kept.raw or None if kept.kind == SCALAR else config.get(*path, key.raw)
        yield Finding(
            Setting((*path, key.raw), value.raw, WRITTEN, document, value, key),
            f"duplicate key `{key.raw}`: this value is overridden at line {line}",
            related=(Setting((*path, key.raw), in_effect, WRITTEN, document, kept, winner),),
            on_key=True,
            severity=INFO if is_same(value, kept, document) else None,
            help=f"keep one of the two `{key.raw}`",
        )


def is_same(value: Node, other: Node, document: Document) -> bool:
    """Whether two values are written alike."""
    return value.kind == other.kind and document.text[value.start : value.end] == document.text[other.start : other.end]


def _problems(config: Config, wanted: Callable[[Problem], bool]) -> Iterator[Finding]:
    for document, problem in config.load_problems:
        if wanted(problem):
            node = Node("scalar", problem.start, problem.end)
            setting = Setting((), None, WRITTEN, document, node)
            yield Finding(
                setting,
                problem.message,
                exception=problem.exception,
                depends_on=config.other_parsers if problem.only_here else (),
                note=problem.note,
                help=problem.remedy,
            )
