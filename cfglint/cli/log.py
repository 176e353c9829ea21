"""`cfglint log`: why a training failed, and what the numbers of its log mean, alone or compared with the files of the run."""

from __future__ import annotations

import io
import os
import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import runs_asked
from cfglint.cli.console import fail, warn, warn_of
from cfglint.cli.options import UsageError, add_run_options, gpus_not_used, load_configuration
from cfglint.cli.output import add_report_options, reports, write
from cfglint.explanation import failure_parser
from cfglint.explanation.failures import notices
from cfglint.explanation.log_file import Log, compare
from cfglint.findings.wording import counted, first_few
from cfglint.project.settings_file import Configuration
from cfglint.report import render_log
from cfglint.report.escapes import shown
from cfglint.run.checked import CheckedRun
from cfglint.source import CfglintError

FORMATS = ("text", "json", "html")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a log (`-`: standard input), and the files of its run to compare")
    add_run_options(parser)
    parser.hide("--run", "--nodes", "--env", "--set", "--args", "--section", "--stdin-filename", "--strict-keys", "--trainer")
    add_report_options(parser, FORMATS)
    parser.add_example("cfglint log error.txt", "what a traceback or the end of a log means")
    parser.add_example("cfglint log train.log train.yaml", "the numbers of a log compared with the files of its run")


def run(arguments: Namespace) -> int:
    """Explain a log and print; return exit status 1 if it differs from the files that it is compared with."""
    if not arguments.paths:
        raise UsageError("PATH is missing: pass a log, or - for standard input")
    project = load_configuration(arguments)
    log, is_one = log_among(arguments)
    return report(log, arguments, project) if is_one else report_progress(arguments, log)


def report(log: Log, arguments: Namespace, project: Configuration) -> int:
    """Print or write the explanation of a log, compared with the files if any are given; return the exit status."""
    explained = log.explained(arguments.kind or "")
    runs: list[CheckedRun] = []

    def run_with(logged: dict[str, int], card: float | None) -> CheckedRun:
        if arguments.gpu_memory is None and not project.gpu_memory:
            arguments.gpu_memory = card
        arguments.logged = logged
        first, *others = runs_asked(arguments, project, arguments.run)
        runs.append(first)
        if first.is_of_reader or others:
            places = first_few([*dict.fromkeys(run.full_place for run in (first, *others))])
            warn(f"{arguments.paths[0]}: compared in the run of {first.full_place}" + (f", one of {places}" if others else ""))
        return first

    not_compared = ""
    try:
        if arguments.paths:
            compare(explained, run_with)
            if arguments.gpus:
                of_lines = [run for run in runs if run.launch.line is not None and not run.launch.machine]
                sizes = {run.written_at: run.facts.gpus for run in of_lines if run.facts.gpus is not None}
                warn_of(gpus_not_used(sizes, arguments.gpus))
            explained.files = list(arguments.paths)
    except CfglintError as error:
        not_compared = str(error)
    failed = write(arguments, lambda form, _, width: render_log(form, log.path, explained, width), FORMATS)
    status = failed or (1 if any(banner.differences for banner in explained.banners) else 0)
    return fail(f"not compared: {not_compared}") if not_compared else status


def report_progress(arguments: Namespace, log: Log) -> int:
    """Print or write what a log without a banner and a failure shows; UsageError if that is nothing."""
    path = arguments.paths[0]
    missing = next((name for name in arguments.paths if not os.path.lexists(name)), None)
    if missing is not None and not os.path.isfile(path):
        raise UsageError(f"{missing}: no such file")
    steps, said = progress_in(log)
    found = notices(log.lines()) if steps else log.explained().failures if os.path.isfile(path) else []
    if found:  # a message without its exception, or a warning
        if steps:
            warn(f"{path}: {said}")
        arguments.paths.remove(path)
        return report(log, arguments, load_configuration(arguments))
    if not steps:
        raise UsageError(f"{path}: {said}")
    if any(form != "text" for form, _ in reports(arguments, FORMATS)):
        warn(f"{path}: {said}")
    plain = f"{shown(path)}: {said}\n"
    return write(arguments, lambda form, *_: plain if form == "text" else render_log(form, path, log.explained()), FORMATS)


def progress_in(log: Log) -> tuple[int, str]:
    """(steps that a log without a banner and a failure shows, what it says of them)."""
    if not os.path.lexists(log.path):
        return 0, "no such file"
    is_file = os.path.isfile(log.path)
    if os.path.isdir(log.path):
        return 0, "a folder; pass one of the logs in it"
    if is_file and log.is_empty:
        return 0, "the log is empty: the program wrote nothing, or its output went elsewhere (standard error, the log of another rank)"
    events = log.events if is_file else failure_parser.Events()
    logged = f"; the last of {counted(len(events.steps), 'logged step')} is in line {events.steps[-1]}" if events.steps else ""
    ended = f"; the training came to its end in line {events.ended}" if events.ended else ""
    return len(events.steps) + bool(events.ended), f"no banner of a training and no failure in it{logged}{ended}"


def explained_instead(arguments: Namespace, project: Configuration, unknown: str = "") -> int | None:
    """The exit status where a log among the paths is explained in place of a run; None if there is none.

    Of a first path that is `unknown`, as the file of a run, the logged steps are enough.
    """
    log, is_one = log_among(arguments)
    if is_one:
        warn(f"{log.path} is a log: `cfglint log` is the command for logs")
        return report(log, arguments, project)
    return report_progress(arguments, log) if log.path == unknown and progress_in(log)[0] else None


def log_among(arguments: Namespace) -> tuple[Log, bool]:
    """(the log among the paths, which is taken out of them, else the first path, whether it is a log, as unnamed standard input is)."""
    logs = []
    for path in arguments.paths:
        is_piped = path == "-" and not arguments.stdin_filename
        piped = list(io.TextIOWrapper(sys.stdin.buffer, "utf-8", "replace", "\n")) if is_piped else None
        log = Log("standard input" if is_piped else path, piped)
        logs.append(log)
        if is_piped or (path != "-" and log.recognised):
            arguments.paths.remove(path)
            return log, True
    return logs[0] if logs else Log(""), False
