"""JUnit XML, which most CI servers show: one suite per run, one failed test per finding.

Info is a passed test with a note, and a suppressed finding a skipped test.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, Diagnostic, Outcome
from cfglint.report.details import details
from cfglint.report.escapes import shown

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
CLEAN = "no findings"


def render(outcomes: list[Outcome]) -> str:
    """The XML of all runs."""
    suites = [suite(outcome) for outcome in outcomes]
    tests = sum(len(outcome.diagnostics) or 1 for outcome in outcomes)
    failures = sum(fails(diagnostic) for outcome in outcomes for diagnostic in outcome.diagnostics)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="cfglint" tests="{tests}" failures="{failures}">\n'
    return head + "".join(suites) + "</testsuites>\n"


def suite(outcome: Outcome) -> str:
    """The suite of a run; a run without findings has one test that passed."""
    diagnostics = outcome.diagnostics
    cases = [case(diagnostic, outcome) for diagnostic in diagnostics] or [
        f'<testcase classname="{xml(outcome.files[0])}" name="{CLEAN}"/>\n'
    ]
    failures = sum(fails(diagnostic) for diagnostic in diagnostics)
    skipped = sum(bool(diagnostic.suppressed) for diagnostic in diagnostics)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    return f'<testsuite name="{xml(" ".join(outcome.files))}" {counts}>\n{"".join(cases)}</testsuite>\n'


def fails(diagnostic: Diagnostic) -> bool:
    """Whether a finding is a failed test."""
    return not diagnostic.suppressed and diagnostic.severity != INFO


def case(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The test of a finding."""
    place = diagnostic.place
    name = f"{diagnostic.code} {diagnostic.name} at {place.line}:{place.column}"
    head = f'<testcase classname="{xml(place.file)}" name="{xml(name)}" file="{xml(place.file)}" line="{place.line}">'
    return f"{head}{content(diagnostic, outcome)}</testcase>\n"


def content(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The content of a test: a failure, a note, or why it is skipped."""
    if diagnostic.suppressed:
        return f'<skipped message="suppressed by {xml(diagnostic.suppressed)}"/>'
    message = xml(diagnostic.message)
    lines = "\n".join([message, *(f"{label}: {xml(text)}" for label, text in details(diagnostic, outcome))])
    if diagnostic.severity == INFO:
        return f"<system-out>{lines}</system-out>"
    where = f"{xml(diagnostic.place.file)}:{diagnostic.place.line}:{diagnostic.place.column}"
    return f'<failure type="{diagnostic.severity}" message="{message}">{where}: {lines}</failure>'


def xml(text: str) -> str:
    """Escape a string for XML; characters that XML does not support are written as escapes."""
    return "".join(ENTITIES.get(char, char) for char in shown(text))
