"""The terminal of standard output, if there is one: its colours and its size."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

NARROWEST = 60  # columns; a terminal that is narrower gets lines of this width


def uses_colour(asked: str | None = None) -> bool:
    """Whether standard output gets colours.

    In order of precedence: --color, NO_COLOR (https://no-color.org), FORCE_COLOR (https://force-color.org), a terminal.
    """
    if asked in ("always", "never"):
        return asked == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def in_build_log() -> bool:
    """Whether standard output may be a CI log of GitHub or Azure, whose runners execute lines that look like commands."""
    import stat

    if not (os.environ.get("GITHUB_ACTIONS") or os.environ.get("TF_BUILD")):
        return False
    try:
        return not stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def columns() -> int | None:
    """The width of the terminal: COLUMNS, or that of standard output; None if that is not a terminal."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked[:6]):
        return max(NARROWEST, int(asked[:6]))
    return width_of(sys.stdout)


def width_of(stream: TextIO) -> int | None:
    """The width of the terminal of a stream; None if it is not one."""
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return None


def rows() -> int | None:
    """The number of lines of the terminal; None if standard output is not one."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
