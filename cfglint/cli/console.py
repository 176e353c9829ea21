"""Messages for the user on standard error, with control characters escaped; the colours and the size of the terminal."""

from __future__ import annotations

import os
import stat
import sys

from cfglint.report.escapes import shown
from cfglint.source.annotations import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

NARROWEST = 60  # columns; a terminal that is narrower gets lines of this width


def warn(text: str) -> None:
    """Print one line on standard error, folded on a terminal; a closed standard error is ignored."""
    line = f"cfglint: {shown(text)}"
    width = width_of(sys.stderr) if sys.stderr.isatty() else None
    if width is not None and len(line) > width:
        from textwrap import fill

        line = fill(line, width, subsequent_indent="  ", break_long_words=False)
    try:
        print(line, file=sys.stderr)
    except OSError:
        return


def warn_of(texts: Iterable[str]) -> None:
    for text in texts:
        warn(text)


def fail(text: str) -> int:
    """Report why the job could not be done; return the exit status for that."""
    warn(text)
    return 2


def bug_report(error: Exception) -> str:
    """A bug in cfglint in one line, with the place where the exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace is not None else "nowhere"
    text = f"{type(error).__name__}: {error!s:.300} ({place})"
    return f"internal error: {text}. This is a bug in cfglint; please report it with the files."


def uses_colour(asked: str | None = None) -> bool:
    """Whether standard output gets colours: by --color, NO_COLOR (no-color.org), FORCE_COLOR (force-color.org), a terminal, in order."""
    if asked in ("always", "never"):
        return asked == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def in_build_log() -> bool:
    """Whether standard output may be a CI log of GitHub or Azure, whose runners execute lines that look like commands."""
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
