"""SARIF 2.1.0, the format of code scanning on GitHub and elsewhere.

Format: OASIS Static Analysis Results Interchange Format 2.1.0, sections 3.13 to 3.57.
"""

from __future__ import annotations

import os
from urllib.parse import quote

from cfglint.findings.diagnostic import ERROR, INFO, INTERNAL, WARNING, Diagnostic, Outcome, Place
from cfglint.findings.fingerprint import fingerprints
from cfglint.findings.rule import Rule
from cfglint.report import manual
from cfglint.report.details import HELP, consequences
from cfglint.report.escapes import shown
from cfglint.report.json import encoded
from cfglint.report.links import home, page_of
from cfglint.rules.catalogue import every_rule
from cfglint.source.annotations import ConfigTable
from cfglint.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {ERROR: "error", WARNING: "warning", INFO: "note"}
ROOT = "SRCROOT"
SUPPRESSIONS = {"comment": "inSource"}  # all other suppressions are outside the file


def render(outcomes: list[Outcome]) -> str:
    """One SARIF run with every finding; suppressed findings are marked as such."""
    pairs = [(diagnostic, outcome) for outcome in outcomes for diagnostic in outcome.diagnostics]
    found = [(diagnostic, outcome) for diagnostic, outcome in pairs if diagnostic.code != INTERNAL]
    notifications = [
        {"level": "error", "message": {"text": plain(shown(diagnostic.message))}, "descriptor": {"id": diagnostic.code}}
        for diagnostic, _ in pairs
        if diagnostic.code == INTERNAL
    ]
    addresses = {diagnostic.code: page_of(diagnostic) for diagnostic, _ in found}
    rules: list[ConfigTable] = []
    if found:
        rules = [descriptor(rule, addresses[rule.code]) for rule in every_rule() if rule.code in addresses]
    home_address = home()[0]
    driver = {
        "name": "cfglint",
        "version": __version__,
        "semanticVersion": __version__,
        **({"informationUri": home_address} if home_address else {}),
        "rules": rules,
    }
    index = {rule["id"]: position for position, rule in enumerate(rules)}
    prints = fingerprints(diagnostic for diagnostic, _ in found)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder in which cfglint was started."}}},
        "invocations": [{"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}],
        "results": [result(*pair, print_, index) for pair, print_ in zip(found, prints, strict=True)],
    }
    return encoded({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def descriptor(rule: Rule, address: str) -> ConfigTable:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": manual.summary(rule)},
        "fullDescription": {"text": rule.page},
        **({"helpUri": address} if address else {}),
        "help": {"text": manual.page(rule), "markdown": manual.markdown(rule)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [*rule.kinds, "configuration"]},
    }


def result(diagnostic: Diagnostic, outcome: Outcome, fingerprint: str, index: dict[str, int]) -> ConfigTable:
    """The result object of a finding: its message with notes and help; other places and fixes have fields of their own."""
    lines = [*consequences(diagnostic, outcome), *([(HELP, diagnostic.help)] if diagnostic.help else [])]
    text = "\n".join([plain(shown(diagnostic.message)), *(f"{label}: {plain(shown(line))}" for label, line in lines)])
    entry: ConfigTable = {
        "ruleId": diagnostic.code,
        "level": LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": physical(diagnostic.place)}],
        "partialFingerprints": {"cfglintFinding/v1": fingerprint},
    }
    if diagnostic.code in index:
        entry["ruleIndex"] = index[diagnostic.code]
    if diagnostic.key:
        entry["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": shown(diagnostic.key), "kind": "property"}]
    if diagnostic.related:
        entry["relatedLocations"] = [
            {"id": number, "physicalLocation": physical(place), "message": {"text": shown(message)}}
            for number, (place, message) in enumerate(diagnostic.related, 1)
        ]
    if diagnostic.fix and diagnostic.fix.edits:
        changes: dict[str, list[ConfigTable]] = {}
        for edit in diagnostic.fix.edits:
            deleted = {"charOffset": edit.start, "charLength": edit.end - edit.start}
            changes.setdefault(edit.file, []).append({"deletedRegion": deleted, "insertedContent": {"text": edit.text}})
        artifacts = [{"artifactLocation": artifact(file), "replacements": replaced} for file, replaced in changes.items()]
        entry["fixes"] = [{"description": {"text": plain(shown(diagnostic.fix.title))}, "artifactChanges": artifacts}]
    if diagnostic.suppressed:
        entry["suppressions"] = [
            {"kind": SUPPRESSIONS.get(diagnostic.suppressed, "external"), "justification": f"suppressed by {diagnostic.suppressed}"}
        ]
    return entry


def plain(message: str) -> str:
    """A message string in which nothing is an embedded link, `[text](1)` (section 3.11.6)."""
    if "](" not in message:
        return message
    return message.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def physical(place: Place) -> ConfigTable:
    region: ConfigTable = {"startLine": place.line, "startColumn": place.column, "endLine": place.end_line, "endColumn": place.end_column}
    if place.line == place.end_line and place.column < place.end_column:
        region["snippet"] = {"text": shown(place.source[place.column - 1 : place.end_column - 1])}
    return {"artifactLocation": artifact(place.file), "region": region}


def artifact(file: str) -> dict[str, str]:
    """The URI of a file: relative to the working directory, or absolute if it was given so."""
    name = os.path.normpath(file).replace(os.sep, "/")
    try:
        path = quote(os.fsencode(name))
    except UnicodeEncodeError:  # an impossible file name, which standard input may have
        path = quote(shown(name))
    return {"uri": f"file://{path}"} if os.path.isabs(file) else {"uri": path, "uriBaseId": ROOT}
