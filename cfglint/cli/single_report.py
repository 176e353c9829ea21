"""The one report of `explain`, `log`, `plan` and the list of runs: its options, its format and its file."""

from __future__ import annotations

import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.output import format_of, to_file
from cfglint.project.settings_file import Configuration
from cfglint.run.checked import CheckedRun


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


def reading_runs(run: CheckedRun, arguments: Namespace, project: Configuration) -> list[CheckedRun]:
    """The runs of the project that read the first file of a run, if no option determines how it is read."""
    from cfglint.cli.options import discovery_of
    from cfglint.run.scan_stats import ScanStats

    if arguments.run or arguments.kind or arguments.section or "-" in arguments.paths:
        return []
    return discovery_of(arguments, project, ScanStats())[0].runs_reading(run.documents[0].path)
