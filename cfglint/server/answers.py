"""Hover texts, completions and batch lenses, as plain values."""

from __future__ import annotations

import os

from cfglint.explanation.summary import RunSummary, origin
from cfglint.findings.diagnostic import Diagnostic
from cfglint.findings.setting import AUTO, Setting, integer
from cfglint.findings.wording import counted
from cfglint.frameworks import framework
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.validation import schema
from cfglint.frameworks.validation.schema import Property, Schema
from cfglint.report.details import depending
from cfglint.rules.catalogue import rule_of
from cfglint.run.checked import CheckedRun
from cfglint.server import cursor
from cfglint.source.annotations import Any, Syntax, TypeAlias
from cfglint.source.document import ALIAS, MAPPING, SCALAR, Document, Node, Path
from cfglint.source.record import Record

Span: TypeAlias = tuple[str, int, int]  # path, first and last offset


class Suggestion(Record):
    """A completion: `text` replaces the characters from `start` to the cursor."""

    label: str
    text: str
    start: int
    detail: str
    documentation: str
    is_key: bool


def schema_of(kind: str) -> Schema | None:
    try:
        return schema.load(kind)
    except FileNotFoundError:
        return None


def version_of(kind: str, run: CheckedRun | None) -> tuple[int, ...]:
    """The release of a kind's package that the facts are for: that of the run, else the newest known."""
    own = framework(kind)
    text = run.target.get(own.package) if run is not None else None
    return parse_version(text or own.newest)


def findings_at(run: CheckedRun, document: Document, offset: int) -> list[Diagnostic]:
    """The findings whose place contains an offset of a file, or the key or scalar value that belongs to the one at the offset."""
    first = last = offset
    entry = entry_at(document, offset)
    if entry is not None and entry[2].kind == SCALAR and entry[1] is not None:
        first, last = sorted((entry[1].start, entry[2].end))
    return [
        diagnostic
        for diagnostic in run.diagnostics
        if not diagnostic.suppressed
        and diagnostic.place.file == document.path
        and diagnostic.place.start <= last
        and first <= diagnostic.place.end
    ]


def definitions(run: CheckedRun, document: Document, offset: int) -> list[Span]:
    """The places that a key depends on: of its findings, else the file it names, its alias's anchor, or what fills its "auto"."""
    related = [place for finding in findings_at(run, document, offset) for place, _ in finding.related]
    if related:
        return list(dict.fromkeys((place.file, place.start, place.end) for place in related))
    entry = entry_at(document, offset)
    if entry is None:
        return []
    path, _, value = entry
    if value.kind == ALIAS:
        target = value.target
        return [(document.path, target.head, target.end)] if target is not None else []
    if value.kind == SCALAR and value.raw.strip():  # a file of the run
        name = os.path.normpath(value.raw.strip())
        end = os.sep + name.lstrip("." + os.sep)
        for other in run.documents:
            if other is not document and os.path.abspath(other.path).endswith(end):
                return [(other.path, 0, 0)]
    # The values in other files that fill an "auto".
    keys = [
        word
        for item in RunSummary(run).items
        if item.setting.origin == AUTO and is_about(item.setting, document, path, value)
        for word in item.setting.because.replace("|", " ").split()
    ]
    found = [(other, *other.find((key,))) for other in run.documents if other is not document for key in keys]
    return list(dict.fromkeys((other.path, (key or node).start, node.end) for other, key, node in found if node is not None))


def is_about(setting: Setting, document: Document, path: Path, value: Node) -> bool:
    """Whether a setting is that of a key: written there, or unwritten and of the same name."""
    if setting.document is None:
        return setting.path == path
    return setting.document.path == document.path and setting.node is value


def hover(run: CheckedRun, document: Document, kind: str, offset: int) -> tuple[str, int, int] | None:
    """(Markdown, start, end) for the key or value at an offset: its findings, its value in the framework, and its history."""
    entry = entry_at(document, offset)
    findings = findings_at(run, document, offset)
    pages = []
    for finding in findings:
        parts = [f"**{finding.severity} {finding.code} {finding.name}**: {finding.message}"]
        parts += [f"raises `{finding.exception}`"] if finding.exception else []
        parts += [text for text in (finding.note, depending(finding), f"help: {finding.help}" if finding.help else None) if text]
        rule = rule_of(finding.code)
        pages.append("\n\n".join([*parts, *([rule.page] if rule is not None else [])]))
    option = launcher_option(run, document, offset)
    if option is not None:
        text, start, end = option
        return "\n\n---\n\n".join([text, *pages]), start, end
    if entry is None:
        return ("\n\n---\n\n".join(pages), findings[0].place.start, findings[0].place.end) if findings else None
    path, key, value = entry
    # The keys of a launch line are those of the program's parser.
    kind = run.launch.consumer or kind if document.is_command else kind
    table, parts = schema_of(kind), [resolved(run, document, path, value), *pages]
    known = table.lookup(path) if table is not None else None
    if known is not None:
        of_release = facts(known, version_of(kind, run), default_of(known, run))
        parts.append(f"`{known.name}` ({framework(kind).package}): {of_release}\n\n{known.description}".rstrip())
    parts = [text for text in parts if text]
    if not parts:
        return None
    start, end = (key.start, key.end) if key is not None and key.start <= offset <= key.end else (value.start, value.end)
    return "\n\n---\n\n".join(parts), start, end


