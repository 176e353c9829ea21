"""The one report of `explain`, `log`, `plan` and the list of runs: its options, its format and its file."""

from __future__ import annotations

import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import warn
from cfglint.cli.options import UsageError
from cfglint.cli.output import format_of, to_file
from cfglint.findings.wording import first_few
from cfglint.run.checked import CheckedRun

MOST_RUNS = 12  # runs that are answered for


def add_report_options(parser: Parser, formats: tuple[str, ...]) -> None:
    """Add the options of a command that gives one report."""
    parser.add_argument("--format", choices=formats, help="default: by the suffix of --output, else text")
    parser.add_argument("--output", metavar="FILE", help="write to this file")


def the_report(arguments: Namespace, formats: tuple[str, ...]) -> tuple[str, str | None]:
    """(format, file) of the one report of a command; None is standard output."""
    output: str | None = arguments.output
    by_suffix = "csv" if (output or "").lower().endswith(".csv") else format_of(output)
    return arguments.format or (by_suffix if by_suffix in formats else "text"), output


def write_text(text: str, output: str | None) -> int:
    """Write a report to its file or to standard output; return 2 if that fails."""
    if output is None:
        sys.stdout.write(text)
        return 0
    return 0 if to_file(text, output) else 2


def only_of(runs: list[CheckedRun], command: str) -> CheckedRun:
    """The only run of a report that has one; raises UsageError if there are several."""
    if len(runs) > 1:
        places = first_few([each.written_at for each in runs], MOST_RUNS)
        raise UsageError(f"a page shows one run, and these are {len(runs)}: `cfglint {command}` one of {places}")
    return runs[0]


def name_reader(run: CheckedRun) -> None:
    """Say in which run a named file is answered for."""
    if run.read_for is not None:
        entry = run.launch.alternative
        which = f", alternative {entry['number']} of {entry['of']} ({entry['built_at']})" if entry is not None else ""
        warn(f"{run.read_for}: in the run of {run.written_at}{which}")
