"""Baselines: accepted findings are suppressed, even if their lines move; new findings are reported."""

from __future__ import annotations

import json
import os

from cfglint.findings.diagnostic import BASELINE, INTERNAL, Diagnostic, Outcome
from cfglint.findings.fingerprint import Identity, identity
from cfglint.project.settings_file import ConfigurationError, quoted
from cfglint.source import writing
from cfglint.source.files import FileProblem, read_bytes
from cfglint.version import __version__

VERSION = 1
MAX_SIZE = 50_000_000  # bytes of a baseline: a hundred thousand findings
FIELDS = ("code", "file", "key", "message")


class Baseline:
    """How often each finding is accepted in one run. Files are relative to `folder`, that of the baseline's file.

    `release` of cfglint wrote it: another one may word a message differently, so that code, file and key identify a finding.
    """

    def __init__(self, path: str, accepted: dict[Identity, int], release: str = __version__) -> None:
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))
        self.accepted = accepted
        self.release = release

    @classmethod
    def of(cls, path: str, outcomes: list[Outcome]) -> Baseline:
        baseline = cls(path, {})
        for outcome in outcomes:
            numbers: dict[Identity, int] = {}
            for open_finding in open_findings(outcome.diagnostics):
                same = identity(open_finding, baseline.folder)
                numbers[same] = numbers.get(same, 0) + 1
            for same, number in numbers.items():
                baseline.accepted[same] = max(number, baseline.accepted.get(same, 0))
        return baseline

    def apply(self, outcomes: list[Outcome]) -> int:
        """Suppress accepted findings; returns the number of accepted findings in these files that are resolved."""
        present: set[Identity] = set()
        files = {os.path.relpath(os.path.abspath(file), self.folder).replace(os.sep, "/") for outcome in outcomes for file in outcome.files}
        for outcome in outcomes:
            present |= self.suppress(outcome.diagnostics)
        return sum(same not in present for same in self.accepted if same[1] in files)

    def suppress(self, of_run: list[Diagnostic]) -> set[Identity]:
        """Suppress the accepted findings of one run, and return them; of another release whatever their message."""
        left = dict(self.accepted)
        present: set[Identity] = set()
        for length in (4, 3) if self.release != __version__ else (4,):  # the message is the last part
            accepted: dict[tuple[str, ...], list[Identity]] = {}
            for same, number in left.items():
                if number:
                    accepted.setdefault(same[:length], []).append(same)
            for open_finding in open_findings(of_run):
                candidates = accepted.get(identity(open_finding, self.folder)[:length], [])
                taken = next((other for other in candidates if left[other]), None)
                if taken is not None:
                    left[taken] -= 1
                    present.add(taken)
                    open_finding.suppressed = BASELINE
        return present

    def write(self) -> None:
        """Write the file, sorted, so that its changes can be reviewed. Raises FileProblem if that fails."""
        writing.refuse_outside(self.path)
        if os.path.exists(self.path):  # the content of a file that is no baseline would be lost
            try:
                read(self.path)
            except ConfigurationError as error:
                raise FileProblem(self.path, "exists and is not a baseline; it was not overwritten", "unwritable") from error
        findings = [{**dict(zip(FIELDS, same, strict=True)), "count": number} for same, number in sorted(self.accepted.items())]
        text = json.dumps({"cfglint-baseline": VERSION, "cfglint": self.release, "findings": findings}, indent=1) + "\n"
        writing.write_report(self.path, text.encode("ascii"))


def open_findings(of_run: list[Diagnostic]) -> list[Diagnostic]:
    """The findings that a baseline can accept: not suppressed, and not an internal error."""
    return [diagnostic for diagnostic in of_run if not diagnostic.suppressed and diagnostic.code != INTERNAL]


def read(path: str) -> Baseline:
    """The baseline of a file. Raises ConfigurationError if it cannot be used."""
    if not os.path.exists(path):
        raise ConfigurationError(f"baseline {path}: does not exist; create it with `cfglint check --baseline {path} --write-baseline`")
    try:
        content = json.loads(read_bytes(path, MAX_SIZE).decode("utf-8"))
    except FileProblem as error:
        raise ConfigurationError(f"baseline {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"baseline {path}: not valid JSON: {error}") from error
    if not isinstance(content, dict) or content.get("cfglint-baseline") != VERSION or not isinstance(content.get("findings"), list):
        raise ConfigurationError(f"baseline {path}: not a baseline of this version of cfglint; write it again with --write-baseline")
    return Baseline(path, dict(entry(each, path) for each in content["findings"]), str(content.get("cfglint", "")))


def entry(finding: object, path: str) -> tuple[Identity, int]:
    """One accepted finding and its number of occurrences."""
    if isinstance(finding, dict) and all(isinstance(finding.get(field), str) for field in FIELDS):
        number = finding.get("count", 1)
        if isinstance(number, int) and number > 0:
            return (finding["code"], finding["file"], finding["key"], finding["message"]), number
    raise ConfigurationError(f"baseline {path}: {quoted(finding)} is not a finding; write the file again with --write-baseline")
