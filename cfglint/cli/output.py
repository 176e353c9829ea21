"""Writes reports: each `--format` to its `--output`, a format without a file to standard output."""

from __future__ import annotations

import os
import sys

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.console import columns, fail, uses_colour
from cfglint.source.annotations import Callable

BY_SUFFIX = {".json": "json", ".sarif": "sarif", ".html": "html", ".htm": "html", ".md": "markdown", ".xml": "junit"}


def check_outputs(arguments: Namespace) -> None:
    """Raise UsageError where two reports would go to one place."""
    from cfglint.cli.options import UsageError

    places = [output for _, output in reports(arguments)]
    plain = [form for form, output in reports(arguments) if output is None]
    if len(plain) > 1:
        raise UsageError(f"--format {' and '.join(plain)} would both go to standard output: add --output FILE after all but one of them")
    twice = next((place for place in places if place is not None and places.count(place) > 1), None)
    if twice is not None:
        raise UsageError(f"--output {twice} is passed for two formats")


def reports(arguments: Namespace, formats: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    """(format, file) of every requested report; None is standard output. The suffix of a file without a format decides about it.

    `formats` are those of the command, if they are not those of `check`.
    """
    number = max(len(arguments.format), len(arguments.output), 1)
    forms = [*arguments.format, *[None] * number][:number]
    outputs = [*arguments.output, *[None] * number][:number]
    return [(form or format_of(output, formats), output) for form, output in zip(forms, outputs, strict=True)]


def format_of(output: str | None, formats: tuple[str, ...] = ()) -> str:
    """The format that the suffix of a file is for; text for others, and for standard output."""
    suffix = os.path.splitext(output or "")[1].lower()
    found = suffix[1:] if suffix[1:] in formats else BY_SUFFIX.get(suffix, "text")
    return found if found in formats or not formats else "text"


def write(arguments: Namespace, render: Callable[[str, bool, int | None], str]) -> bool:
    """Print or write every requested format; return False if a file could not be written.

    `render` returns the report in a format, with or without colours, for a terminal width in columns (None: no limit).
    """
    done = True
    for form, output in reports(arguments):
        if output is None:
            sys.stdout.write(render(form, form in ("text", "full") and uses_colour(arguments.color), columns()))
            continue
        done = to_file(render(form, False, None), output) and done
    return done


def to_file(text: str, output: str) -> bool:
    """Write a report to its file; print a message and return False if that is impossible."""
    from cfglint.source import files, writing

    try:
        writing.write_report(output, text.encode("utf-8", "backslashreplace"))
    except files.FileProblem as error:
        fail(f"--output {error}")
        return False
    return True
