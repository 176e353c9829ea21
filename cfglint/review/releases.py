"""The releases of packages before and after a change: those that a run takes, and those that the files of a repository state."""

from __future__ import annotations

import os

from cfglint.frameworks import nearest_modelled
from cfglint.project.pinned_versions import Repositories, may_name_versions
from cfglint.project.statements.statement import is_side_group
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Collection, Iterable
from cfglint.source.file_source import FileSource
from cfglint.source.record import Record

Texts = dict[str, str]  # package -> its release, for display

NOT_NAMED = "not named"
ANY = "any release"
STATED = ("target", "target_from", "bounds", "outside", "outside_from")  # the facts about releases


class ReleaseChange(Record):
    """A package whose release changes, the release on both sides for display, and the file that states it."""

    package: str
    before: str
    after: str
    file: str = ""

    @property
    def text(self) -> str:
        """`trl 0.17.0 -> 1.16.0`."""
        return f"{self.package} {self.before} -> {self.after}"


class Release(Record):
    """The release of a package in a run: `version` is the one that is asked, `text` what the project states."""

    version: str
    text: str
    is_known: bool


def release_of(run: CheckedRun, package: str, version: str) -> Release:
    """The release of a package in a run: exact, allowed by bounds, of another source, or not stated."""
    facts = run.given
    if package in facts.outside:
        source, _ = facts.outside_from.get(package, (facts.outside[package], ""))
        return Release(version, f"{source} (checked as {version})", False)
    if facts.is_known(package) or (package in run.facts.target and package not in facts.bounds):  # or a framework of the run requires it
        stated = facts.target.get(package, version)  # one that is not modelled is checked as another
        is_asked = stated == version or nearest_modelled(package, stated) is None
        return Release(version, version if is_asked else f"{stated} (checked as {version})", True)
    # The findings are those of the release that is named.
    bounds = " or ".join(filter(None, facts.bounds.get(package, ())))
    return Release(version, f"not pinned ({f'{bounds}; ' if bounds else ''}checked as {version})", False)


def with_releases_of(before: CheckedRun, after: CheckedRun) -> tuple[CheckedRun, CheckedRun]:
    """Both runs with the same release of a package, where nothing tells that it changes.

    If the project states the same for both, only the lines differ, by which the release is chosen. If one side states a commit or a fork,
    and the other a release, it is not known in what they differ.
    """
    same = all(getattr(before.given, name) == getattr(after.given, name) for name in ("target", "bounds", "outside"))
    others: tuple[dict[str, str], dict[str, str]] = {}, {}
    for package in before.target.keys() & after.target.keys():
        if same or (package in before.given.outside and after.given.is_known(package)):
            others[0][package] = after.target[package]
        elif package in after.given.outside and before.given.is_known(package):
            others[1][package] = before.target[package]
    return with_targets(before, others[0], after), with_targets(after, others[1], before)


def with_targets(run: CheckedRun, target: dict[str, str], other: CheckedRun) -> CheckedRun:
    """A run with the releases of the other side: those that are not modelled have the fields of its source."""
    if all(run.target[package] == version for package, version in target.items()):
        return run
    from cfglint.project.installed import folders

    copies = {**run.given.copies}
    for package, version in target.items():
        if nearest_modelled(package, version) is not None:
            found = other.given.copies.get(package) or next(folders(package, version, other.documents[0].path, False), "")
            copies.update({package: found} if found else {})
    return run.with_facts(run.given.replace(target={**run.given.target, **target}, copies=copies))


def changed_releases(before: CheckedRun, after: CheckedRun) -> list[tuple[str, Release, Release]]:
    """(package, release before, release after) for every package of a run whose release changes."""
    found = []
    olds, news = before.target, after.target
    for package, version in news.items():
        if package in olds:
            old, new = release_of(before, package, olds[package]), release_of(after, package, version)
            if (old.version, old.text) != (new.version, new.text):
                found.append((package, old, new))
    return found


def release_changes(before: CheckedRun, after: CheckedRun) -> list[ReleaseChange]:
    """The changes of the releases of a run, with the file that states the new one, else the one that stated the old one."""
    changes: list[ReleaseChange] = []
    for package, old, new in changed_releases(before, after):
        was, now = stated_by(before, package), stated_by(after, package)
        earlier = f"{old.text} in {was}" if was and now and was != now else old.text
        changes.append(ReleaseChange(package, earlier, new.text, now or was))
    return changes


def stated_by(run: CheckedRun, package: str) -> str:
    if package in run.given.outside:
        return run.given.outside_from.get(package, ("", ""))[1]
    return run.given.target_from.get(package, "").partition(" says ")[0]


# ---- two files of different folders


def with_same_releases(old: CheckedRun, new: CheckedRun, asked: Collection[str]) -> tuple[CheckedRun, CheckedRun, str]:
    """Both runs with the releases that files around only one of them state, and a sentence about it; `asked` are packages with a target.

    A file that was copied out of its project is meant for the same releases. What a script or program itself states is a change.
    """
    found = [stated_around(run, asked) for run in (old, new)]
    if all(found) or not any(found):
        return old, new, ""
    stating, other = (old, new) if found[0] else (new, old)
    if not stated_around(stating, ()).isdisjoint(os.path.basename(document.path) for document in stating.documents):
        return old, new, ""
    same = other.with_facts(other.given.replace(**{name: getattr(stating.given, name) for name in STATED}))
    where = " and ".join(sorted(found[0] or found[1]))
    text = f"no file states releases for {other.documents[0].path}: checked with those of {where}, as {stating.documents[0].path}"
    return (old, same, text) if found[0] else (same, new, text)


def stated_around(run: CheckedRun, asked: Collection[str]) -> set[str]:
    """The files of the repository that state releases of packages without a target."""
    facts = run.given
    sources = {**facts.target_from, **{package: file for package, (_, file) in facts.outside_from.items()}}
    return {source for package, source in sources.items() if package not in asked}


# ---- files


def stated_changes(names: Iterable[str], old: FileSource, new: FileSource) -> list[ReleaseChange]:
    """What changes in the dependency files of these names, whether or not a run depends on it."""
    found = []
    sides = [Repositories({}, source.disk) for source in (old, new)]
    for name in sorted(names):
        if not may_name_versions(name) or is_side_group(os.path.basename(name)):
            continue
        before, after = (stated_in(name, source, side) for source, side in zip((old, new), sides, strict=True))
        for package in dict.fromkeys((*before, *after)):
            was, now = before.get(package, NOT_NAMED), after.get(package, NOT_NAMED)
            if was != now:
                found.append(ReleaseChange(package, was, now, name))
    return found


def stated_in(name: str, source: FileSource, repositories: Repositories) -> Texts:
    """What a dependency file of a side states about each package."""
    if not source.is_file(name):
        return {}
    from cfglint.project.pinned_versions import Disk

    folder, last = os.path.split(name)
    stated: dict[str, list[str]] = {}
    for package, statement in repositories.in_file(folder or os.curdir, last, (source.disk or Disk()).text(name)):
        stated.setdefault(package, []).append(statement.elsewhere or statement.release or statement.spec or ANY)
    return {package: " and ".join(dict.fromkeys(texts)) for package, texts in stated.items()}
