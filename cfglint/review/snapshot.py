"""One side of a comparison: a run with its outcome and its `explain` lines."""

from __future__ import annotations

from functools import cached_property
from os.path import basename

from cfglint.explanation.summary import RunSummary, diagram_context
from cfglint.findings.diagnostic import ERROR, Diagnostic
from cfglint.findings.setting import DEFAULT
from cfglint.frameworks import framework
from cfglint.frameworks.summary import FILLED, Item
from cfglint.launch.kinds import LAUNCH
from cfglint.launch.line import HOSTFILE
from cfglint.review.releases import release_of
from cfglint.rewrite.apply_fixes import Pass
from cfglint.rules.engine import internal_error
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Any
from cfglint.source.change import RENAME
from cfglint.source.project_files import ROOT

MISSING = "does not exist"


class Side:
    """A run, its `outcome`, and the `lines` of its summary by their labels.

    Its numbers are those of the run under the names that its keys have in the release: one that the release refuses sets nothing there.
    """

    def __init__(self, run: CheckedRun, other: CheckedRun | None) -> None:
        self.outcome = run.outcome()
        # The keys are renamed that the release refuses, because it has them under another name. One that the other side has as well, in
        # the same release and without that finding, keeps its name on both.
        refused = refused_names(run)
        if refused and other is not None and other.target == run.target:
            names = refused_names(other)
            refused = {
                key: diagnostic
                for key, diagnostic in refused.items()
                if key in names or not any(config.sets(key.lstrip("-/").replace("-", "_")) for config in other.configs)
            }
        # Names of another release than that which is asked, where none is stated: the defaults are those of the other one.
        packages = {config.package for config in run.configs} & run.target.keys()
        is_refused = any(diagnostic.severity == ERROR or not diagnostic.since for diagnostic in refused.values())
        self.lacks_defaults = is_refused and not all(release_of(run, each, run.target[each]).is_known for each in packages)
        self.run = run = Pass(run, [*refused.values()]).run if refused else run
        renames = (change for diagnostic in refused.values() if diagnostic.fix is not None for _, change in diagnostic.fix.changes)
        self.former = {change.key: str(change.path[-1]) for change in renames}  # renamed key -> the name that its file has
        self.lines: dict[str, Item] = {}
        try:
            account = RunSummary(run)
            left_out = DEFAULT if self.lacks_defaults else None
            self.lines = {item.label: item for item in account.items if item.group != FILLED and item.setting.origin != left_out}
            self.outcome.context = diagram_context(account)
        except Exception as error:
            self.outcome.diagnostics.append(internal_error("explaining the run", error, run.documents[0]))

    @property
    def starts(self) -> bool:
        """Whether nothing that could keep an accepted run from starting is unknown."""
        return self.outcome.verdict == "accept" and self.outcome.context is not None and not self.outcome.context.left_open

    @property
    def readable(self) -> bool:
        """Whether the framework can load the values of all files."""
        return bool(self.run.configs) and self.unreadable_file is None

    @property
    def unreadable_file(self) -> str | None:
        """The file that no parser of this run can load, if there is one."""
        broken = [document.path for document in self.run.documents if document.problems]
        broken += [document.path for config in self.run.configs for document, _ in config.fatal_problems]
        return broken[0] if broken else None

    @cached_property
    def missing_files(self) -> list[tuple[str, str, str, str]]:
        """(name, kind, why, key) of the files that the run names and that were not read; a file in place of an option has no key."""
        run, line = self.run, self.run.launch.line
        there = {basename(document.path) for document in run.documents}
        named = [place for document, kind in zip(run.documents, run.kinds, strict=True) for place in framework(kind).references(document)]
        missing = [(name, kind, MISSING, str(path[-1])) for path, name, kind in named if basename(name) not in there]
        for file in line.files if line is not None else ():
            is_named = file.path is None and (file.kind or file.known)
            if is_named and file.role != HOSTFILE and not file.is_written:
                is_outside = file.outside or file.word.string.startswith(("/", "~"))
                why = "is outside of the project" if is_outside else MISSING if file.known else "is not found"
                key = "" if file.role == "positional" else file.role.rpartition(":")[2].lstrip("-")
                missing.append((file.word.string.removeprefix(f"{ROOT}/"), file.kind, why if file.word.known else "is not known", key))
        return missing

    def takes(self, key: str) -> bool:
        """Whether the program of the run takes an argument, as far as its parser was read."""
        program = self.run.launch.parser
        if program is None or program.not_read or program.evaluations is None or "." in key:
            return True
        if not program.parser:
            return not program.built or any("argv" in module.text for module in program.modules.known())
        name = key.replace("-", "_")
        return program.accepts(name) or any(config.has_field(name) for config in self.run.configs if config.kind != LAUNCH)

    def number(self, name: str) -> int | None:
        return self.run.resolved.get(name)

    def line(self, label: str) -> Any:
        """The value of a line; None if the summary has no such line or its value is unknown."""
        return self.lines[label].setting.known if label in self.lines else None


def refused_names(run: CheckedRun) -> dict[str, Diagnostic]:
    """The findings of keys that the release has under another name, by their keys."""
    return {
        diagnostic.key: diagnostic
        for diagnostic in run.diagnostics
        if diagnostic.fix is not None
        and (diagnostic.severity == ERROR or diagnostic.since or diagnostic.fix.by_release)
        and (diagnostic.fix.safe or diagnostic.fix.by_release)
        and all(change.kind == RENAME for _, change in diagnostic.fix.changes)
    }
