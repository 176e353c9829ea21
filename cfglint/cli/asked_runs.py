"""The runs that a command line means, and their outcomes; several processes if there are many runs."""

from __future__ import annotations

import os
import sys

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.console import warn
from cfglint.cli.options import LISTED, UsageError, facts_of, facts_of_declared, own_files
from cfglint.findings.diagnostic import Outcome, drop_repeated_findings
from cfglint.findings.wording import first_few
from cfglint.project.settings_file import Configuration, DeclaredRun
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import BY_HAND, HERE, LaunchChoiceError, ScanStats, UnknownKindError, is_program, is_script, line_of
from cfglint.source.annotations import Callable, Item, Iterator, Mapping
from cfglint.source.file_source import FileSource
from cfglint.source.limits import MAX_SIZE
from cfglint.source.root import resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.statements.statement import Statement

    Folders = dict[str, dict[str, list[Statement]]]


# ---- the runs of a command that answers for each of them


def runs_asked(arguments: Namespace, project: Configuration, complete: bool) -> list[CheckedRun]:
    """The runs that the paths mean, for a command that answers for each; several scripts or programs are runs of their own."""
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
    alternatives = [*runs_of(arguments, project, stats)]
    runs = [run for run in alternatives if (entry := run.launch.alternative) is None or entry["number"] == 1]
    if stats.unsearched:
        warn(f"{stats.unsearched:,} files of the project searched for runs that read {paths[0]}, not the others")
    if os.path.isdir(paths[0]):
        if not runs:
            raise UsageError(f"{paths[0]}: no run was found in this folder")
        return runs
    if not runs:
        return [one_run(arguments, project, complete)]
    if len(runs) == 1 and not runs[0].is_of_reader:
        warn_of_alternatives(paths[0], runs[0], len(alternatives))
        if complete and not runs[0].facts.complete:
            return [CheckedRun(runs[0].documents, runs[0].kinds, runs[0].facts.replace(complete=True))]
    return runs


def one_run(arguments: Namespace, project: Configuration, complete: bool) -> CheckedRun:
    """Load the paths, or the only run of the project, as one run; UsageError names what is missing."""
    if not arguments.paths and not arguments.args:
        if len(project.runs) == 1:
            arguments.paths = project.runs[0].files
        else:
            places = dict.fromkeys(run.written_at for run in runs_of(arguments, project, ScanStats()))
            if len(places) != 1:
                which = f"PATH is missing; the runs here are {first_few(places)}" if places else "PATH is missing, and there is no run here"
                raise UsageError(f"{which}: pass the files of one run, or --args")
            arguments.paths = [*places]
    declared = None  # the only declared run that lists all of the paths, unless flags or standard input determine the kind of the files
    if arguments.paths and not (arguments.kind or arguments.section or arguments.run or "-" in arguments.paths):
        named = set(map(resolved, arguments.paths))
        holding = [run for run in project.runs if named <= set(map(resolved, run.files))]
        declared = holding[0] if len(holding) == 1 else None
    facts = facts_of(arguments, project, complete) if declared is None else facts_of_declared(declared, arguments, project)
    paths, piped = with_stdin(arguments)
    for path in paths:
        is_there = os.path.lexists(path) or os.path.lexists(line_of(path)[0])
        if path != BY_HAND and path not in piped and (os.path.isdir(path) or not is_there):
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
    entry = run.launch.alternative
    if entry is None or entry["of"] != count:
        return False
    where = f"its program builds the arguments in {entry['of']} branches; {LISTED}"
    warn(f"{path}: alternative {entry['number']} of {entry['of']} ({entry['built_at']}): {where}")
    return True


# ---- all runs of a command line


def runs_of(arguments: Namespace, project: Configuration, stats: ScanStats, texts: Mapping[str, str] | None = None) -> Iterator[CheckedRun]:
    """The declared runs where no path is given, else those of the paths and of the project's runs that read one; `texts` replace files."""
    if not arguments.paths and project.runs and not arguments.args:
        folders: Folders = {}
        for declared in project.runs:
            yield from declared_runs(declared, arguments, project, stats, folders, texts)
        return
    discovery, paths = discovery_of(arguments, project, stats, texts)
    if arguments.run:
        yield from discovery.together(paths)
        return
    held, numbered = held_by_declared_runs(discovery, discovery.numbered(paths), arguments, project, texts)
    for _, runs, counts in held:
        stats.add(counts)
        yield from runs
    yield from (run for _, run in discovery.runs_of(numbered))


