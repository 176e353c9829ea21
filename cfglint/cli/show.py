"""The output of `check --show files` and `check --show settings`: what would be checked, and with which settings."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.asked_runs import discovery_of, runs_of
from cfglint.project.settings_file import Configuration
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import is_one_of
from cfglint.run.scan_stats import ScanStats

NOT_SETTINGS = ("folder", "policies", "path", "runs")  # attributes that are no settings, or are shown on lines of their own

Members = dict[str, dict[str, dict[str, None]]]  # path of a file -> its kinds -> the runs of others that it is in, by that kind


def files_shown(arguments: Namespace, project: Configuration, stats: ScanStats) -> list[str]:
    """A line for every file: `PATH: KIND, in the run of FILE`, or `PATH: skipped (WHY)`."""
    members: Members = {}
    if arguments.run or (not arguments.paths and project.runs):
        for run in runs_of(arguments, project, stats):
            add_members(members, run)
        skipped = dict.fromkeys(stats.unknown_kind, "kind unknown; declare it with `kind`")
        skipped.update(dict.fromkeys(stats.unreadable, "cannot be opened"))
        order = [*members, *(path for path in skipped if path not in members)]
    else:
        order, skipped = walk(members, arguments, project, stats)
    lines = []
    for path in order:
        texts = []
        for kind, runs in members.get(path, {}).items():
            texts.append(kind + (f", in the {'run' if len(runs) == 1 else 'runs'} of {', '.join(runs)}" if runs else ""))
        why = skipped.get(path, "in no run")
        lines.append(f"{path}: {'; '.join(texts) or f'skipped ({why})'}")
    return lines


def walk(members: Members, arguments: Namespace, project: Configuration, stats: ScanStats) -> tuple[list[str], dict[str, str]]:
    """Add the members of the runs of the paths; returns the files in order, and why some are skipped."""
    discovery, paths = discovery_of(arguments, project, stats)
    excluded, discovery.request.exclude = discovery.request.exclude, []
    order: list[str] = []
    found: list[CheckedRun] = []
    skipped: dict[str, str] = {}
    for numbered in discovery.numbered(paths):
        discovery.request.stats = counts = ScanStats()
        name = numbered[1]
        if name in discovery.readers:
            found += [run for _, run in discovery.looked_at([numbered])]
            continue
        order.append(name)
        if is_one_of(name, excluded) and (discovery.request.exclude_named or name not in discovery.request.named):
            skipped[name] = "excluded by the configuration"
            continue
        runs = [run for _, run in discovery.looked_at([numbered])]
        found += runs
        if not runs:
            reasons = [
                (counts.unreadable, "cannot be opened"),
                (counts.related_tools, f"{next(iter(counts.related_tools), '')} file, no checks for this kind"),
                (counts.unclear, "could not determine the kind; pass --kind"),
                (counts.unrecognized or counts.unrecognized_named, "not a training config"),
                (True, "no training launch in it"),
            ]
            skipped[name] = next(reason for holds, reason in reasons if holds)
        stats.add(counts)
    taken = discovery.identities(discovery.taken)
    for run in found:
        if run.unless_named is None or discovery.source.identity(run.unless_named) not in taken:
            stats.count(run)
            add_members(members, run)
    aliases = {discovery.source.identity(path): path for path in members}
    for path in order:
        if path not in members and path not in skipped and discovery.source.identity(path) in aliases:
            members[path] = members[aliases[discovery.source.identity(path)]]
    named = discovery.identities(set(order))
    return order + [path for path in members if path not in order and discovery.source.identity(path) not in named], skipped


def add_members(members: Members, run: CheckedRun) -> None:
    entry = run.launch.alternative
    alternative = f" (alternative {entry['number']} of {entry['of']}, built at {entry['built_at']})" if entry is not None else ""
    for document, kind in zip(run.documents, run.kinds, strict=True):
        runs = members.setdefault(document.path, {}).setdefault(kind, {})
        if document is not run.documents[0]:
            runs[f"{run.documents[0].path}{alternative}"] = None


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
    if isinstance(value, dict):
        return ", ".join(f"{key} = {written(each)}" for key, each in value.items()) or "(unset)"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "(unset)"
    return "(unset)" if value in (None, "", False) else "true" if value is True else str(value)
