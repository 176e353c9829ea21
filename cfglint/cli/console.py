"""Messages for the user on standard error, with control characters of files and names escaped."""

from __future__ import annotations

import sys

from cfglint.report.escapes import shown


def warn(text: str) -> None:
    """Print one line on standard error; a closed standard error is no failure."""
    try:
        print(f"cfglint: {shown(text)}", file=sys.stderr)
    except OSError:
        return


def fail(text: str) -> int:
    """Report why the job could not be done; return the exit status for that."""
    warn(text)
    return 2
