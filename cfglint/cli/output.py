"""Writes reports: each `--format` to its `--output`, a format without a file to standard output."""

from __future__ import annotations

import os
import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import columns, fail, uses_colour, warn_of
from cfglint.cli.options import UsageError, paired
from cfglint.findings.wording import first_few
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Callable, Iterable

BY_SUFFIX = {".json": "json", ".sarif": "sarif", ".html": "html", ".htm": "html", ".md": "markdown", ".xml": "junit"}
MOST_RUNS = 12  # runs that are answered for


def add_report_options(parser: Parser, formats: tuple[str, ...]) -> None:
    """Add the options of a command that reports one thing; a format and a file can be given several times, in pairs."""
    parser.add_argument("--format", action="append", default=[], choices=formats, help="default: by the suffix of --output, else text")
    parser.add_argument("--output", action=paired, default=[], metavar="FILE", help="write to this file; repeatable, also in pairs")


def reports(arguments: Namespace, formats: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    """(format, file) of every requested report; None is standard output. The suffix of a file without a format decides about it.

    `formats` are those of the command, if they are not those of `check`. Raises UsageError where two reports would go to one place.
    """
    number = max(len(arguments.format), len(arguments.output), 1)
    forms = [*arguments.format, *[None] * number][:number]
    outputs = [*arguments.output, *[None] * number][:number]
    for place, (form, output) in enumerate(zip(forms, outputs, strict=True)):
        suffix = os.path.splitext(output or "")[1].lower()
        by_suffix = suffix[1:] if suffix[1:] in formats else BY_SUFFIX.get(suffix, "text")
        forms[place] = form or (by_suffix if by_suffix in formats or not formats else "text")
    printed = [form for form, output in zip(forms, outputs, strict=True) if output is None]
    if len(printed) > 1:
        raise UsageError(f"--format {' and '.join(printed)} would both go to standard output: add --output FILE after all but one of them")
    twice = next((output for output in outputs if output is not None and outputs.count(output) > 1), None)
    if twice is not None:
        raise UsageError(f"--output {twice} is passed for two formats")
    return list(zip(forms, outputs, strict=True))


def write(arguments: Namespace, render: Callable[[str, bool, int | None], str], formats: tuple[str, ...] = ()) -> int:
    """Print or write every requested format, by `render(format, colour, columns)`; return 2 if a file could not be written, else 0."""
    status = 0
    for form, output in reports(arguments, formats):
        colour = output is None and form in ("text", "full") and uses_colour(getattr(arguments, "color", None))
        status = max(status, write_text(render(form, colour, columns() if output is None else None), output))
    return status


def write_text(text: str, output: str | None) -> int:
    """Write a report to its file or to standard output; return 2 if that is impossible, else 0."""
    if output is None:
        sys.stdout.write(text)
        return 0
    from cfglint.source import files, writing

    try:
        writing.write_report(output, text.encode("utf-8", "backslashreplace"))
    except files.FileProblem as error:
        return fail(f"--output {error}")
    return 0


def refuse_several(runs: list[CheckedRun], command: str) -> None:
    """Raise UsageError if there are several runs, of a report that has one."""
    if len(runs) > 1:
        places = first_few([*dict.fromkeys(run.full_place for run in runs)], MOST_RUNS)
        raise UsageError(f"a page shows one run, and these are {len(runs)}: `cfglint {command}` one of {places}")


def below_places(texts: list[tuple[str, list[str]]], gap: str = "") -> str:
    """The reports of several runs, each below the places of the runs that it is about."""
    shown = [f"{', '.join(dict.fromkeys(places))}\n{gap}{text}" for text, places in texts[:MOST_RUNS]]
    left = [place for _, places in texts[MOST_RUNS:] for place in places]
    return "\n".join([*shown, *([f"not shown: {', '.join(left)}\n"] if left else [])])


def name_readers(runs: Iterable[CheckedRun]) -> None:
    """Say in which runs a named file is answered for."""
    lines: dict[str, None] = {}
    for run in runs:
        if run.read_for is not None:
            entry = run.launch.alternative
            which = f", alternative {entry['number']} of {entry['of']} ({entry['built_at']})" if entry is not None else ""
            lines[f"{run.read_for}: in the run of {run.full_place}{which}"] = None
    warn_of(lines)
