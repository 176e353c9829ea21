"""`cfglint log`: why a training failed, and what the numbers of its log mean, alone or compared with the files of the run."""

from __future__ import annotations

import io
import os
import sys

from cfglint.cli.console import fail
from cfglint.cli.options import UsageError, add_run_options, load_configuration, one_run
from cfglint.cli.output import add_report_options, the_report, write_text
from cfglint.cli.terminal import columns
from cfglint.explanation import failures, log_analysis, log_parser
from cfglint.explanation.log_analysis import ExplainedLog
from cfglint.report import render_log
from cfglint.run.discovery_errors import UnknownKindError
from cfglint.source import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cfglint.cli.argument_parser import Namespace, Parser
    from cfglint.project.settings_file import Configuration
    from cfglint.run.checked import CheckedRun

FORMATS = ("text", "json", "html")
LONGEST_LINE = 1_000_000  # characters; a progress bar writes all of its states into one
ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def add_arguments(parser: Parser) -> None:
    """The options of `log`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a log (`-`: standard input), and the files of its run to compare")
    add_run_options(parser)
    add_report_options(parser, FORMATS)
    parser.add_example("cfglint log error.txt", "what a traceback or the end of a log means")
    parser.add_example("cfglint log train.log train.yaml", "the numbers of a log compared with the files of its run")


def run(arguments: Namespace) -> int:
    """Explain a log and print; return exit status 1 if it differs from the files that it is compared with."""
    try:
        if not arguments.paths:
            raise UsageError("PATH is missing: pass a log, or - for standard input")
        project = load_configuration(arguments)
        log = log_among(arguments)
        if log is None:
            raise UsageError(f"{arguments.paths[0]}: no banner of a training and no failure in it")
        return report(log, arguments, project)
    except (UsageError, UnknownKindError, files.FileProblem) as error:
        return fail(str(error))


def report(log: Log, arguments: Namespace, project: Configuration) -> int:
    """Print or write the explanation of a log; return the exit status."""
    found = explained(log, arguments, project)
    form, output = the_report(arguments, FORMATS)
    text = render_log(form, log.path, found, None if output else columns())
    return write_text(text, output) or (1 if any(each.differences for each in found.banners) else 0)


class Log:
    """A log: its path, as it is shown, and its lines, which are read once for each question."""

    def __init__(self, path: str, piped: list[str] | None = None) -> None:
        self.path = path
        self.piped = piped

    def lines(self) -> Iterable[str]:
        """The lines from the start."""
        return read_lines(self.path) if self.piped is None else self.piped

    @property
    def recognised(self) -> bool:
        """Whether the lines are those of a log: a training banner or the signs of a failure, which no config has."""
        try:
            return log_parser.is_log(self.lines()) or bool(failures.failures_in(self.lines()))
        except files.FileProblem:
            return False


def log_among(arguments: Namespace) -> Log | None:
    """The log among the paths, which is taken out of them; standard input without a file name is a log."""
    for path in arguments.paths:
        log = Log(path) if path != "-" else None if arguments.stdin_filename else Log("standard input", list(piped_lines()))
        if log is not None and (log.recognised or path == "-"):
            arguments.paths.remove(path)
            return log
    return None


def piped_lines() -> Iterator[str]:
    """The lines of standard input."""
    yield from io.TextIOWrapper(sys.stdin.buffer, "utf-8", "replace", "\n")


def read_lines(path: str) -> Iterator[str]:
    """The lines of a log of any size, very long ones in parts; undecodable bytes are replaced. Raises FileProblem."""
    with os.fdopen(files.open_regular(path), "rb") as file:
        start = file.read(3)
        encoding = next((name for mark, name in ENCODINGS if start.startswith(mark)), "utf-8")
        file.seek(0)
        with io.TextIOWrapper(file, encoding, "replace", "\n") as text:
            yield from iter(lambda: text.readline(LONGEST_LINE), "")


def explained(log: Log, arguments: Namespace, project: Configuration) -> ExplainedLog:
    """The failures and the banners of a log, compared with the files if any are given."""
    found = ExplainedLog([log_analysis.explain(each) for each in log_parser.read(log.lines())], failures.failures_in(log.lines()))
    if not arguments.paths:
        return found
    for each in found.banners:
        each_run = one_run(arguments, project, arguments.run, log_analysis.hint(each))
        log_analysis.compare(each, each_run.resolved, place_in(each_run))
    if found.failures:
        from cfglint.explanation.failed_run import attach

        first = log_analysis.hint(found.banners[0]) if found.banners else {}
        card = next((each.gpu_memory for each in found.failures if each.gpu_memory), None)
        if arguments.gpu_memory is None and not project.gpu_memory:
            arguments.gpu_memory = card
        attach(found.failures, one_run(arguments, project, arguments.run, first))
    found.files = list(arguments.paths)
    return found


def place_in(each_run: CheckedRun) -> Callable[[str], str]:
    """Return a function that gives the origin of a number of a run."""
    from cfglint.explanation.summary import RunSummary, origin

    account = RunSummary(each_run)
    places = {str(item.setting.path[-1]): origin(item) for item in account.items}
    for name in ("micro_batch", "accumulation", "global_batch"):
        setting = getattr(each_run.batch, name)
        places[name] = places.get(str(setting.path[-1]), setting.place)
    return lambda name: places.get(name, "derived")
