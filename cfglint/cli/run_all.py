"""The outcomes of all runs of a command line; several processes if there are many runs."""

from __future__ import annotations

import os
import sys

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.options import UsageError, declared_runs, discovery_of, held_by_declared_runs
from cfglint.findings.diagnostic import Outcome, drop_repeated_findings
from cfglint.project.settings_file import Configuration, DeclaredRun
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.scan_stats import ScanStats
from cfglint.source.annotations import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from cfglint.cli.options import Folders

    Task = TypeVar("Task")


class PartialOutcomes:
    """A part of the outcomes, by position, and what was found on the way.

    `tentative` are outcomes of files that other files may name, by position and path, and of launches that the calls of other scripts may
    start as well, each with its own statistics: they count only if no file names them, and for the first call. `taken` are the files that
    were named.
    """

    def __init__(self) -> None:
        self.found: list[tuple[int, Outcome]] = []
        self.tentative: list[tuple[int, Outcome, str | None, ScanStats, tuple[object, ...]]] = []
        self.stats = ScanStats()
        self.taken: set[str] = set()


def outcomes(arguments: Namespace, project: Configuration, stats: ScanStats, holding: bool = True) -> list[Outcome]:
    """The outcome of every run, in the order of the arguments; `holding`: a path is checked in the declared runs that contain it."""
    if not arguments.paths and project.runs and not arguments.args:
        parts = declared_outcomes(arguments, project)
    elif arguments.run:
        discovery, paths = discovery_of(arguments, project, stats)
        folder = next(filter(os.path.isdir, paths), None)
        if folder is not None:
            raise UsageError(f"{folder}: is a folder; pass the files of one run with --run")
        return [outcome_of(run, arguments) for run in discovery.together(paths)]
    else:
        parts = path_outcomes(arguments, project, holding)
    for part in parts:
        stats.add(part.stats)
    found = sorted((pair for part in parts for pair in part.found), key=lambda pair: pair[0])
    outcomes_of_runs = [outcome for _, outcome in found]
    drop_repeated_findings(outcomes_of_runs)
    if arguments.command:
        from cfglint.cli.typed_command import without_edits

        without_edits(outcomes_of_runs)
    return outcomes_of_runs


def declared_outcomes(arguments: Namespace, project: Configuration) -> list[PartialOutcomes]:
    """The declared runs."""
    folders: Folders = {}

    def work(block: list[tuple[int, DeclaredRun]]) -> PartialOutcomes:
        part = PartialOutcomes()
        for index, declared_run in block:
            for run in declared_runs(declared_run, arguments, project, part.stats, folders):
                part.found.append((index, outcome_of(run, arguments)))
        return part

    return blocks_with_progress(work, list(enumerate(project.runs)), arguments.jobs, "runs checked")


def blocks_with_progress(
    work: Callable[[list[Task]], PartialOutcomes], tasks: list[Task], jobs: int | None, thing: str
) -> list[PartialOutcomes]:
    """Process blocks of the tasks, with a progress line on a terminal."""
    if len(tasks) <= 1:
        return [work(tasks)]
    from cfglint.cli.worker_processes import map_blocks

    if not sys.stderr.isatty():
        return map_blocks(work, tasks, jobs)
    from cfglint.cli.progress import Progress

    progress = Progress(thing)
    try:
        return map_blocks(work, tasks, jobs, progress)
    finally:
        progress.end()


def path_outcomes(arguments: Namespace, project: Configuration, holding: bool) -> list[PartialOutcomes]:
    """The outcomes of the paths, without files that are named by another file; see `outcomes`."""
    walked = PartialOutcomes()  # the statistics of the walk itself: folders that cannot be read
    discovery, paths = discovery_of(arguments, project, walked.stats)

    def work(block: list[tuple[int, str]]) -> PartialOutcomes:
        part = PartialOutcomes()
        discovery.request.stats, discovery.taken = part.stats, part.taken
        for index, run, path in discovery.looked_at(block):
            outcome, launch = outcome_of(run, arguments), called(run, discovery)
            if path is None and not launch:
                part.stats.count(run)
                part.found.append((index, outcome))
            else:
                stats = ScanStats()
                stats.count(run)
                part.tentative.append((index, outcome, path, stats, launch))
        return part

    numbered = discovery.numbered(paths)
    declared, numbered = outcomes_of_declared_runs(discovery, numbered, arguments, project) if holding else (PartialOutcomes(), numbered)
    parts = blocks_with_progress(work, numbered, arguments.jobs, "files checked")
    check_unreferenced(parts, discovery)
    return [walked, *parts, declared]


def outcomes_of_declared_runs(
    discovery: Discovery, numbered: list[tuple[int, str]], arguments: Namespace, project: Configuration
) -> tuple[PartialOutcomes, list[tuple[int, str]]]:
    """The declared runs that hold files of the command line, and the files that none of them holds."""
    part = PartialOutcomes()
    held, left = held_by_declared_runs(discovery, numbered, arguments, project)
    for position, runs, stats in held:
        part.found += [(position, outcome_of(run, arguments)) for run in runs]
        part.stats.add(stats)
    return part, left


def called(run: CheckedRun, discovery: Discovery) -> tuple[object, ...]:
    """The launch of a script that another one calls, which was not named, and may be called by several; empty for other runs."""
    line = run.launch.line
    if line is None or line.call.called_from is None or line.script_path in discovery.request.named:
        return ()
    from cfglint.launch.scripts import identity_of

    return identity_of(line)


def check_unreferenced(parts: list[PartialOutcomes], discovery: Discovery) -> None:
    """Check the files that no other file names, and the first of equal launches, once all references and calls are known."""
    taken = discovery.identities(set().union(*(part.taken for part in parts)))
    first: dict[tuple[object, ...], tuple[int, int]] = {}
    for number, part in enumerate(parts):
        for index, _, _, _, launch in part.tentative:
            first[launch] = min(first.get(launch, (index, number)), (index, number))
    for number, part in enumerate(parts):
        for index, outcome, path, stats, launch in part.tentative:
            is_taken = path is not None and bool(taken) and discovery.source.identity(path) in taken
            if not is_taken and (not launch or first[launch] == (index, number)):
                part.found.append((index, outcome))
                part.stats.add(stats)


def outcome_of(run: CheckedRun, arguments: Namespace) -> Outcome:
    """The outcome of a run, with its numbers and texts if an HTML page is written."""
    if "html" not in arguments.format:
        return run.outcome()
    from cfglint.explanation.summary import explained

    return explained(run)
