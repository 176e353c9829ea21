"""Lines for the person, beside the result: on standard error, with nothing of a file or a name that a terminal obeys."""

from __future__ import annotations

import sys

from cfglint.report.escapes import shown


def warn(text: str) -> None:
    """One line on standard error, if anybody takes it."""
    try:
        print(f"cfglint: {shown(text)}", file=sys.stderr)
    except OSError:
        return


def fail(text: str) -> int:
    """Say why the job could not be done; the exit status for that."""
    warn(text)
    return 2