def held_by_declared_runs(
    discovery: Discovery,
    numbered: list[tuple[int, str]],
    arguments: Namespace,
    project: Configuration,
    texts: Mapping[str, str] | None = None,
) -> tuple[list[tuple[int, list[CheckedRun], ScanStats]], list[tuple[int, str]]]:
    """(position, runs, statistics) of the declared runs that hold files of the command line, and the files that none of them holds."""
    if not discovery.request.named or not project.runs or arguments.kind or arguments.section:
        return [], numbered
    places = {discovery.source.identity(path): index for index, path in reversed(numbered) if path in discovery.request.named}
    found: list[tuple[int, list[CheckedRun], ScanStats]] = []
    held: set[str] = set()
    folders: Folders = {}
    for declared_run in project.runs:
        stats = ScanStats()
        runs = declared_runs(declared_run, arguments, project, stats, folders, texts)
        files = {discovery.source.identity(document.path) for run in runs for document in run.documents}
        if files & places.keys():
            held |= files
            found.append((min(places[path] for path in files & places.keys()), runs, stats))
    discovery.positions = {path: position for path, position in discovery.positions.items() if path not in held}
    return found, [(index, path) for index, path in numbered if discovery.source.identity(path) not in held]


def declared_runs(
    declared: DeclaredRun,
    arguments: Namespace,
    project: Configuration,
    stats: ScanStats,
    folders: Folders,
    texts: Mapping[str, str] | None = None,
) -> list[CheckedRun]:
    """The run that the configuration declares, or those of its launch line; `folders` caches the versions found, by folder."""
    discovery = Discovery(facts_of_declared(declared, arguments, project), arguments.kind or declared.kind, source=source_with(texts))
    discovery.request.stats, discovery.folders = stats, folders
    try:
        return discovery.together(declared.files)
    except LaunchChoiceError as error:
        stats.unchosen.append(str(error))
    except UnknownKindError as error:
        if error.path not in stats.unreadable:
            stats.unknown_kind.append(error.path)
    return []


def discovery_of(
    arguments: Namespace, project: Configuration, stats: ScanStats, texts: Mapping[str, str] | None = None
) -> tuple[Discovery, list[str]]:
    """The discovery of the runs of a command line, and its paths; `texts` are other contents of their files."""
    paths, piped = with_stdin(arguments)
    facts = facts_of(arguments, project, arguments.run)
    discovery = Discovery(facts, arguments.kind, section_of(arguments), source_with(texts, piped))
    discovery.request.stats = stats
    discovery.request.exclude, discovery.request.kinds = project.exclude, project.kinds
    discovery.request.own_files = own_files(arguments, project)
    discovery.request.exclude_named = getattr(arguments, "skip_unrecognized", False)
    return discovery, paths


def section_of(arguments: Namespace) -> tuple[str, ...]:
    """The path of the mapping in a file that is the config; empty for all of it."""
    return tuple(arguments.section.split(".")) if arguments.section else ()


def with_stdin(arguments: Namespace) -> tuple[list[str], dict[str, bytes]]:
    """The paths with `-` replaced by its file name, and the bytes of standard input, at most one byte above the limit."""
    if "-" not in arguments.paths:
        return arguments.paths or [BY_HAND if arguments.args else HERE], {}
    try:
        data = arguments.piped = getattr(arguments, "piped", None) or sys.stdin.buffer.read(MAX_SIZE + 1)
    except (AttributeError, OSError) as error:  # standard input is closed, as with `<&-`, or open for writing only
        raise UsageError("`-` reads standard input, and that cannot be read") from error
    name = arguments.stdin_filename = arguments.stdin_filename or name_of_content(data)
    return [name if path == "-" else path for path in arguments.paths], {name: data}