def launcher_option(run: CheckedRun, document: Document, offset: int) -> tuple[str, int, int] | None:
    """What the launch line starts, for the option of its launcher at an offset."""
    line = run.launch.line
    if line is None or not document.is_command:
        return None
    for option in line.options.given.values():
        for word in (option.word, option.value):
            place = word.place if word is not None else None
            if place is not None and place[0] == document.path and place[1] <= offset <= place[2]:
                sizes = [(line.processes, "process"), (line.nodes, "node")]
                starts = " on ".join(counted(number, name) for number, name in sizes if number is not None)
                unknown = "; ".join(f"`{name}` is unknown: {reason.text}" for name, reason in line.unknown)
                started = f"starts {starts or 'a number of processes that is unknown'}"
                return f"`{option.word.string}` ({line.launcher}): the line {started}" + (f"  \n{unknown}" if unknown else ""), *place[1:3]
    return None


def entry_at(document: Document, offset: int) -> tuple[Path, Node | None, Node] | None:
    """The innermost (path, key, value) whose key or scalar value contains the offset."""
    best: tuple[Path, Node | None, Node] | None = None
    dashes = 2 if document.is_command else 0  # before the name of an option
    for path, key, value in document.walk():
        in_key = key is not None and key.start - dashes <= offset <= key.end and key.start < key.end
        if path and (in_key or (value.kind != MAPPING and value.start <= offset <= value.end)):
            best = path, key, value
    return best


def resolved(run: CheckedRun, document: Document, path: Path, value: Node) -> str:
    """The value that the framework uses: the lines of `explain` that come from it."""
    lines: list[str] = []
    for item in RunSummary(run).items:
        setting = item.setting
        if is_about(setting, document, path, value):
            number = "unknown" if setting.is_unknown else schema.shown(setting.value)
            needs = f", needs `{item.needs}`" if item.unknown else ""
            lines.append(f"{item.label}: **{number}** ({origin(item)}{needs})")
    return "  \n".join(dict.fromkeys(lines))


def default_of(entry: Property, run: CheckedRun | None) -> Any:
    """The default of a key as `check` uses it for the run; without a run that of the newest release; None if there is none."""
    config = next((config for config in run.configs if config.kind == entry.schema.kind), None) if run is not None else None
    return config.default(entry.path, None) if config is not None else entry.default


def facts(entry: Property, version: tuple[int, ...], default: object) -> str:
    choices = entry.enum_at(version)
    parts = [" or ".join(sorted(entry.types)) or "any value"]
    if choices:
        parts = ["one of " + ", ".join(map(schema.shown, choices))]
    if default is not None:
        parts.append(f"default {schema.shown(default)}")
    if entry.since:
        parts.append(f"since {entry.since}")
    if entry.removed:
        parts.append(f"removed in {entry.removed}")
    elif entry.deprecated:
        parts.append("deprecated")
    if entry.renamed_to:
        parts.append(f"now `{'.'.join(entry.renamed_to)}`")
    return ", ".join(parts)


def completions(run: CheckedRun | None, text: str, kind: str, syntax: Syntax, offset: int) -> list[Suggestion]:
    """The keys of the section at the cursor, or the values of the key before it, as the release of the run has them."""
    table, place = schema_of(kind) if kind else None, cursor.cursor_at(text, offset, syntax)
    if table is None or place is None:
        return []
    version = version_of(kind, run)
    if place.key is not None:
        entry = table.lookup((*place.section, place.key))
        return values(entry, place, syntax, version, default_of(entry, run)) if entry is not None else []
    suggestions: list[Suggestion] = []
    for name in table.keys_at(version, place.section):
        entry = table.lookup((*place.section, name))
        if entry is None:
            continue
        inserted = f'"{name}"' if syntax == "json" and not place.quoted else name
        suggestions.append(Suggestion(name, inserted, place.word, facts(entry, version, default_of(entry, run)), entry.description, True))
    return suggestions


def values(entry: Property, place: cursor.Cursor, syntax: Syntax, version: tuple[int, ...], default: object) -> list[Suggestion]:
    allowed = entry.enum_at(version) or ((True, False) if "boolean" in entry.types else ())
    suggestions: list[Suggestion] = []
    for value in allowed:
        if place.quoted and not isinstance(value, str):
            continue
        spelled = schema.shown(value)
        bare = value if isinstance(value, str) else spelled
        needs_quotes = isinstance(value, str) and not place.quoted and (syntax == "json" or value.lower() in ("no", "yes", "on", "off"))
        mark = " (default)" if default is not None and schema.equal(value, default) else ""
        suggestions.append(Suggestion(bare, spelled if needs_quotes else bare, place.word, f"{entry.name}{mark}", "", False))
    return suggestions


def batch_lens(run: CheckedRun, document: Document) -> tuple[int, str] | None:
    """(offset, label) of the code lens above the first batch key of a file: the global batch and its factors; None if it is unknown."""
    batch = run.batch
    if batch is None:
        return None
    current = batch.global_batch.integer
    written = [
        setting.key_node or setting.node
        for setting in (batch.global_batch, batch.micro_batch, batch.accumulation)
        if setting.document is not None and setting.document.path == document.path
    ]
    offsets = sorted(node.start for node in written if node is not None)
    if current is None or not offsets:
        return None
    factors = [integer(term.value) for term in (batch.micro_batch, batch.accumulation, batch.data_parallel)]
    gpus = f" on {counted(batch.layout.gpus, 'GPU')}" if batch.layout.gpus else ""
    return offsets[0], f"global batch {current}{gpus}: {' x '.join('?' if factor is None else str(factor) for factor in factors)}"
