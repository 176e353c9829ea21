"""The runs that a branch changes, compared: the declared ones, then the other files."""

from __future__ import annotations

import os

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import settings_file
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.review.branch import Branch, Pair
from cfglint.review.compare import Comparison
from cfglint.review.releases import ReleaseChange, stated_changes
from cfglint.run.paths import LaunchChoiceError, UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source.annotations import Iterator
from cfglint.source.record import Record


class DeclaredPair(Record):
    """A declared run with the facts of both sides."""

    run: DeclaredRun
    was: LaunchFacts
    now: LaunchFacts


def declared_runs(branch: Branch, project: Configuration, before: Configuration) -> list[tuple[DeclaredRun, DeclaredRun, Configuration]]:
    """Find the files that differ, and give the declared runs, each with that of the same files on the old side and its configuration.

    One that was not declared there is itself the old one.
    """
    branch.settings = before, project
    branch.compare([file for declared in project.runs for file in declared.files])
    twins = [(declared, counterpart(declared, branch, before)) for declared in project.runs]
    return [(declared, twin or declared, before if twin else project) for declared, twin in twins]


def compare(
    branch: Branch, declared: list[DeclaredPair], undeclared: tuple[LaunchFacts, LaunchFacts], stats: ScanStats
) -> Iterator[Comparison]:
    """Compare every changed run: the declared ones, then the other files that changed, with the facts of both sides."""
    taken: set[str] = set()
    for declared_pair in declared:
        try:
            old, new = branch.declared(declared_pair.run.files, declared_pair.was, declared_pair.now, declared_pair.run.kind)
        except LaunchChoiceError:
            continue  # compared as the launch of its script
        except UnknownKindError as error:
            stats.unknown_kind.append(error.path)
            continue
        taken.update(os.path.relpath(document.path) for side in (old, new) if side for document in side.documents)
        changed = differ(declared_pair.was, declared_pair.now)
        if (branch.touches(old, new) or changed) and not branch.lacks_content(old, new):
            yield compared(branch, (old, new), changed)
    for pair in branch.undeclared(*undeclared, taken, stats):
        if not branch.lacks_content(*pair):
            yield compared(branch, pair)


def compared(branch: Branch, pair: Pair, changed: bool = False) -> Comparison:
    """The comparison of a run; `changed`: its launch is another one, whatever its files have."""
    comparison = branch.compare_run(*pair, not branch.changes_files(*pair) and not changed)
    comparison.releases = branch.located(comparison.releases, os.path.relpath(comparison.files[0]))
    return comparison


def unused_releases(branch: Branch, comparisons: list[Comparison]) -> list[ReleaseChange]:
    """The changed releases that no compared run depends on."""
    used = {change.package for comparison in comparisons for change in comparison.releases}
    return [change for change in stated_changes(branch.dependencies, branch.old, branch.new) if change.package not in used]


def configuration_of(branch: Branch, path: str) -> Configuration:
    """The configuration of the reviewed state; if that state has none, the one of the working tree."""
    if branch.new.is_file(path):
        return settings_file.configuration_of(branch.new.read_bytes(path), path)
    return settings_file.read(path)


def earlier(branch: Branch, project: Configuration) -> Configuration:
    """The configuration of the old side, if that was another one that can be used; else that of the new side."""
    if not project.path or not all(side.is_file(project.path) for side in (branch.old, branch.new)):
        return project
    content = branch.old.read_bytes(project.path)
    if content == branch.new.read_bytes(project.path):
        return project
    try:
        before = settings_file.configuration_of(content, project.path)
        settings_file.refuse_foreign_names(before)
        return before
    except ConfigurationError:
        return project


def counterpart(declared: DeclaredRun, branch: Branch, before: Configuration) -> DeclaredRun | None:
    """The declared run with the same files on the old side."""
    files = [branch.old_name(os.path.relpath(file)) for file in declared.files]
    return next((run for run in before.runs if [os.path.relpath(file) for file in run.files] == files), None)


def differ(before: LaunchFacts, after: LaunchFacts) -> bool:
    """Whether two declarations describe different launches."""
    said = ("gpus", "card", "gpu_memory", "num_examples", "target", "strict_keys", "overrides", "expected_numbers", "kind_given")
    return any(getattr(before, name) != getattr(after, name) for name in said)
