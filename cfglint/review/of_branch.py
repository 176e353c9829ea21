"""The runs that a branch changes, compared: the declared ones, then the other files."""

from __future__ import annotations

import os

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import settings_file
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.review.branch import Branch, Pair
from cfglint.review.compare import Comparison
from cfglint.review.releases import ReleaseChange
from cfglint.run.discovery_errors import LaunchChoiceError, UnknownKindError
from cfglint.run.scan_stats import ScanStats
from cfglint.source.annotations import Callable, Iterable
from cfglint.source.record import Record

Count = Callable[[Iterable[Pair], str], Iterable[Pair]]


class Facts(Record):
    """The facts of the runs of a configuration: of an undeclared run, and of a declared one."""

    of_files: Callable[[Configuration], LaunchFacts]
    of_declared: Callable[[DeclaredRun, Configuration], LaunchFacts]


def compare(
    branch: Branch, project: Configuration, before: Configuration, facts: Facts, stats: ScanStats, count: Count
) -> list[Comparison]:
    """Compare every changed run: the declared ones, then the other files that changed."""
    branch.settings = before, project
    branch.compare([file for declared in project.runs for file in declared.files])
    comparisons: list[Comparison] = []
    taken: set[str] = set()
    for declared in project.runs:
        now = facts.of_declared(declared, project)
        twin = counterpart(declared, branch, before)
        was = facts.of_declared(twin, before) if twin else now
        try:
            old, new = branch.declared(declared.files, was, now, declared.kind)
        except LaunchChoiceError:
            continue  # compared as the launch of its script
        except UnknownKindError as error:
            stats.unknown_kind.append(error.path)
            continue
        taken.update(os.path.relpath(document.path) for each in (old, new) if each for document in each.documents)
        if (branch.touches(old, new) or differ(was, now)) and not branch.lacks_content(old, new):
            comparisons.append(branch.compare_run(old, new, not branch.changes_files(old, new) and not differ(was, now)))
    alone = [facts.of_files(each) for each in (before, project)]
    touched = branch.undeclared(alone[0], alone[1], taken, stats)
    for pair in count(touched, "runs compared"):
        if branch.lacks_content(*pair):
            continue
        comparisons.append(branch.compare_run(*pair, not branch.changes_files(*pair)))
    for each in comparisons:
        each.releases = branch.located(each.releases, os.path.relpath(each.files[0]))
    return comparisons


def unused_releases(branch: Branch, comparisons: list[Comparison]) -> list[ReleaseChange]:
    """The changed releases that no compared run depends on."""
    used = {change.package for each in comparisons for change in each.releases}
    return [each for each in branch.stated_changes() if each.package not in used]


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
    return next((each for each in before.runs if [os.path.relpath(file) for file in each.files] == files), None)


def differ(before: LaunchFacts, after: LaunchFacts) -> bool:
    """Whether two declarations describe different launches."""
    said = ("gpus", "gpu_memory", "num_examples", "target", "strict_keys", "overrides", "expected_numbers", "kind_given")
    return any(getattr(before, name) != getattr(after, name) for name in said)
