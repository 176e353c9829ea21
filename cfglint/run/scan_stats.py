"""Statistics of the examined files."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR
from cfglint.run.checked import CheckedRun
from cfglint.source.record import Record

ONLY_KEYS = " only the keys are known"
LIKELY = " is likely, not certain: findings about it are warnings"
LISTS = ("unrecognized_named", "templates", "unclear", "remnants", "beyond_limits", "unreadable", "unchosen", "unknown_kind")
OWN_FILES = ": its own config files and checks are read"


class ScanStats(Record):
    """The examined files, by result."""

    files: set[str] = set()  # absolute paths of the files that were checked
    unrecognized: int = 0
    unrecognized_named: list[tuple[str, list[str]]] = []  # paths of the command line, and the keys in each
    templates: list[str] = []  # templates that cannot be parsed
    unclear: list[str] = []
    remnants: list[str] = []  # unrecognised files that are empty or cannot be parsed
    related_tools: dict[str, int] = {}
    beyond_limits: list[str] = []  # files that exceed a limit of cfglint's own: exit status 2
    unchecked: dict[str, str] = {}  # scripts of which some launches are not checked, with the reason
    unmodelled: dict[str, int] = {}  # frameworks of launch lines of which only the launcher is checked
    not_read: dict[str, None] = {}  # what decides about runs without errors and was not read
    unreadable: list[str] = []  # paths that could not be opened: exit status 2
    unchosen: list[str] = []  # reasons why a declared launch is not exactly one run: exit status 2
    unknown_kind: list[str] = []  # files of declared runs whose kind is unknown: exit status 2
    foreign: dict[str, None] = {}  # files that were found or named by others, and not read because they are outside the project
    readers: dict[str, None] = {}  # the places of the runs that read a named file and were looked for
    unsearched: int = 0  # the number of files that were searched for the runs of a named file, if there are more
    outside: dict[str, str] = {}  # releases that are not modelled, with what is checked instead
    targets: dict[str, list[str]] = {}  # `transformers 4.57.1` -> the files of the repository that give this version

    @property
    def checked(self) -> int:
        """The number of files that were checked, each counted once."""
        return len(self.files)

    def count(self, run: CheckedRun) -> None:
        """Count the files of a run, and record the sources of its versions."""
        self.files.update(os.path.abspath(document.path) for document in run.documents)
        if run.is_of_reader:
            self.files.update(map(os.path.abspath, run.read_paths))
            self.readers[run.written_at] = None
        if run.is_unreadable_template:
            self.templates += [document.path for document in run.documents]
        self.beyond_limits += [path for path in run.beyond_limits if path not in self.beyond_limits]
        if run.unmodelled:
            self.unmodelled[run.unmodelled] = self.unmodelled.get(run.unmodelled, 0) + 1
        elif run.not_read and all(diagnostic.severity != ERROR for diagnostic in run.diagnostics):
            self.not_read.update(dict.fromkeys(reason.text for reason in run.not_read))
        outside = run.outside
        for package, said_by in run.facts.target_from.items():
            if package not in outside:
                sources = self.targets.setdefault(f"{package} {run.facts.target[package]}", [])
                sources += [str(said_by)] if str(said_by) not in sources else []
        for package, version in outside.items():
            source = f" ({run.facts.target_from[package]})" if package in run.facts.target_from else ""
            if version and version == run.target[package]:
                self.give_outside(f"of {package} {version}", ONLY_KEYS)
            elif package in run.answered:
                self.give_outside(f"{package} {version}{source}", OWN_FILES)
            elif version:
                from cfglint.frameworks.releases.versions import dotted, parse_version

                nearest = dotted(parse_version(run.target[package]))
                likely = version.startswith(f"{nearest} ")  # it is modelled, and no command installs it
                self.give_outside(f"{package} {version}{source}", LIKELY if likely else f" is not modelled, {nearest} is checked instead")

    def give_outside(self, release: str, instead: str) -> None:
        """Say what is checked in the place of a release that is not modelled; files of the project itself come first."""
        if self.outside.get(release) != OWN_FILES:
            self.outside[release] = instead

    def add(self, other: ScanStats) -> None:
        """Add the counts of further files."""
        for name in ("files", "unchecked", "not_read", "readers", "foreign"):
            getattr(self, name).update(getattr(other, name))
        for name in LISTS:
            getattr(self, name).extend(getattr(other, name))
        for name in ("unmodelled", "related_tools"):
            numbers = getattr(self, name)
            numbers.update({what: numbers.get(what, 0) + number for what, number in getattr(other, name).items()})
        self.unrecognized += other.unrecognized
        self.unsearched = max(self.unsearched, other.unsearched)
        for version, sources in other.targets.items():
            self.targets[version] = [*dict.fromkeys((*self.targets.get(version, ()), *sources))]
        for release, instead in other.outside.items():
            self.give_outside(release, instead)
