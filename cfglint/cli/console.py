"""Messages for the user on standard error, with control characters of files and names escaped."""

from __future__ import annotations

import sys

from cfglint.report.escapes import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def warn(text: str) -> None:
    """Print one line on standard error, folded on a terminal; a closed standard error is ignored."""
    try:
        print(folded(f"cfglint: {shown(text)}"), file=sys.stderr)
    except OSError:
        return


def folded(line: str) -> str:
    """A message, on a terminal in lines of its width."""
    if not sys.stderr.isatty():
        return line
    from textwrap import fill

    from cfglint.cli.terminal import width_of

    width = width_of(sys.stderr)
    return line if width is None or len(line) <= width else fill(line, width, subsequent_indent="  ", break_long_words=False)


def warn_of(texts: Iterable[str]) -> None:
    """Print several messages, one line each."""
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
