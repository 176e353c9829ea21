"""Selected and ignored codes, by flags, files and configuration."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import CONFIGURATION, INTERNAL, UNUSED_IGNORE, WARNING, Diagnostic, Outcome, rank
from cfglint.findings.rule import EXPECTATION
from cfglint.findings.vocabulary import Severity
from cfglint.project.settings_file import CODE, Configuration


class Selection:
    """The effect of `--select`, `--ignore` and a configuration; it never changes a verdict.

    An unexpected number or a violated custom rule is a warning, because the framework would start, but it always gives exit
    status 1, because the project declared it.
    """

    def __init__(
        self, project: Configuration, select: list[str] | None = None, ignore: list[str] | None = None, fail_on: Severity | None = None
    ) -> None:
        chosen = select if select is not None else project.select
        self.select = with_codes(chosen) if chosen is not None else None
        self.ignore = with_codes(ignore if ignore is not None else project.ignore)
        self.of_flags = [*(with_codes(select or [])), *with_codes(ignore or [])]
        self.fail_on: Severity = fail_on or project.fail_on or "error"
        self.per_file = [(os.path.join(project.folder, glob), with_codes(chosen)) for glob, chosen in project.per_file_ignores.items()]
        self.pages = project.pages
        self._in_file: dict[str, list[str]] = {}

    def suppress(self, diagnostics: list[Diagnostic]) -> None:
        """Mark the findings that are suppressed here, and give each the address of its page."""
        for diagnostic in diagnostics:
            diagnostic.page = self.pages.replace(CODE, diagnostic.code) if self.pages else ""
            if not diagnostic.suppressed and diagnostic.code != INTERNAL and self._suppressed(diagnostic):
                diagnostic.suppressed = CONFIGURATION

    def _suppressed(self, diagnostic: Diagnostic) -> bool:
        code, file = diagnostic.code, diagnostic.place.file  # the selected ones are codes and families
        if (self.select is not None and not code.startswith(tuple(self.select))) or code.startswith(tuple(self.ignore)):
            return True
        if self.per_file and file not in self._in_file:
            self._in_file[file] = [chosen for glob, codes in self.per_file if matches_glob(file, glob) for chosen in codes]
        return bool(self.per_file) and code.startswith(tuple(self._in_file[file]))

    def status(self, outcomes: list[Outcome]) -> int:
        """The exit status: 1 for findings at or above `fail_on`, 2 for an internal error."""
        worst = 0
        for outcome in outcomes:
            for diagnostic in outcome.diagnostics:
                if diagnostic.code == INTERNAL:
                    return 2
                # An expectation or a custom rule of the project is violated.
                is_declared = diagnostic.about == EXPECTATION and diagnostic.severity == WARNING
                if not diagnostic.suppressed and (is_declared or rank(diagnostic.severity) >= rank(self.fail_on)):
                    worst = 1
        return worst

    def unknown(self) -> list[str]:
        """Codes in the flags or the configuration that no rule has."""
        asked = [*(self.select or []), *self.ignore, *(code for _, chosen in self.per_file for code in chosen)]
        if not asked:
            return []
        from cfglint.rules.catalogue import every_rule

        known = [rule.code for rule in every_rule()]
        return [code for code in dict.fromkeys(asked) if not any(each.startswith(code) for each in known)]

    def misspelt(self) -> list[str]:
        """The codes and names of `--select` and `--ignore` that no rule has."""
        return [code for code in self.unknown() if code in self.of_flags] if self.of_flags else []


def suppress(outcomes: list[Outcome], selection: Selection) -> None:
    """Mark the findings that comments, flags and the configuration suppress."""
    if any(diagnostic.code == UNUSED_IGNORE for outcome in outcomes for diagnostic in outcome.diagnostics):
        from cfglint.project.suppression import merge_unused

        merge_unused(outcomes)
    for outcome in outcomes:
        selection.suppress(outcome.diagnostics)


def with_codes(chosen: list[str]) -> list[str]:
    """The codes and families, with names of rules replaced by their codes; a name may be that of an earlier release."""
    if all(each.isupper() or each.isdigit() for each in chosen):
        return chosen
    from cfglint.rules.catalogue import every_rule

    codes = {name: rule.code for rule in every_rule() for name in rule.names}
    return [codes.get(each.lower(), each.upper() if each[-1:].isdecimal() or len(each) == 3 else each) for each in chosen]


def matches_glob(path: str, glob: str) -> bool:
    from fnmatch import fnmatch

    return fnmatch(os.path.normpath(path), os.path.normpath(glob)) or fnmatch(os.path.abspath(path), os.path.abspath(glob))