def name_of_content(data: bytes) -> str:
    """A file name for standard input whose suffix tells what it is: JSON, a script, a program, else YAML."""
    text = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    lines = [line.split() for line in text.splitlines()]
    if text.startswith((b"{", b"[")):
        suffix = "json"
    elif any(line[0] in (b"import", b"from") for line in lines if len(line) > 1):
        suffix = "py"
    elif text.startswith(b"#!") or any(b"--" in (word[:2] for word in line[1:]) and not line[0].endswith(b":") for line in lines):
        suffix = "sh"
    else:
        suffix = "yaml"
    return f"stdin.{suffix}"


def source_with(texts: Mapping[str, str] | None, piped: dict[str, bytes] | None = None) -> FileSource:
    """The files, with new contents for some of them and those of standard input."""
    source = FileSource(piped)
    if not texts:
        return source
    from cfglint.source.edited_source import EditedSource

    return EditedSource(source, texts)


# ---- their outcomes


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
        folders: Folders = {}

        def check_declared(block: list[tuple[int, DeclaredRun]]) -> PartialOutcomes:
            part = PartialOutcomes()
            for index, declared_run in block:
                for run in declared_runs(declared_run, arguments, project, part.stats, folders):
                    part.found.append((index, outcome_of(run, arguments)))
            return part

        parts = blocks_with_progress(check_declared, list(enumerate(project.runs)), arguments.jobs, "runs checked")
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
    found = [outcome for _, outcome in sorted((pair for part in parts for pair in part.found), key=lambda pair: pair[0])]
    drop_repeated_findings(found)
    if arguments.command:
        from cfglint.cli.typed_command import without_edits

        without_edits(found)
    return found


def blocks_with_progress(
    work: Callable[[list[Item]], PartialOutcomes], tasks: list[Item], jobs: int | None, thing: str
) -> list[PartialOutcomes]:
    if len(tasks) <= 1:
        return [work(tasks)]
    from cfglint.cli.progress import Progress
    from cfglint.cli.worker_processes import map_blocks

    progress = Progress(thing)
    try:
        return map_blocks(work, tasks, jobs, progress)
    finally:
        progress.end()


def path_outcomes(arguments: Namespace, project: Configuration, holding: bool) -> list[PartialOutcomes]:
    """The outcomes of the paths, without files that are named by another file; see `outcomes`."""
    walked = PartialOutcomes()  # the statistics of the walk itself: folders that cannot be read
    discovery, paths = discovery_of(arguments, project, walked.stats)

    def check_paths(block: list[tuple[int, str]]) -> PartialOutcomes:
        part = PartialOutcomes()
        discovery.request.stats, discovery.taken = part.stats, part.taken
        for index, run in discovery.looked_at(block):
            outcome, line, path = outcome_of(run, arguments), run.launch.line, run.unless_named
            launch: tuple[object, ...] = ()  # of a script that another one calls, which was not named, and may be called by several
            if line is not None and line.call.called_from is not None and line.script_path not in discovery.request.named:
                from cfglint.launch.scripts import identity_of

                launch = identity_of(line)
            if path is None and not launch:
                part.stats.count(run)
                part.found.append((index, outcome))
            else:
                stats = ScanStats()
                stats.count(run)
                part.tentative.append((index, outcome, path, stats, launch))
        return part

    numbered = discovery.numbered(paths)
    declared = PartialOutcomes()
    if holding:
        held, numbered = held_by_declared_runs(discovery, numbered, arguments, project)
        for position, runs, stats in held:
            declared.found += [(position, outcome_of(run, arguments)) for run in runs]
            declared.stats.add(stats)
    parts = blocks_with_progress(check_paths, numbered, arguments.jobs, "files checked")
    # Once all references and calls are known: the files that no other file names, and the first of equal launches.
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
    return [walked, *parts, declared]


def outcome_of(run: CheckedRun, arguments: Namespace) -> Outcome:
    """The outcome of a run, with its numbers and texts if an HTML page is written."""
    if "html" not in arguments.format:
        return run.outcome()
    from cfglint.explanation.summary import explained

    return explained(run)
