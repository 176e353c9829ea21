"""Reports to where they were asked for: each `--format` to its `--output`, the one without to standard output."""

from __future__ import annotations

import os
import sys

from cfglint.cli.console import fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.cli.argument_parser import Namespace


def write(arguments: Namespace, render: Callable[[str, bool], str]) -> bool:
    """Print or write every asked format; False when a file could not be written.

    `render` makes the report of a format, with colours or without.
    """
    reports = max(len(arguments.format), len(arguments.output), 1)
    forms = [*arguments.format, *["text"] * reports][:reports]
    outputs = [*arguments.output, *[None] * reports][:reports]
    done = True
    for form, output in zip(forms, outputs, strict=True):
        if output is None:
            sys.stdout.write(render(form, form == "text" and in_colour()))
            continue
        done = to_file(render(form, False), output) and done
    return done


def to_file(text: str, output: str) -> bool:
    """Write a report to its file; False, and said why, when that cannot be."""
    from cfglint.source import files, writing

    try:
        writing.put(output, text.encode("utf-8", "backslashreplace"))
    except files.FileProblem as error:
        fail(f"--output {error}")
        return False
    return True


def in_colour() -> bool:
    """Whether standard output is a terminal that wants colour (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
