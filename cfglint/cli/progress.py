"""A progress line on the terminal while a command works for longer than a second."""

from __future__ import annotations

import sys
import time

from cfglint.source.annotations import Item, Iterable, Iterator

PATIENCE = 1.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two updates
CLEAR = "\r\x1b[K"


class Progress:
    """The number of finished files or runs, on standard error if that is a terminal; nothing elsewhere."""

    def __init__(self, thing: str) -> None:
        self.thing = thing
        self.next = time.monotonic() + PATIENCE if sys.stderr.isatty() else float("inf")
        self.drawn = False

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show the number of finished items, and the total if it is known."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + PAUSE
        self.drawn = True
        count = f"{done:,}" if total is None else f"{min(done, total):,} of {total:,}"
        thing = self.thing.replace("s ", " ", 1) if count == "1" else self.thing
        self.write(f"{CLEAR}cfglint: {count} {thing}")

    def end(self) -> None:
        if self.drawn:
            self.write(CLEAR)

    def write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self.next = float("inf")


def counted_on_terminal(items: Iterable[Item], thing: str) -> Iterator[Item]:
    progress = Progress(thing)
    try:
        for number, item in enumerate(items, 1):
            progress(number)
            yield item
    finally:
        progress.end()
