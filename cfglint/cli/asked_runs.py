"""The runs that a command answers for: those that its paths mean."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.console import warn
from cfglint.cli.options import LISTED, UsageError, facts_of, facts_of_declared, runs_of, section_of, with_stdin
from cfglint.findings.wording import first_few
from cfglint.project.settings_file import Configuration, DeclaredRun
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import BY_HAND, is_program, is_script, line_of
from cfglint.run.scan_stats import ScanStats
from cfglint.source.file_source import FileSource
from cfglint.source.root import resolved


def runs_asked(arguments: Namespace, project: Configuration, complete: bool) -> list[CheckedRun]:
    """The runs that the paths mean, for a command that answers for each: those of the project that read the one named file, or those of
    a folder; several scripts or programs are runs of their own, other files together one run. UsageError names what is missing.
    """
    paths = arguments.paths
    options = arguments.run or arguments.kind or arguments.section or arguments.args
    if not options and len(paths) > 1 and all(is_script(line_of(path)[0]) or is_program(path) for path in paths):
        runs = []
        for arguments.paths in ([path] for path in paths):
            runs += runs_asked(arguments, project, complete)
        arguments.paths = paths
        return runs
    if options or len(paths) != 1 or paths == ["-"]:
        return [one_run(arguments, project, complete)]
    stats = ScanStats()
    every = [run for _, run in runs_of(arguments, project, stats)]
    runs = without_alternatives(every)
    if stats.unsearched:
        warn(f"{stats.unsearched:,} files of the project searched for runs that read {paths[0]}, not the others")
    if os.path.isdir(paths[0]):
        if not runs:
            raise UsageError(f"{paths[0]}: no run was found in this folder")
        return runs
    if not runs:
        return [one_run(arguments, project, complete)]
    if len(runs) == 1 and not runs[0].is_of_reader:
        warn_of_alternatives(paths[0], runs[0], len(every))
        if complete and not runs[0].facts.complete:
            return [CheckedRun(runs[0].documents, runs[0].kinds, runs[0].facts.replace(complete=True))]
    return runs


def without_alternatives(runs: list[CheckedRun]) -> list[CheckedRun]:
    """The runs, of those that a program builds in branches of a condition the first one."""
    entries = [run.launch.alternative for run in runs]
    return [run for run, entry in zip(runs, entries, strict=True) if entry is None or entry["number"] == 1]


def one_run(arguments: Namespace, project: Configuration, complete: bool) -> CheckedRun:
    """Load the paths as one run; UsageError names what is missing."""
    if not arguments.paths and not arguments.args:
        arguments.paths = only_run(arguments, project)
    declared = run_of(arguments, project)
    facts = facts_of(arguments, project, complete) if declared is None else facts_of_declared(declared, arguments, project)
    paths, piped = with_stdin(arguments)
    for path in paths:
        name = line_of(path)[0]
        if path != BY_HAND and path not in piped and (os.path.isdir(path) or not (os.path.lexists(path) or os.path.lexists(name))):
            raise UsageError(f"{path}: {'is a folder' if os.path.isdir(path) else 'no such file'}; pass the files of one run")
    if declared is not None:
        discovery, paths = Discovery(facts, declared.kind), declared.files
    else:
        discovery = Discovery(facts, arguments.kind, section_of(arguments), FileSource(piped))
    [run, *others] = discovery.together(paths)
    if not warn_of_alternatives(paths[0], run, len(others) + 1) and others:
        warn(f"{paths[0]}: the first of {len(others) + 1} launches that this line starts; {LISTED}")
    return run


def warn_of_alternatives(path: str, run: CheckedRun, count: int) -> bool:
    """Say that a run is one of as many alternatives as were found; whether it is."""
    entry = run.alternative
    if entry is None or entry["of"] != count:
        return False
    where = f"its program builds the arguments in {entry['of']} branches; {LISTED}"
    warn(f"{path}: alternative {entry['number']} of {entry['of']} ({entry['built_at']}): {where}")
    return True


def only_run(arguments: Namespace, project: Configuration) -> list[str]:
    """The paths of the only run of the project, for a command line without any; UsageError names the runs if there are several."""
    if len(project.runs) == 1:
        return project.runs[0].files
    places = dict.fromkeys(run.written_at for _, run in runs_of(arguments, project, ScanStats()))
    if len(places) != 1:
        which = f"PATH is missing; the runs here are {first_few(places)}" if places else "PATH is missing, and there is no run here"
        raise UsageError(f"{which}: pass the files of one run, or --args")
    return [*places]


def run_of(arguments: Namespace, project: Configuration) -> DeclaredRun | None:
    """The only declared run that lists all of the paths; None if flags or standard input determine the kind of the files."""
    if arguments.kind or arguments.section or arguments.run or "-" in arguments.paths or not arguments.paths:
        return None
    wanted = set(map(resolved, arguments.paths))
    holding = [run for run in project.runs if wanted <= set(map(resolved, run.files))]
    return holding[0] if len(holding) == 1 else None
