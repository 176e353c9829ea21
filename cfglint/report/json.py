"""The JSON report."""

from __future__ import annotations

import json
from math import isfinite

from cfglint.findings.diagnostic import Diagnostic, Outcome
from cfglint.report.links import page_of
from cfglint.source.annotations import Iterable, Iterator, Mapping
from cfglint.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import EditEntry, FindingEntry


def render(outcomes: list[Outcome]) -> str:
    """`{"cfglint", "runs", "diagnostics"}`; runs in the order of the arguments.

    Each entry is encoded by itself: all of them as values, and the pieces of their text, take several times the memory of the text.
    """
    pieces = [f'{{"cfglint": {encoded(__version__)}, "runs": [']
    pieces += separated(outcome.entry() for outcome in outcomes)
    pieces.append('], "diagnostics": [')
    pieces += separated(entry(diagnostic) for outcome in outcomes for diagnostic in outcome.open_findings)
    pieces.append("]}\n")
    return "".join(pieces)


def separated(entries: Iterable[object]) -> Iterator[str]:
    """The items of a list as JSON, with what separates them."""
    for number, each in enumerate(entries):
        yield f"{', ' if number else ''}{encoded(each)}"


def dumps(report: Mapping[str, object]) -> str:
    """A report with the version of cfglint, as strict JSON on one ASCII line."""
    return encoded({"cfglint": __version__, **report}) + "\n"


def encoded(value: object) -> str:
    """Strict JSON in ASCII; unsupported values, such as NaN, become strings. Without `##[`, which CI servers interpret as a command."""
    try:
        text = json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(strict(value), default=str)
    return text.replace("##", "#\\u0023")


def strict(value: object) -> object:
    """A value in which strings replace the numbers that JSON does not support."""
    if isinstance(value, dict):
        return {key: strict(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(each) for each in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def entry(diagnostic: Diagnostic) -> FindingEntry:
    """A finding as plain values; lines and columns from 1, in characters, `start` and `end` of edits offsets in the decoded content."""
    place, fix = diagnostic.place, diagnostic.fix
    found: FindingEntry = {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "key": diagnostic.key,
        "message": diagnostic.message,
        "fails_at": diagnostic.fails_at,
        "exception": diagnostic.exception,
        "note": diagnostic.note,
        "help": diagnostic.help,
        "related": [
            {"file": other.file, "line": other.line, "column": other.column, "message": message} for other, message in diagnostic.related
        ],
        "fix": None,
    }
    if fix:
        edits: list[EditEntry] = [{"file": edit.file, "start": edit.start, "end": edit.end, "text": edit.text} for edit in fix.edits]
        found["fix"] = {"title": fix.title, "safe": fix.safe, "edits": edits}
    if diagnostic.since:
        found["since"] = diagnostic.since
    if address := page_of(diagnostic):
        found["page"] = address
    if diagnostic.depends_on:
        found["depends_on"] = [{"kind": depend.kind, "what": depend.text} for depend in diagnostic.depends_on]
    return found
