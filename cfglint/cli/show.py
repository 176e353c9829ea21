"""The output of `check --show files` and `check --show settings`: what would be checked, and with which settings."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.options import discovery_of, runs_of
from cfglint.project.settings_file import Configuration
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import is_one_of
from cfglint.run.scan_stats import ScanStats

IN_RUN = ", in the run of "
NOT_SETTINGS = ("folder", "policies", "path", "runs")  # attributes that are no settings, or are shown on lines of their own


def files_shown(arguments: Namespace, project: Configuration, stats: ScanStats) -> list[str]:
    """A line for every file: its kind and the run that it is in, or why it is skipped."""
    if arguments.run or (not arguments.paths and project.runs):
        members: dict[str, list[str]] = {}
        for _, run in runs_of(arguments, project, stats):
            add_members(members, run)
        skipped = dict.fromkeys(stats.unknown_kind, "kind unknown; declare it with `kind`")
        skipped.update(dict.fromkeys(stats.unreadable, "cannot be opened"))
        return lines_of([*members, *(path for path in skipped if path not in members)], members, skipped)
    return lines_of(*walked(arguments, project, stats))


def walked(arguments: Namespace, project: Configuration, stats: ScanStats) -> tuple[list[str], dict[str, list[str]], dict[str, str]]:
    """The files of the paths in order, the kinds and runs of the checked ones, and why the others are skipped."""
    discovery, paths = discovery_of(arguments, project, stats)
    excluded, discovery.request.exclude = discovery.request.exclude, []
    order: list[str] = []
    found: list[tuple[CheckedRun, str | None]] = []
    skipped: dict[str, str] = {}
    for numbered in discovery.numbered(paths):
        discovery.request.stats = ScanStats()
        if numbered[1] in discovery.readers:
            found += [(run, path) for _, run, path in discovery.looked_at([numbered])]
            continue
        order.append(numbered[1])
        if is_one_of(numbered[1], excluded) and (discovery.request.exclude_named or numbered[1] not in discovery.request.named):
            skipped[numbered[1]] = "excluded by the configuration"
            continue
        own = [(run, path) for _, run, path in discovery.looked_at([numbered])]
        found += own
        if not own:
            skipped[numbered[1]] = reason(discovery.request.stats)
        stats.add(discovery.request.stats)
    members: dict[str, list[str]] = {}
    taken = discovery.identities(discovery.taken)
    for run, path in found:
        if path is None or discovery.source.identity(path) not in taken:
            stats.count(run)
            add_members(members, run)
    aliases = {discovery.source.identity(path): path for path in members}
    for path in order:
        if path not in members and path not in skipped and discovery.source.identity(path) in aliases:
            members[path] = members[aliases[discovery.source.identity(path)]]
    named = discovery.identities(set(order))
    order += [path for path in members if path not in order and discovery.source.identity(path) not in named]
    return order, members, skipped


def add_members(members: dict[str, list[str]], run: CheckedRun) -> None:
    """Add the files of a run with their kinds and the first file of the run."""
    entry = run.alternative
    alternative = f" (alternative {entry['number']} of {entry['of']}, built at {entry['built_at']})" if entry is not None else ""
    for position, (document, kind) in enumerate(zip(run.documents, run.kinds, strict=True)):
        place = kind if position == 0 else f"{kind}{IN_RUN}{run.documents[0].path}{alternative}"
        rows = members.setdefault(document.path, [])
        if place not in rows:
            rows.append(place)


def reason(stats: ScanStats) -> str:
    """Why a file is skipped, from the statistics of that file alone."""
    if stats.unreadable:
        return "cannot be opened"
    if stats.related_tools:
        return f"{next(iter(stats.related_tools))} file, no checks for this kind"
    if stats.unclear:
        return "could not determine the kind; pass --kind"
    if stats.unrecognized or stats.unrecognized_named:
        return "not a training config"
    return "no training launch in it"


def lines_of(order: list[str], members: dict[str, list[str]], skipped: dict[str, str]) -> list[str]:
    """The lines: `PATH: KIND` or `PATH: skipped (WHY)`."""
    what = {path: f"skipped ({skipped.get(path, 'in no run')})" for path in order}
    what.update({path: joined(rows) for path, rows in members.items()})
    return [f"{path}: {what[path]}" for path in order]


def joined(rows: list[str]) -> str:
    """The kinds of a file: `deepspeed, in the runs of a.sh, b.sh`."""
    runs: dict[str, list[str]] = {}
    for row in rows:
        kind, mark, run = row.partition(IN_RUN)
        runs.setdefault(kind, []).extend([run] if mark else [])
    where = {kind: f", in the {'run' if len(names) == 1 else 'runs'} of {', '.join(names)}" for kind, names in runs.items() if names}
    return "; ".join(kind + where.get(kind, "") for kind in runs)


def settings_shown(arguments: Namespace, project: Configuration) -> list[str]:
    """A line for every setting: its value, and whether it comes from the command line, the configuration or the default."""
    lines = [f"configuration: {project.path or '(none)'}"]
    for name in sorted(set(vars(project)) - set(NOT_SETTINGS)):
        value, origin = getattr(project, name), project.path
        given = getattr(arguments, name, None)
        if given:
            value, origin = given, "command line"
        lines.append(f"{name.replace('_', '-')}: {written(value).replace(os.getcwd() + os.sep, '')}{f' ({origin})' if value else ''}")
    lines.append(f"declared runs: {len(project.runs)}")
    return lines


def written(value: object) -> str:
    """The value of a setting as it is printed."""
    if isinstance(value, dict):
        return ", ".join(f"{key} = {written(each)}" for key, each in value.items()) or "(unset)"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "(unset)"
    return "(unset)" if value in (None, "", False) else "true" if value is True else str(value)
