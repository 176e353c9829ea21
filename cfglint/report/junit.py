"""JUnit XML, which most CI servers show: one suite per run, one failed test per finding.

Info is a passed test with a note, and a suppressed finding a skipped test.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, Diagnostic, Outcome
from cfglint.report.details import message_lines
from cfglint.report.escapes import shown

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
CLEAN = "no findings"


def render(outcomes: list[Outcome]) -> str:
    """The XML of all runs; a run without findings has one test that passed."""
    suites = ""
    tests = failures = 0
    for outcome in outcomes:
        clean = f'<testcase classname="{xml(outcome.files[0])}" name="{CLEAN}"/>\n'
        cases = [case(diagnostic, outcome) for diagnostic in outcome.diagnostics] or [clean]
        failing = sum(not diagnostic.suppressed and diagnostic.severity != INFO for diagnostic in outcome.diagnostics)
        skipped = sum(bool(diagnostic.suppressed) for diagnostic in outcome.diagnostics)
        tests, failures = tests + len(cases), failures + failing
        counts = f'tests="{len(cases)}" failures="{failing}" errors="0" skipped="{skipped}"'
        suites += f'<testsuite name="{xml(" ".join(outcome.files))}" {counts}>\n{"".join(cases)}</testsuite>\n'
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="cfglint" tests="{tests}" failures="{failures}">\n'
    return f"{head}{suites}</testsuites>\n"


def case(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The test of a finding: a failure, a note, or why it is skipped."""
    place = diagnostic.place
    file, message = xml(place.file), xml(diagnostic.message)
    if diagnostic.suppressed:
        content = f'<skipped message="suppressed by {xml(diagnostic.suppressed)}"/>'
    else:
        lines = "\n".join(message_lines(diagnostic, outcome, xml))
        content = f'<failure type="{diagnostic.severity}" message="{message}">{file}:{place.line}:{place.column}: {lines}</failure>'
        if diagnostic.severity == INFO:
            content = f"<system-out>{lines}</system-out>"
    name = xml(f"{diagnostic.code} {diagnostic.name} at {place.line}:{place.column}")
    return f'<testcase classname="{file}" name="{name}" file="{file}" line="{place.line}">{content}</testcase>\n'


def xml(text: str) -> str:
    """Escape a string for XML; characters that XML does not support are written as escapes."""
    return "".join(ENTITIES.get(char, char) for char in shown(text))
