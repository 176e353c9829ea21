"""The reports of `explain`, `log`, `plan` and the list of runs: their options, formats and files."""

from __future__ import annotations

import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import warn_of
from cfglint.cli.options import UsageError, paired
from cfglint.cli.output import check_outputs, reports, to_file
from cfglint.findings.wording import first_few
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Callable, Iterable

MOST_RUNS = 12  # runs that are answered for


def add_report_options(parser: Parser, formats: tuple[str, ...]) -> None:
    """Add the options of a command that reports one thing; a format and a file can be given several times, in pairs."""
    parser.add_argument("--format", action="append", default=[], choices=formats, help="default: by the suffix of --output, else text")
    parser.add_argument("--output", action=paired, default=[], metavar="FILE", help="write to this file; repeatable, also in pairs")


def the_reports(arguments: Namespace, formats: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """(format, file) of each report of a command; None is standard output."""
    check_outputs(arguments)
    return reports(arguments, formats)


def write_texts(arguments: Namespace, formats: tuple[str, ...], render: Callable[[str, str | None], str]) -> int:
    """Write each report to its file or to standard output; return 2 if that fails. `render` takes the format and the file."""
    return max([write_text(render(form, output), output) for form, output in the_reports(arguments, formats)])


def write_text(text: str, output: str | None) -> int:
    """Write a report to its file or to standard output; return 2 if that fails."""
    if output is None:
        sys.stdout.write(text)
        return 0
    return 0 if to_file(text, output) else 2


def only_of(runs: list[CheckedRun], command: str) -> CheckedRun:
    """The only run of a report that has one; raises UsageError if there are several."""
    if len(runs) > 1:
        places = first_few([*dict.fromkeys(run.full_place for run in runs)], MOST_RUNS)
        raise UsageError(f"a page shows one run, and these are {len(runs)}: `cfglint {command}` one of {places}")
    return runs[0]


def name_readers(runs: Iterable[CheckedRun]) -> None:
    """Say in which runs a named file is answered for."""
    lines: dict[str, None] = {}
    for run in runs:
        if run.read_for is not None:
            entry = run.launch.alternative
            which = f", alternative {entry['number']} of {entry['of']} ({entry['built_at']})" if entry is not None else ""
            lines[f"{run.read_for}: in the run of {run.full_place}{which}"] = None
    warn_of(lines)
