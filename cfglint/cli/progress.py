"""A line on the terminal while a command works for longer than a second."""

from __future__ import annotations

import sys
import time

PATIENCE = 1.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two states of it
CLEAR = "\r\x1b[K"


class Progress:
    """How many of some files are done, on standard error where that is a terminal; nothing elsewhere."""

    def __init__(self, thing: str) -> None:
        self.thing = thing
        self.next = time.monotonic() + PATIENCE if sys.stderr.isatty() else float("inf")
        self.drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Show so many of so many."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + PAUSE
        self.drawn = True
        self.write(f"{CLEAR}cfglint: {min(done, total):,} of {total:,} {self.thing}")

    def end(self) -> None:
        """Take the line away."""
        if self.drawn:
            self.write(CLEAR)

    def write(self, text: str) -> None:
        """Write to the terminal, if it is still there."""
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self.next = float("inf")
